// keygen: draws a key pair and writes NAME.key (secret) and NAME.pub.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "client/commands.h"
#include "client/failure.h"
#include "proto/base/keys.h"
#include "proto/curve.h"

namespace puzzled::client {
namespace {

namespace fs = std::filesystem;

// A name is one word of a list of keys, and the stem of two files.
bool is_name(const std::string& name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@";
  constexpr std::size_t kNameBytesMax = 100;
  return !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
         name.find_first_not_of(kAllowed) == std::string::npos;
}

[[noreturn]] void fail(const fs::path& path, int error) {
  throw Failure(error == EEXIST ? kExitInvalid : kExitOutput,
                fmt::format("{} cannot be written: {}", path.string(), std::strerror(error)),
                error == EEXIST ? "choose another name, or replace it with --force" : "");
}

// Made with its final mode, so that a secret is never readable to others, not even briefly.
void write_new(const fs::path& path, const std::string& text, mode_t mode, bool force) {
  if (force && ::unlink(path.c_str()) != 0 && errno != ENOENT) fail(path, errno);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) fail(path, errno);
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int error = written < 0 ? errno : ENOSPC;
  const bool synced = written == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  ::close(fd);
  if (!synced) {
    ::unlink(path.c_str());
    fail(path, error);
  }
}

}  // namespace

int run_keygen(const KeygenOptions& options, Context& context) {
  if (!is_name(options.name)) {
    throw Failure(kExitInvalid, "the name must be letters, digits and - _ . @",
                  "for example: puzzlectl keygen alice");
  }
  const fs::path stem = fs::path(options.folder) / options.name;
  const fs::path secret = stem.string() + ".key";
  const fs::path open = stem.string() + ".pub";
  if (!options.force && fs::exists(open)) fail(open, EEXIST);
  const KeyPair keys = make_key_pair();
  const std::string line = fmt::format("{} {} {}\n", options.role, keys.public_key, options.name);
  write_new(secret, key_file_text(options.name, keys), 0600, options.force);
  write_new(open, line, 0644, options.force);
  context.console.note(fmt::format("wrote {} (secret) and {}", secret.string(), open.string()));
  if (options.role == "server") {
    context.console.note(fmt::format("start the daemon with --key {}, give {} to those who connect",
                                     secret.string(), open.string()));
  } else {
    context.console.note("the line below goes into the daemon's list of authorized keys");
  }
  context.console.out() << line;
  return kExitOk;
}

}  // namespace puzzled::client
