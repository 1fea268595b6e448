#include "client/test_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unordered_map>

#include "client/failure.h"
#include "client/interrupt.h"
#include "proto/base/natural_order.h"
#include "proto/base/printable.h"
#include "proto/wire.h"

namespace puzzled::client {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".in";
constexpr std::string_view kStdin = "<stdin>";

std::string_view without_suffix(std::string_view path) {
  const bool named_more = path.size() > kSuffix.size() && path[path.size() - 4] != '/';
  return named_more && path.ends_with(kSuffix) ? path.substr(0, path.size() - kSuffix.size())
                                               : path;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_regular_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

class Collector {
 public:
  explicit Collector(const TestSetOptions& options) : options_(options) {}

  std::vector<TestFile> run() {
    if (options_.files_from == "-" && std::ranges::count(options_.paths, "-") > 0) {
      throw Failure(kExitInvalid, "standard input can be either the list of files or a test file",
                    "write one of them to a file");
    }
    for (const std::string& path : options_.paths) add_path(path);
    if (!options_.files_from.empty()) add_listed();
    if (files_.empty()) throw Failure(kExitInvalid, "no test files are named", "give a PATH");
    for (TestFile& file : files_) check_label(file);
    if (options_.for_job) refuse_equal_labels();
    find_answers();
    return std::move(files_);
  }

 private:
  void add_path(const std::string& path) {
    throw_if_interrupted();
    if (path == "-") return add_stdin();
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
      throw Failure(kExitInvalid, fmt::format("cannot read {}: {}", path, std::strerror(errno)),
                    "check the path");
    }
    if (S_ISDIR(info.st_mode)) return add_folder(path);
    TestFile file{path, std::string(without_suffix(base_name(path))), "", nullptr};
    if (!S_ISREG(info.st_mode)) file.spool = spooled(path);
    files_.push_back(std::move(file));
  }

  void add_stdin() {
    if (std::ranges::any_of(files_, [](const TestFile& file) { return file.path == kStdin; })) {
      throw Failure(kExitInvalid, "standard input is named twice", "name it once");
    }
    auto spool = std::make_shared<const Spool>(STDIN_FILENO, kStdin);
    files_.push_back({std::string(kStdin), "stdin", "", std::move(spool)});
  }

  static std::shared_ptr<const Spool> spooled(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      throw Failure(kExitInvalid, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    }
    try {
      auto spool = std::make_shared<const Spool>(fd, path);
      ::close(fd);
      return spool;
    } catch (...) {
      ::close(fd);
      throw;
    }
  }

  void add_folder(const std::string& folder) {
    std::vector<std::string> found;
    bool subfolders = false;
    list_folder(folder, "", found, subfolders);
    if (found.empty()) {
      throw Failure(kExitInvalid, fmt::format("the folder {} holds no *.in files", folder),
                    subfolders && !options_.recursive ? "--recursive looks into its subfolders"
                                                      : "check the path");
    }
    std::ranges::sort(found, [](const std::string& a, const std::string& b) {
      return natural_less(without_suffix(a), without_suffix(b));
    });
    const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
    for (const std::string& name : found) {
      files_.push_back({prefix + name, std::string(without_suffix(name)), "", nullptr});
    }
  }

  // Adds the test files below `folder`/`prefix`, as paths relative to `folder`. Hidden ones are
  // left out, as a shell would; links to folders are not followed.
  void list_folder(const std::string& folder, const std::string& prefix,
                   std::vector<std::string>& found, bool& subfolders) {
    throw_if_interrupted();
    std::error_code error;
    fs::directory_iterator entries(fs::path(folder) / prefix, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const std::string name = entries->path().filename().string();
      if (name.starts_with('.')) continue;
      std::error_code ignored;  // an entry that vanished is neither.
      if (name.ends_with(kSuffix) && entries->is_regular_file(ignored)) {
        found.push_back(prefix + name);
      } else if (entries->is_directory(ignored) && !entries->is_symlink(ignored)) {
        subfolders = true;
        if (options_.recursive) list_folder(folder, prefix + name + "/", found, subfolders);
      }
    }
    if (error) {
      throw Failure(kExitInvalid, fmt::format("cannot read the folder {}/{}: {}", folder, prefix,
                                              error.message()));
    }
  }

  void add_listed() {
    std::unique_ptr<const Spool> spool;
    if (options_.files_from == "-") spool = std::make_unique<const Spool>(STDIN_FILENO, kStdin);
    const FileText list = spool ? FileText(*spool, kStdin) : FileText(options_.files_from);
    std::string_view rest = list.text();
    if (rest.find('\0') != std::string_view::npos) {
      throw Failure(kExitInvalid, fmt::format("{} holds a NUL byte", options_.files_from),
                    "list one path a line");
    }
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.empty()) continue;
      if (line == "-") line = "./-";  // standard input cannot be named in a list.
      add_path(std::string(line));
    }
  }

  void check_label(const TestFile& file) const {
    if (options_.for_job && !is_printable(file.label)) {
      throw Failure(kExitInvalid,
                    fmt::format("the name of {} is no printable UTF-8, and cannot be the label of "
                                "its cases",
                                file.path),
                    "give the file another name");
    }
    if (file.label.size() <= wire::kPathBytesMax) return;
    throw Failure(kExitInvalid,
                  fmt::format("the label of {} is {} bytes long, the limit is {}", file.path,
                              file.label.size(), wire::kPathBytesMax),
                  "give a folder closer to it");
  }

  void refuse_equal_labels() const {
    std::unordered_map<std::string_view, const TestFile*> seen;
    seen.reserve(files_.size());
    for (const TestFile& file : files_) {
      const auto [other, is_new] = seen.emplace(file.label, &file);
      if (is_new) continue;
      throw Failure(kExitInvalid,
                    fmt::format("{} and {} have the same label \"{}\"", other->second->path,
                                file.path, file.label),
                    "give their common folder with --recursive, so that labels tell them apart");
    }
  }

  void find_answers() {
    if (options_.no_answers) return;
    const std::string& folder = options_.answers_folder;
    std::error_code ignored;
    if (!folder.empty() && !fs::is_directory(folder, ignored)) {
      throw Failure(kExitInvalid, fmt::format("--answers {} is no folder", folder),
                    "check the path");
    }
    for (TestFile& file : files_) {
      if (folder.empty() && file.spool) continue;
      const std::string stem =
          folder.empty() ? std::string(without_suffix(file.path)) : folder + "/" + file.label;
      for (const char* suffix : {".ans", ".out"}) {
        std::string path = stem + suffix;
        if (!is_regular_file(path)) continue;
        file.answers = std::move(path);
        break;
      }
    }
    const auto has_answers = [](const TestFile& file) { return !file.answers.empty(); };
    if (folder.empty() || std::ranges::any_of(files_, has_answers)) return;
    throw Failure(kExitInvalid, fmt::format("--answers {} has no answers to these tests", folder),
                  fmt::format("expected for example {}/{}.ans; without --answers they are looked "
                              "for beside the tests",
                              folder, files_.front().label));
  }

  const TestSetOptions& options_;
  std::vector<TestFile> files_;
};

}  // namespace

std::unique_ptr<FileText> open_text(const TestFile& file) {
  return file.spool ? std::make_unique<FileText>(*file.spool, file.path)
                    : std::make_unique<FileText>(file.path);
}

std::vector<TestFile> collect_test_files(const TestSetOptions& options) {
  return Collector(options).run();
}

}  // namespace puzzled::client
