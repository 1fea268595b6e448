#include "daemon/net/access_list.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "daemon/net/fields.h"

namespace puzzled {

std::variant<AccessList, KeyError> AccessList::parse(std::string_view text,
                                                     const std::string& file) {
  AccessList list;
  std::istringstream in{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.starts_with("# ")) continue;
    auto parsed = parse_key_line(line);
    if (const auto* error = std::get_if<KeyError>(&parsed)) {
      return KeyError{fmt::format("{}:{}: {}", file, number, error->text)};
    }
    KeyLine& entry = std::get<KeyLine>(parsed);
    if (!codec::is_printable(entry.name)) {
      return KeyError{fmt::format("{}:{}: the name must be printable", file, number)};
    }
    const auto [at, is_new] =
        list.grants_.try_emplace(entry.public_key, Grant{entry.roles, entry.name});
    if (!is_new) {
      return KeyError{fmt::format("{}:{}: the key is on the list already, as {}", file, number,
                                  at->second.name)};
    }
  }
  return list;
}

std::variant<std::string, KeyError> AccessList::read(const std::string& file) {
  struct stat info {};
  std::ifstream in(file, std::ios::binary);
  if (!in || ::stat(file.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) {
    return KeyError{fmt::format("{} cannot be read: {}", file, std::strerror(errno))};
  }
  if ((info.st_mode & 022U) != 0) {
    return KeyError{
        fmt::format("{} decides who may connect, and others can write it (mode "
                    "{:04o}); chmod go-w {}",
                    file, info.st_mode & 07777U, file)};
  }
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

const AccessList::Grant* AccessList::find(const std::string& public_key) const {
  const auto at = grants_.find(public_key);
  return at == grants_.end() ? nullptr : &at->second;
}

}  // namespace puzzled
