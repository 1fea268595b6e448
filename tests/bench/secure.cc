#include "tests/bench/secure.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <variant>

#include "tests/bench/support.h"

namespace puzzled::bench {
namespace {

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, plain, length) != 0 || ::getsockname(fd, plain, &length) != 0) {
    give_up("no TCP port is free");
  }
  ::close(fd);
  return ntohs(address.sin_port);
}

// The line for the list of authorized keys.
std::string keygen(const Folder& folder, const std::string& name, const std::string& role) {
  testing::Process::Options options;
  options.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", folder.path("home")}};
  options.output_folder = folder.path("output");
  testing::Process process(
      {PUZZLED_BENCH_CTL_PROGRAM, "keygen", name, "--role", role, "--dir", folder.path("keys")},
      options);
  const auto ended = process.wait(std::chrono::seconds(60));
  if (!ended || ended->exit_code != 0) give_up("no keys: " + process.err());
  return ended->out;
}

}  // namespace

SecureEndpoint::SecureEndpoint(const Folder& folder)
    : key_(folder.path("keys/daemon.key")),
      list_(folder.path("keys/list")),
      worker_key_(folder.path("keys/worker.key")),
      endpoint_(fmt::format("tcp://127.0.0.1:{}", free_port())) {
  std::filesystem::create_directories(folder.path("keys"));
  keygen(folder, "daemon", "server");
  testing::write_file(list_, keygen(folder, "worker", "work"));
  ::chmod(list_.c_str(), 0600);
  const auto keys = read_curve_keys(worker_key_, key_);
  const auto* const found = std::get_if<std::optional<CurveKeys>>(&keys);
  if (found == nullptr || !*found) give_up("the keys cannot be read back");
  worker_keys_ = **found;
}

std::vector<std::string> SecureEndpoint::daemon_options() const {
  return {"--worker-endpoint", endpoint_, "--key", key_, "--authorized-keys", list_};
}

std::vector<std::string> SecureEndpoint::worker_options() const {
  return {"--endpoint", endpoint_, "--key", worker_key_, "--server-key", worker_keys_.server_key};
}

}  // namespace puzzled::bench
