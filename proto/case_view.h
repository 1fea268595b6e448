// Reading the cases of a list in place, and writing them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace puzzled::wire {

// A `Case` message (proto/common.proto) whose fields point into its serialised form.
struct CaseView {
  std::string_view instance;
  std::optional<std::string_view> expected;
  std::optional<std::string_view> expected_error;
  std::string_view invalid;
};

// nullopt: the bytes are not a Case. Unknown fields are skipped.
std::optional<CaseView> parse_case(std::string_view serialised);

// Replaces `serialised` by what protobuf writes for such a message. REQUIRES: at most one claim.
void write_case(const CaseView& view, std::string& serialised);

// Steps through a serialised CaseList.
class CaseWalker {
 public:
  CaseWalker() = default;
  explicit CaseWalker(std::string_view case_list) : rest_(case_list) {}

  // The serialised case at `position`, which must not be before one asked for earlier. Anything
  // that is not a CaseList ends with an empty case.
  std::string_view at(std::uint32_t position);

 private:
  std::string_view take();

  std::string_view rest_;
  std::uint32_t next_ = 0;
};

}  // namespace puzzled::wire
