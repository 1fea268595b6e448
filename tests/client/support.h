// What the client's tests share: folders, files, running puzzlectl in this process, golden texts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace puzzled::client {

// A new folder below the system's temporary one; its path is short enough for a socket.
std::string make_folder();
void write_file(const std::string& path, std::string_view text);  // with its folders
std::string read_file(const std::string& path);

// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(make_folder()) {}
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  // A file in it; returns its path.
  std::string file(const std::string& name, std::string_view text = "") const {
    write_file(path_ + "/" + name, text);
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};
Outcome run_puzzlectl(const std::vector<std::string>& arguments);

// Compares with tests/golden/client/NAME.txt; PUZZLED_UPDATE_GOLDEN=1 writes it instead.
void expect_golden(const std::string& name, const std::string& text);
// The text with every occurrence of `what` replaced.
std::string replaced(std::string text, std::string_view what, std::string_view by);

}  // namespace puzzled::client
