// Test files that start with the number of their cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workers/puzzles/instance_reader.h"

namespace puzzled {

// Reads "T", then T cases; a puzzle writes only read_case(). A case with values out of range is
// skipped, and all its defects up to a limit are reported.
class CountedReader : public InstanceReaderBase {
 public:
  CountedReader(std::string_view text, std::int64_t cases_max)
      : InstanceReaderBase(text), cases_max_(cases_max) {}

 protected:
  // As read_one(), of a case that is there.
  virtual void read_case(std::string& instance) = 0;

  // The size of a case, on which its length depends. Out of range it is a defect, and still
  // returned, so that the case can be skipped; a size no text can have is a ParseError.
  std::int64_t read_size(std::int64_t low, std::int64_t high, std::string_view name);
  // As TextReader::read_int. Once the case has kDefectsMax defects, no more are kept: a file that
  // has slipped by one number is wrong in every number from there on.
  std::optional<std::int64_t> read_value(std::int64_t low, std::int64_t high,
                                         std::string_view name);
  // Adds a defect of the case's own, within the same limit.
  void add_case_defect(Position at, std::string message);
  // Whether the case is sound so far.
  [[nodiscard]] bool is_sound() { return defects_of_case() == 0; }

 private:
  static constexpr std::size_t kDefectsMax = 20;  // as many are shown of a file.

  bool read_one(std::string& instance) final;
  [[nodiscard]] std::size_t defects_of_case() { return in().defects().size() - known_defects_; }

  std::int64_t cases_max_;
  std::optional<std::int64_t> cases_left_;
  std::size_t known_defects_ = 0;  // of the cases before this one
};

}  // namespace puzzled
