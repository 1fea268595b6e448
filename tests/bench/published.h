// Outside programs to compare with, as libraries that run.sh --published builds.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace puzzled::bench {

class Published {
 public:
  // nullptr: there is no such library in the folder (or no folder).
  static std::unique_ptr<Published> load(const std::filesystem::path& folder,
                                         const std::string& name);
  ~Published();
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // REQUIRES: a library of published/chinese_checkers.cc or published/draughts.cc.
  [[nodiscard]] long solve(const std::vector<unsigned char>& board) const;
  // Its output for that input; `cpu_s` is what it took. REQUIRES: one of published/whole.cc.
  std::string run(const std::string& input, double& cpu_s) const;

 private:
  explicit Published(void* library) : library_(library) {}
  void* library_;
};

}  // namespace puzzled::bench
