// The keys that encrypted connections use (CurveZMQ, rfc.zeromq.org/spec/26): files and their text
// form. A key is 32 bytes, written as 40 characters of Z85 (rfc.zeromq.org/spec/32).
//
// NAME.key, secret, one word and one value a line:
//     # puzzled key pair "NAME" (secret: keep it to its owner)
//     public KEY
//     secret KEY
// NAME.pub, one line in the form of the daemon's list of authorized keys:
//     ROLES KEY NAME            e.g. "submit,read rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7 alice"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace puzzled {

inline constexpr std::size_t kKeyTextBytes = 40;

// Whether `text` can be a key in Z85.
bool is_key_text(std::string_view text);

struct KeyPair {
  std::string public_key;  // Z85
  std::string secret_key;  // Z85
};

// What the connecting side needs: its own keys and the daemon's public one.
struct CurveKeys {
  KeyPair own;
  std::string server_key;  // Z85
};

// What is wrong, as one printable sentence that names the file.
struct KeyError {
  std::string text;
};

std::string key_file_text(std::string_view name, const KeyPair& keys);

// Reads NAME.key. Refused: a file of another user's than this one's or root's, and one that others
// may read or write; root's may be readable for its group.
std::variant<KeyPair, KeyError> read_key_file(const std::string& path);

// The daemon's public key: `text` is the key itself, or the path of its .pub (or .key) file.
std::variant<std::string, KeyError> read_public_key(const std::string& text);

// The two settings --key and --server-key of the connecting programs. Both empty: nullopt, plain
// connections; only one of them is an error.
std::variant<std::optional<CurveKeys>, KeyError> read_curve_keys(const std::string& key_file,
                                                                 const std::string& server_key);

// What a key may do; a set of bits. To operate includes to submit, and that includes to read.
enum class Role : std::uint8_t { kRead = 1, kSubmit = 2, kOperate = 4, kWork = 8 };
using Roles = std::uint8_t;
inline constexpr Roles kAllRoles = 15;
constexpr bool has_role(Roles roles, Role role) { return (roles & static_cast<Roles>(role)) != 0; }
constexpr std::string_view name_of(Role role) {
  switch (role) {
    case Role::kRead:
      return "read";
    case Role::kSubmit:
      return "submit";
    case Role::kOperate:
      return "operate";
    case Role::kWork:
      return "work";
  }
  return "?";
}
// "submit,read" and the like, with what a role includes; "server" and "none" name no role.
// nullopt: there is no such role.
std::optional<Roles> parse_roles(std::string_view text);

// One line of a list of authorized keys, or of a .pub file.
struct KeyLine {
  Roles roles = 0;
  std::string public_key;
  std::string name;
};
std::variant<KeyLine, KeyError> parse_key_line(std::string_view line);

}  // namespace puzzled
