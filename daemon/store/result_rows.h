// Inserts the results of a message with one statement. A virtual table lets SQLite read them where
// they are: nothing is bound, and the statement starts, seeks and ends once a message and not once
// a row, which takes a third off the CPU time of a row (sqlite.org/vtab.html).
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/broker/types.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

class ResultRows {
 public:
  // One for each connection. Throws sqlite::Error.
  explicit ResultRows(sqlite::Connection& connection);
  ResultRows(const ResultRows&) = delete;
  ResultRows& operator=(const ResultRows&) = delete;

  // What rows have in common, by the columns of `results`.
  struct Common {
    std::uint32_t attempt = 0;
    std::uint64_t worker = 0;
    std::int64_t solver_version = 0;
    std::int64_t graded_ms = 0;
  };
  // Of the rows that come now. Those that were not inserted are forgotten.
  void start(const Common& common);
  // `id`: results.id. The result is not copied: it and its bytes must live until insert().
  void add(std::int64_t id, const CaseResult& result);
  // In the open transaction. Throws sqlite::Error, after which it must be rolled back: a part of
  // the rows may be there. Also if the file has a table or a trigger, not of ours, that took rows
  // away.
  void insert();

  struct Row {
    std::int64_t id = 0;
    const CaseResult* result = nullptr;
  };
  struct Source {  // what the virtual table shows
    Common common;
    std::vector<Row> rows;
  };

 private:
  // The connection, with a virtual table that shows the source.
  static sqlite::Connection& with_table(sqlite::Connection& connection, Source& source);

  Source source_;  // the virtual table has its address
  sqlite::Connection& connection_;
  sqlite::Statement insert_;
};

}  // namespace puzzled
