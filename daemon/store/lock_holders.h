// Who else uses a database, as far as the kernel says. Only for what people are told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace puzzled {

// The processes in the text of /proc/locks that hold a read lock on the log of the database whose
// "-shm" file has this device and inode, except `self`; ascending.
std::vector<std::int64_t> log_readers(std::string_view proc_locks, unsigned device_major,
                                      unsigned device_minor, std::uint64_t inode,
                                      std::int64_t self);

// "process 4711 (sqlite3)", several with commas; "" if nothing is known.
std::string describe_log_readers(const std::string& database_path);

}  // namespace puzzled
