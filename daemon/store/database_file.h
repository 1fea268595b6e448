// What must be right about the database file before SQLite opens it: where it lies, that it is
// ours to write, and that no other daemon uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace puzzled {

// Holds the lock of one database for as long as it lives, and no longer: the descriptor closes on
// exec, so that a surviving child does not keep it. The file "<database>.lock" stays behind; its
// content is the process id of the last holder.
class DatabaseLock {
 public:
  // Throws Fatal: another process holds it (exit 5), or the file cannot be written (exit 74).
  explicit DatabaseLock(const std::string& database_path);
  ~DatabaseLock();
  DatabaseLock(const DatabaseLock&) = delete;
  DatabaseLock& operator=(const DatabaseLock&) = delete;

 private:
  int descriptor_ = -1;
};

// Creates the folder (0700, with its parents) and the file (0600) if they are missing. Throws
// Fatal: cannot be created or written (exit 74), or on a network file system (exit 5).
void prepare_database_file(const std::string& path);

// Throws Fatal (exit 74) if the file cannot be a whole database: its size is no number of pages,
// and there is no write-ahead log that could complete it. SQLite would take the rest for zeros, and
// a file of a few bytes for a new one.
void refuse_cut_off_database(const std::string& path);

// The name of a network file system, on which SQLite's write-ahead log does not work; nullopt for
// a local one. `magic` is statfs(2)'s f_type; `mount_type` (e.g. "fuse.sshfs") tells FUSE file
// systems apart and may be empty.
std::optional<std::string_view> network_file_system(std::uint64_t magic,
                                                    std::string_view mount_type);
// The type of the mount with this device number in the text of /proc/self/mountinfo; "" if none.
std::string mount_type(std::string_view mountinfo, unsigned device_major, unsigned device_minor);

}  // namespace puzzled
