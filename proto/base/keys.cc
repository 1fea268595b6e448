#include "proto/base/keys.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace puzzled {
namespace {

constexpr std::string_view kZ85 =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
constexpr std::size_t kKeyFileBytesMax = 64 * 1024;  // far above any honest one
constexpr std::size_t kNameBytesMax = 200;

struct NamedRole {
  std::string_view name;
  Roles roles;
};
constexpr NamedRole kRoles[] = {{"read", 1}, {"submit", 3}, {"operate", 7},
                                {"work", 8}, {"server", 0}, {"none", 0}};

std::variant<std::string, KeyError> read_small_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text(kKeyFileBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (text.empty()) {
    return KeyError{fmt::format("{} cannot be read: {}", path,
                                errno != 0 ? std::strerror(errno) : "it is empty")};
  }
  if (text.size() > kKeyFileBytesMax) return KeyError{fmt::format("{} is no key file", path)};
  return text;
}

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  return {std::istream_iterator<std::string>(in), {}};
}

// What makes the secret in a file no secret.
std::optional<KeyError> check_mode(const std::string& path, const struct stat& info) {
  // What root puts in place for a group of ours, as clusters hand out secrets, is no less private
  // than a file of our own.
  const bool is_for_group = info.st_uid == 0 && ::geteuid() != 0;
  if ((info.st_mode & (is_for_group ? 037U : 077U)) != 0) {
    return KeyError{
        fmt::format("{} holds a secret that others can read (mode {:04o}); make it "
                    "private with: chmod 600 {}",
                    path, info.st_mode & 07777U, path)};
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return KeyError{
        fmt::format("{} belongs to user {}, not to this one or root", path, info.st_uid)};
  }
  return std::nullopt;
}

}  // namespace

bool is_key_text(std::string_view text) {
  return text.size() == kKeyTextBytes && text.find_first_not_of(kZ85) == std::string_view::npos;
}

std::string key_file_text(std::string_view name, const KeyPair& keys) {
  return fmt::format(
      "# puzzled key pair \"{}\" (secret: keep it to its owner)\n"
      "public {}\nsecret {}\n",
      name, keys.public_key, keys.secret_key);
}

std::variant<KeyPair, KeyError> read_key_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return KeyError{fmt::format("{} cannot be read: {}", path, std::strerror(errno))};
  }
  if (!S_ISREG(info.st_mode)) return KeyError{fmt::format("{} is not a file", path)};
  auto text = read_small_file(path);
  if (auto* error = std::get_if<KeyError>(&text)) return std::move(*error);
  KeyPair keys;
  std::istringstream in(std::get<std::string>(text));
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() != 2 || !is_key_text(words[1])) continue;
    if (words[0] == "public") keys.public_key = words[1];
    if (words[0] == "secret") keys.secret_key = words[1];
  }
  if (keys.public_key.empty() || keys.secret_key.empty()) {
    const bool is_public = std::holds_alternative<std::string>(read_public_key(path));
    return KeyError{
        is_public ? fmt::format("{} holds a public key only; give the .key file beside it", path)
                  : fmt::format("{} is no key file: expected the lines \"public KEY\" and "
                                "\"secret KEY\"; \"puzzlectl keygen\" writes one",
                                path)};
  }
  if (auto error = check_mode(path, info)) return *error;
  return keys;
}

std::variant<std::string, KeyError> read_public_key(const std::string& text) {
  if (is_key_text(text) && ::access(text.c_str(), F_OK) != 0) return text;
  auto content = read_small_file(text);
  if (auto* error = std::get_if<KeyError>(&content)) return std::move(*error);
  std::istringstream in(std::get<std::string>(content));
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 2 || words[0].starts_with('#')) continue;
    if (words[0] != "secret" && is_key_text(words[1])) return words[1];
  }
  return KeyError{
      fmt::format("{} holds no public key; expected a .pub file of \"puzzlectl "
                  "keygen\", or the key itself",
                  text)};
}

std::variant<std::optional<CurveKeys>, KeyError> read_curve_keys(const std::string& key_file,
                                                                 const std::string& server_key) {
  if (key_file.empty() && server_key.empty()) return std::nullopt;
  if (key_file.empty() || server_key.empty()) {
    return KeyError{
        "an encrypted connection needs both --key (this side's .key file) and "
        "--server-key (the daemon's public key)"};
  }
  auto own = read_key_file(key_file);
  if (auto* error = std::get_if<KeyError>(&own)) return std::move(*error);
  auto server = read_public_key(server_key);
  if (auto* error = std::get_if<KeyError>(&server)) return std::move(*error);
  return CurveKeys{std::get<KeyPair>(std::move(own)), std::get<std::string>(std::move(server))};
}

std::optional<Roles> parse_roles(std::string_view text) {
  Roles roles = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const NamedRole* found = nullptr;
    for (const NamedRole& role : kRoles) {
      if (role.name == word) found = &role;
    }
    if (found == nullptr) return std::nullopt;
    roles |= found->roles;
    begin = end + 1;
  }
  return roles;
}

std::variant<KeyLine, KeyError> parse_key_line(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  if (words.size() != 3) return KeyError{"expected ROLES KEY NAME"};
  const auto roles = parse_roles(words[0]);
  if (!roles) {
    return KeyError{"the roles must be some of read, submit, operate, work, with commas"};
  }
  if (!is_key_text(words[1])) {
    return KeyError{fmt::format("the key must be {} characters of Z85", kKeyTextBytes)};
  }
  if (words[2].size() > kNameBytesMax) return KeyError{"the name is too long"};
  return KeyLine{*roles, words[1], words[2]};
}

}  // namespace puzzled
