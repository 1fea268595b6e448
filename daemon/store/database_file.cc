#include "daemon/store/database_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "proto/base/fatal.h"

namespace puzzled {
namespace {

constexpr std::uint64_t kFuseMagic = 0x65735546;

struct NetworkFileSystem {
  std::uint64_t magic;
  std::string_view name;
};
// Numbers of linux/magic.h and of the file systems' own sources.
constexpr auto kNetworkMagics = std::to_array<NetworkFileSystem>({
    {0x6969, "NFS"},       {0x517b, "SMB"},       {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"},
    {0x5346414f, "AFS"},   {0x6b414653, "AFS"},   {0x73757245, "Coda"},   {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},  {0x00c36400, "Ceph"},  {0x01021997, "9p"},     {0x7461636f, "OCFS2"},
    {0x01161970, "GFS2"},  {0xaad7aaea, "PanFS"}, {0x19830326, "BeeGFS"}, {0x20030528, "OrangeFS"},
    {0x013111a8, "IBRIX"}, {0x564c, "NCP"},       {0x61636673, "ACFS"},
});
// Mount types behind FUSE that keep their data on another machine.
constexpr auto kNetworkFuse = std::to_array<std::string_view>(
    {"sshfs",     "glusterfs",  "s3fs",    "rclone",  "ceph",     "ceph-fuse",
     "curlftpfs", "davfs",      "gcsfuse", "juicefs", "moosefs",  "mfs",
     "lizardfs",  "cvmfs2",     "goofys",  "nfs",     "smbnetfs", "blobfuse",
     "blobfuse2", "gvfsd-fuse", "hdfs",    "beegfs",  "seaweedfs"});

std::string system_text() { return std::strerror(errno); }

Fatal not_usable(const std::string& path, const std::string& why) {
  return {kExitIo, fmt::format("cannot use the database {}: {}. Make its folder writable for this "
                               "user, or choose another with --database.",
                               path, why)};
}

void refuse_network_file_system(const std::string& path) {
  struct statfs info {};
  struct stat status {};
  if (statfs(path.c_str(), &info) != 0 || stat(path.c_str(), &status) != 0) {
    throw not_usable(path, system_text());
  }
  std::string type;
  const auto magic = static_cast<std::uint32_t>(info.f_type);
  if (magic == kFuseMagic) {
    std::ifstream in("/proc/self/mountinfo");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    type = mount_type(text, major(status.st_dev), minor(status.st_dev));
  }
  if (const auto name = network_file_system(magic, type)) {
    throw Fatal(kExitRefused,
                fmt::format("the database {} would lie on a network file system ({}), where it "
                            "can be damaged. Choose a local path with --database.",
                            path, *name));
  }
}

}  // namespace

std::optional<std::string_view> network_file_system(std::uint64_t magic,
                                                    std::string_view mount_type) {
  for (const NetworkFileSystem& known : kNetworkMagics) {
    if (known.magic == magic) return known.name;
  }
  constexpr std::string_view kPrefix = "fuse.";
  if (magic != kFuseMagic || !mount_type.starts_with(kPrefix)) return std::nullopt;
  for (const std::string_view type : kNetworkFuse) {
    if (mount_type.substr(kPrefix.size()) == type) return type;
  }
  return std::nullopt;
}

// A line is: id parent major:minor root mountpoint options [tags…] - type source options
std::string mount_type(std::string_view mountinfo, unsigned device_major, unsigned device_minor) {
  const std::string device = fmt::format("{}:{}", device_major, device_minor);
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, of, word;
    words >> id >> parent >> of;
    if (of != device) continue;
    while (words >> word) {
      if (word == "-" && words >> word) return word;
    }
  }
  return "";
}

void prepare_database_file(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  // Only folders that are made here get 0700; existing ones are the user's business.
  const mode_t mask = umask(077);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  umask(mask);
  if (error) throw not_usable(path, error.message());
  refuse_network_file_system(folder);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) throw not_usable(path, system_text());
  struct stat status {};
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  ::close(file);
  if (!regular) throw not_usable(path, "it is not a regular file");
  refuse_network_file_system(path);  // a link may lead elsewhere
}

void refuse_cut_off_database(const std::string& path) {
  constexpr std::uintmax_t kPageBytesMin = 512;  // of SQLite; larger ones are multiples of it
  std::error_code error;
  const std::uintmax_t log_bytes = std::filesystem::file_size(path + "-wal", error);
  if (!error && log_bytes > 0) return;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes % kPageBytesMin == 0) return;
  throw Fatal(
      kExitIo,
      fmt::format("the database {} is damaged: {} bytes are no whole number of pages, so it "
                  "was cut off. Keep the file, restore a backup in its place, or choose "
                  "another with --database.",
                  path, bytes));
}

DatabaseLock::DatabaseLock(const std::string& database_path) {
  const std::string path = database_path + ".lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) throw not_usable(database_path, "its lock file: " + system_text());
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const bool taken = errno == EWOULDBLOCK;
    const std::string why = system_text();
    char holder[32] = {};
    const ssize_t length = pread(descriptor_, holder, sizeof holder - 1, 0);
    ::close(descriptor_);
    if (!taken) throw not_usable(database_path, "its lock file: " + why);
    std::string pid(holder, length > 0 ? static_cast<std::size_t>(length) : 0);
    pid.erase(pid.find_last_not_of("\n ") + 1);
    throw Fatal(kExitRefused,
                fmt::format("another puzzled{} already runs on the database {}. Stop it, or choose "
                            "another with --database and --endpoint.",
                            pid.empty() ? "" : " (process " + pid + ")", database_path));
  }
  const std::string pid = fmt::format("{}\n", getpid());
  // The content only serves the message above: a full disk must not keep the daemon from starting.
  if (ftruncate(descriptor_, 0) == 0) {
    [[maybe_unused]] const ssize_t written = pwrite(descriptor_, pid.data(), pid.size(), 0);
  }
}

DatabaseLock::~DatabaseLock() { ::close(descriptor_); }

}  // namespace puzzled
