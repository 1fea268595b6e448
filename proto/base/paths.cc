#include "proto/base/paths.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace puzzled {
namespace {

constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kSocketSuffix = ".sock";

// The variable's value if it is an absolute path, as the XDG base directory rules ask.
std::string absolute_from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string temporary_folder() { return fmt::format("/tmp/puzzled-{}", ::getuid()); }

std::string client_socket_in(std::string_view folder) {
  return fmt::format("{}{}/client.sock", kIpc, folder);
}

std::string home_folder() {
  std::string home = absolute_from_environment("HOME");
  if (!home.empty()) return home;
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "/";
}

// The port of a tcp endpoint; 0 if there is none or it is out of range.
unsigned tcp_port(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  const std::string_view digits = endpoint.substr(colon + 1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  return whole && port <= 65'535 ? port : 0;
}

}  // namespace

std::string default_runtime_folder() {
  const std::string runtime = absolute_from_environment("XDG_RUNTIME_DIR");
  struct stat info {};
  if (!runtime.empty() && ::stat(runtime.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return runtime + "/puzzled";
  }
  return temporary_folder();
}

std::string default_client_endpoint() { return client_socket_in(default_runtime_folder()); }

std::vector<std::string> candidate_client_endpoints() {
  std::vector<std::string> all{default_client_endpoint()};
  const std::string temporary = client_socket_in(temporary_folder());
  if (all.front() != temporary) all.push_back(temporary);
  all.emplace_back(kSystemClientEndpoint);
  return all;
}

std::string find_client_endpoint() {
  const std::vector<std::string> all = candidate_client_endpoints();
  for (const std::string& endpoint : all) {
    struct stat info {};
    if (::stat(ipc_path(endpoint)->c_str(), &info) == 0) return endpoint;
  }
  return all.front();
}

std::optional<std::string> worker_endpoint_for(std::string_view client_endpoint) {
  if (client_endpoint.starts_with(kTcp)) {
    const unsigned port = tcp_port(client_endpoint);
    if (port == 0 || port == 65'535) return std::nullopt;
    const std::size_t colon = client_endpoint.rfind(':');
    return fmt::format("{}:{}", client_endpoint.substr(0, colon), port + 1);
  }
  const auto path = ipc_path(client_endpoint);
  if (!path) return std::nullopt;
  const std::size_t slash = path->rfind('/');
  const std::size_t name_at = slash == std::string::npos ? 0 : slash + 1;
  std::string_view name = std::string_view(*path).substr(name_at);
  const bool has_suffix = name.size() > kSocketSuffix.size() && name.ends_with(kSocketSuffix);
  if (has_suffix) name.remove_suffix(kSocketSuffix.size());
  return fmt::format("{}{}{}{}", kIpc, std::string_view(*path).substr(0, name_at),
                     name == "client" ? "worker" : fmt::format("{}-worker", name),
                     has_suffix ? kSocketSuffix : "");
}

std::optional<std::string> ipc_path(std::string_view endpoint) {
  if (!endpoint.starts_with(kIpc)) return std::nullopt;
  return std::string(endpoint.substr(kIpc.size()));
}

std::optional<std::string> endpoint_error(std::string_view endpoint, bool may_bind) {
  if (const auto path = ipc_path(endpoint)) {
    if (path->empty() || path->ends_with('/')) return "the ipc endpoint names no file";
    if (path->size() > kIpcPathBytesMax) {
      return fmt::format("the socket's path has {} bytes, at most {} are possible", path->size(),
                         kIpcPathBytesMax);
    }
    return std::nullopt;
  }
  if (!endpoint.starts_with(kTcp)) {
    return "an endpoint is ipc:///PATH or tcp://HOST:PORT";
  }
  const std::string_view rest = endpoint.substr(kTcp.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == 0 || colon == std::string_view::npos) {
    return "the tcp endpoint needs a host and a port, as in tcp://127.0.0.1:7400";
  }
  if (may_bind && rest.substr(colon + 1) == "*") return std::nullopt;
  if (tcp_port(endpoint) == 0) return "the tcp endpoint needs a port in 1..65535";
  return std::nullopt;
}

std::string default_database_path() {
  std::string data = absolute_from_environment("XDG_DATA_HOME");
  if (data.empty()) data = home_folder() + "/.local/share";
  return data + "/puzzled/puzzled.db";
}

std::optional<std::string> ensure_private_folder(const std::string& path) {
  const std::string parent = folder_of(path);
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return fmt::format("cannot create {}: {}", parent, error.message());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fmt::format("cannot create {}: {}", path, std::strerror(errno));
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    return fmt::format("cannot look at {}: {}", path, std::strerror(errno));
  }
  if (!S_ISDIR(info.st_mode)) return fmt::format("{} is not a folder", path);
  if (info.st_uid != ::geteuid()) return fmt::format("{} belongs to another user", path);
  if ((info.st_mode & 0077U) != 0) {
    return fmt::format("{} is open to other users (chmod 700 it, or name another place)", path);
  }
  return std::nullopt;
}

std::string program_folder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : self.parent_path().string();
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

}  // namespace puzzled
