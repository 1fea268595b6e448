// All that clients may ask of the store, on a read-only connection of its own. Each question is
// one short read transaction, opened after the question came; pages end after snapshot_ms_max.
#pragma once

#include <string>

#include "daemon/store/check.h"
#include "daemon/store/options.h"
#include "daemon/store/page_clock.h"
#include "daemon/store/query.h"
#include "daemon/store/results_page.h"
#include "daemon/store/sqlite.h"

namespace puzzled {

class Reader {
 public:
  // REQUIRES: a Store has opened the database. Throws Fatal.
  Reader(const std::string& path, const StoreOptions& options);

  // Throws sqlite::Error.
  query::Answer answer(const query::Query& query);

 private:
  query::Answer read(const query::GetJob& query);
  query::Answer read(const query::ListJobs& query);
  query::Answer read(const query::ListResults& query);
  query::Answer read(const query::GetCase& query);
  query::Answer read(const query::ListFiles& query);
  query::Answer read(const query::Check& query) { return checker_.page(query.cursor); }

  bool find_job(JobId job, query::JobRow& row);
  std::string case_content(JobId job, std::uint32_t chunk_count, std::uint64_t case_no);

  PageClock clock_;
  sqlite::Connection connection_;
  sqlite::Statement begin_;
  sqlite::Statement end_;
  sqlite::Statement job_;
  sqlite::Statement jobs_;
  sqlite::Statement versions_;
  sqlite::Statement files_;
  sqlite::Statement attempts_;
  sqlite::Statement chunk_;
  ResultsPager pager_;
  Checker checker_;
};

}  // namespace puzzled
