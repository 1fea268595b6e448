// The bytes of an input file, and how to tell later that they are still the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace puzzled::client {

struct FileStamp {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t hash = 0;  // XXH3 of the content
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// A copy of something that can be read only once (standard input, a pipe) in a temporary file
// without a name, which is gone with the process however that ends.
class Spool {
 public:
  // Reads `fd` to its end. Throws Failure (2, 74, 130); `name` is for messages.
  Spool(int fd, std::string_view name);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

// The content of a file while this exists. Large files are mapped, not copied.
class FileText {
 public:
  // Throws Failure(2) if it cannot be read; `name` is for messages.
  explicit FileText(const std::string& path);
  FileText(const Spool& spool, std::string_view name);
  ~FileText();
  FileText(const FileText&) = delete;
  FileText& operator=(const FileText&) = delete;

  [[nodiscard]] std::string_view text() const { return text_; }
  // Of the bytes as they were when the file was opened.
  [[nodiscard]] const FileStamp& stamp() const { return stamp_; }
  // Whether size and time of change are still those of the stamp.
  [[nodiscard]] bool unchanged() const;

 private:
  void read(std::string_view name);

  int fd_ = -1;
  bool own_fd_ = true;
  void* map_ = nullptr;
  std::string copy_;
  std::string_view text_;
  FileStamp stamp_;
};

// A mapped file that is cut off while it is read kills the process with SIGBUS; this makes it a
// message and exit code 2. Called once by main().
void install_map_fault_handler();

}  // namespace puzzled::client
