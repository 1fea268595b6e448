#include "workers/puzzles/counted_reader.h"

#include <charconv>
#include <system_error>
#include <utility>

namespace puzzled {

bool CountedReader::read_one(std::string& instance) {
  if (!cases_left_) cases_left_ = in().require_int(1, cases_max_, "T");
  if (*cases_left_ == 0) {
    in().expect_end("the end of the file after the last of T cases");
    return false;
  }
  --*cases_left_;
  known_defects_ = in().defects().size();
  read_case(instance);
  return true;
}

std::int64_t CountedReader::read_size(std::int64_t low, std::int64_t high, std::string_view name) {
  if (const auto size = in().read_int(low, high, name)) return *size;
  const std::string_view token = in().last_token();
  std::int64_t size = 0;
  const auto parsed = std::from_chars(token.data(), token.data() + token.size(), size);
  if (parsed.ec == std::errc{} && size >= 0) return size;
  // The defect is known already; there is no telling where the next case starts.
  const Defect defect = in().defects().back();
  in().drop_last_defect();
  in().fail(defect.at, defect.message);
}

std::optional<std::int64_t> CountedReader::read_value(std::int64_t low, std::int64_t high,
                                                      std::string_view name) {
  const auto value = in().read_int(low, high, name);
  if (!value && defects_of_case() > kDefectsMax) in().drop_last_defect();
  return value;
}

void CountedReader::add_case_defect(Position at, std::string message) {
  if (defects_of_case() < kDefectsMax) in().add_defect(at, std::move(message));
}

}  // namespace puzzled
