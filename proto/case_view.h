// Reading the cases of a list in place, and writing them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace puzzled::wire {

// The fields of a `Case` message (proto/common.proto), in somebody else's memory: those of
// parse_case() point into the serialised form.
struct CaseView {
  std::string_view instance;
  std::optional<std::string_view> expected;
  std::optional<std::string_view> expected_error;
  std::string_view invalid;
};

// nullopt: the bytes are not a Case. Unknown fields are skipped.
std::optional<CaseView> parse_case(std::string_view serialised);

// Replaces `out` by what protobuf writes for such a message. REQUIRES: at most one claim, and no
// field points into `out`.
void write_case(const CaseView& view, std::string& out);

// Appends a field of bytes as protobuf writes it. REQUIRES: field < 16.
void append_field(unsigned field, std::string_view bytes, std::string& out);

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
