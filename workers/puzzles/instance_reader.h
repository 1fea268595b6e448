// What the instance readers of all puzzles share: a puzzle writes only read_one().
#pragma once

#include <string_view>
#include <vector>

#include "workers/puzzles/puzzle.h"

namespace puzzled {

// Turns the defects of one case into ParsedCase::invalid and a ParseError into the end of the file.
class InstanceReaderBase : public InstanceReader {
 public:
  explicit InstanceReaderBase(std::string_view text) : in_(text) {}
  bool next(ParsedCase& out) final;
  [[nodiscard]] const std::vector<Defect>& defects() const final { return in_.defects(); }
  [[nodiscard]] bool dropped_rest() const final { return dropped_rest_; }

 protected:
  // Reads the next case from in() into `instance` (empty at the call); false if there is none,
  // after expect_end() or the format's own terminator. Whatever adds defects makes the case
  // skipped, and `instance` is then ignored. A ParseError drops this case and the rest of the file.
  virtual bool read_one(std::string& instance) = 0;
  TextReader& in() { return in_; }
  // Reports that cases are missing without a ParseError (the defect has been added already).
  void set_dropped_rest() { dropped_rest_ = true; }

 private:
  TextReader in_;
  bool done_ = false;
  bool dropped_rest_ = false;
};

}  // namespace puzzled
