#include "tests/bench/daemon.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "client/calls.h"
#include "tests/bench/support.h"

namespace puzzled::bench {
namespace {

constexpr testing::Duration kHang = std::chrono::minutes(30);

std::string base_folder() {
  const char* wanted = std::getenv("PUZZLED_BENCH_FOLDER");
  return wanted == nullptr ? "/tmp" : wanted;
}

}  // namespace

Folder::Folder() {
  std::string pattern = base_folder() + "/pbXXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) give_up("no folder can be made in " + base_folder());
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string worker_program() { return PUZZLED_BENCH_WORKER_PROGRAM; }

Daemon::Daemon(const Folder& folder, int workers, const std::vector<std::string>& more)
    : endpoint_("ipc://" + folder.path("c.sock").string()) {
  run_options_.environment = {
      {"PATH", "/usr/bin:/bin"}, {"HOME", folder.path("home")}, {"PUZZLED_ENDPOINT", endpoint_}};
  run_options_.output_folder = folder.path("output");
  std::vector<std::string> command = {PUZZLED_PROGRAM,
                                      "--database",
                                      folder.path("p.db"),
                                      "--workers",
                                      std::to_string(workers),
                                      "--worker-program",
                                      worker_program(),
                                      "--log-level",
                                      "warn"};
  command.insert(command.end(), more.begin(), more.end());
  const double start = wall_s();
  process_ = std::make_unique<testing::Process>(command, run_options_);
  client::ConnectionOptions options;
  options.endpoints = {endpoint_};
  options.connect_timeout_ms = 60'000;
  options.retry_ms = 2;
  connection_ = std::make_unique<client::Connection>(std::move(options));
  client::get_version(*connection_);
  start_s_ = wall_s() - start;
  while (client::list_workers(*connection_, 0).workers_size() < workers) {
    if (wall_s() - start > 60) give_up("the workers do not come: " + process_->err());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  workers_s_ = wall_s() - start;
}

void Daemon::kill() {
  connection_.reset();
  process_->signal(SIGKILL);
  if (!process_->wait(kHang)) give_up("the daemon cannot be killed");
  process_.reset();
}

Daemon::~Daemon() {
  if (!process_) return;
  connection_.reset();
  process_->signal(SIGTERM);
  if (!process_->wait(kHang)) give_up("the daemon does not end");
}

std::uint64_t Daemon::peak_rss_bytes() const {
  std::ifstream status(fmt::format("/proc/{}/status", pid()));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1024 * std::stoull(line.substr(6));
  }
  give_up("the daemon's memory cannot be read");
}

proto::ClientReply Daemon::call(proto::ClientRequest& request) {
  proto::ClientReply reply = connection_->call(request);
  if (reply.has_error()) give_up("the daemon refuses: " + reply.error().message());
  return reply;
}

proto::JobStatus Daemon::status(std::uint64_t job) { return client::get_job(*connection_, job); }

std::string Daemon::ctl(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {PUZZLED_BENCH_CTL_PROGRAM, "-q"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  testing::Process process(command, run_options_);
  const auto ended = process.wait(kHang);
  if (!ended || ended->exit_code != 0) give_up("puzzlectl failed: " + process.err());
  return ended->out;
}

}  // namespace puzzled::bench
