#include "daemon/store/new_database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "daemon/store/migrate.h"
#include "daemon/store/sqlite.h"
#include "proto/base/fatal.h"

namespace puzzled {
namespace {

Fatal not_made(const std::string& path, const std::string& why, const char* advice) {
  return {kExitIo, fmt::format("cannot make the database {}: {}. {}, or choose another with "
                               "--database.",
                               path, why, advice)};
}

// A descriptor that closes itself.
class File {
 public:
  // Throws Fatal.
  File(const std::string& path, int flags)
      : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (descriptor_ < 0) fail("Make its folder writable for this user");
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void sync() {
    if (::fsync(descriptor_) != 0) fail("Look after the disk");
  }

 private:
  [[noreturn]] void fail(const char* advice) const {
    throw not_made(path_, std::strerror(errno), advice);
  }

  std::string path_;
  int descriptor_;
};

bool is_new(const std::filesystem::path& path) {
  std::error_code error;
  const auto beside = [&](const char* suffix) {
    return std::filesystem::exists(path.string() + suffix, error) || error;
  };
  return std::filesystem::file_size(path, error) == 0 && !error && !beside("-wal") &&
         !beside("-journal");
}

}  // namespace

void create_if_empty(const std::string& path) {
  const std::filesystem::path target = std::filesystem::canonical(path);  // not the link to it
  if (!is_new(target)) return;
  const std::string made = target.string() + ".new";
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((made + suffix).c_str());
  File file(made, O_RDWR | O_CREAT | O_EXCL);
  {
    sqlite::Connection connection(made, sqlite::Connection::Mode::kReadWrite);
    connection.exec("PRAGMA synchronous = OFF");
    migrate(connection, path);
    connection.exec("PRAGMA journal_mode = WAL");
  }
  file.sync();
  std::error_code error;
  std::filesystem::rename(made, target, error);
  if (error) throw not_made(path, error.message(), "Make its folder writable for this user");
  File(target.parent_path(), O_RDONLY | O_DIRECTORY).sync();
}

}  // namespace puzzled
