// Who may connect over an encrypted endpoint, and to do what: the file of --authorized-keys, one
// "ROLES KEY NAME" a line (proto/base/keys.h); lines that begin with "# " and empty lines are
// comments. Read at start, and again at SIGHUP.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "proto/base/keys.h"

namespace puzzled {

class AccessList {
 public:
  struct Grant {
    Roles roles = 0;
    std::string name;  // for people; printable
  };

  AccessList() = default;  // nobody

  // Parses the text of `file`, which is named in errors: "FILE:LINE: …".
  static std::variant<AccessList, KeyError> parse(std::string_view text, const std::string& file);
  // The text of the file. Refused: a file that others may write.
  static std::variant<std::string, KeyError> read(const std::string& file);

  // nullptr: this key is not on the list.
  [[nodiscard]] const Grant* find(const std::string& public_key) const;
  [[nodiscard]] std::size_t size() const { return grants_.size(); }

 private:
  std::unordered_map<std::string, Grant> grants_;  // by public key, Z85
};

}  // namespace puzzled
