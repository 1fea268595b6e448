// Writing files below one folder, and never anywhere else, whatever their names are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace puzzled::client {

// Why a relative path may not be written below a folder: it is absolute, empty, holds "." or "..",
// a NUL byte or an empty component. nullopt: it may.
std::optional<std::string> unsafe_path(std::string_view path);

class OutputFolder {
 public:
  // Creates the folder if need be (not its parents). Throws Failure(2).
  explicit OutputFolder(const std::string& folder);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Whether something of that name exists. REQUIRES: !unsafe_path(path).
  [[nodiscard]] bool exists(std::string_view path) const;

  // One file that appears under its name whole or not at all. Subfolders are created; links in
  // them are not followed.
  class File {
   public:
    // REQUIRES: !unsafe_path(path). Throws Failure: 2 if the place cannot be used, 74 for I/O.
    File(const OutputFolder& folder, std::string_view path);
    ~File();  // without commit(): nothing is left.
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void write(std::string_view text);
    // `overwrite`: an existing file is replaced, else it is a Failure(2).
    void commit(bool overwrite);

   private:
    void write_out();

    std::string shown_;   // for messages
    int folder_fd_ = -1;  // of the subfolder
    int fd_ = -1;
    std::string name_;       // in the subfolder
    std::string temporary_;  // in the subfolder; empty: none is left
    std::string buffer_;
  };

 private:
  std::string folder_;
  int fd_;
};

}  // namespace puzzled::client
