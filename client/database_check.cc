#include "client/database_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "client/failure.h"
#include "proto/base/fatal.h"
#include "proto/base/paths.h"

namespace puzzled::client {
namespace {

using Json = nlohmann::json;

std::string daemon_program() {
  const std::string folder = program_folder();
  const std::string beside = folder + "/puzzled";
  return !folder.empty() && ::access(beside.c_str(), X_OK) == 0 ? beside : "puzzled";
}

// A child whose standard output is read; waits for it at the latest when destroyed.
class Child {
 public:
  explicit Child(std::vector<std::string> command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail(command[0], errno);
    out_.reset(::fdopen(ends[0], "r"));
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int error =
        ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error == 0) return;
    pid_ = 0;
    fail(command[0], error);
  }
  ~Child() { wait(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool read_line(std::string& line) {
    line.clear();
    for (int c = std::fgetc(out_.get()); c != EOF && c != '\n'; c = std::fgetc(out_.get())) {
      line.push_back(static_cast<char>(c));
    }
    return !line.empty();
  }
  // Its exit code; 70 if a signal ended it.
  int wait() {
    if (pid_ == 0) return code_;
    out_.reset();
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return code_ = WIFEXITED(status) ? WEXITSTATUS(status) : kExitInternal;
  }

 private:
  [[noreturn]] static void fail(const std::string& program, int error) {
    throw Failure(kExitInvalid, fmt::format("cannot run {}: {}", program, std::strerror(error)),
                  "the daemon's program must be beside puzzlectl, or in PATH");
  }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> out_;
  pid_t pid_ = 0;
  int code_ = 0;
};

proto::Finding finding_of(const Json& json) {
  proto::Finding finding;
  finding.set_rule(json.value("rule", ""));
  finding.set_job(json.value("job", std::uint64_t{0}));
  finding.set_has_chunk(json.contains("chunk"));
  finding.set_chunk(json.value("chunk", std::uint32_t{0}));
  finding.set_case_no(json.value("case", std::uint64_t{0}));
  finding.set_text(json.value("text", ""));
  finding.set_meaning(json.value("meaning", ""));
  finding.set_advice(json.value("advice", ""));
  return finding;
}

}  // namespace

void check_database(const std::string& path, const DatabaseCheck& check) {
  // A path must not look like an option.
  Child child({daemon_program(), "--check=" + path});
  std::string error;
  for (std::string line; child.read_line(line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    if (json.contains("finding")) check.found(finding_of(json["finding"]));
    if (json.contains("error")) error = json["error"].value("text", "");
    if (json.contains("progress")) {
      const Json& progress = json["progress"];
      check.progress(progress.value("done", std::uint64_t{0}),
                     progress.value("total", std::uint64_t{0}));
    }
  }
  const int code = child.wait();
  if (code == 0 || code == 1) return;
  if (error.empty()) error = fmt::format("the check ended with exit code {}", code);
  // The daemon's codes are others than ours.
  if (code == puzzled::kExitRefused) throw Failure(kExitRefused, error);
  throw Failure(code == puzzled::kExitIo ? kExitOutput : kExitInternal, error);
}

}  // namespace puzzled::client
