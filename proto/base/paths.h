// Default endpoints and files, one place for all three programs. An endpoint is a ZeroMQ address:
// "ipc:///path/client.sock" or "tcp://host:port". Errors are one printable sentence.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace puzzled {

// What sockaddr_un leaves for a path (108 bytes with the final zero).
inline constexpr std::size_t kIpcPathBytesMax = 107;
// Where a daemon run for all users listens (deploy/systemd).
inline constexpr std::string_view kSystemClientEndpoint = "ipc:///run/puzzled/client.sock";

// The folder of the default sockets: $XDG_RUNTIME_DIR/puzzled if the variable names an existing
// folder, else /tmp/puzzled-UID. Not created here: see ensure_private_folder().
std::string default_runtime_folder();

// The endpoint where a daemon listens by default: client.sock in default_runtime_folder().
std::string default_client_endpoint();

// Where a client looks for a daemon, in order: the default endpoint, /tmp/puzzled-UID, then the
// system's. The first whose socket exists is the one to use; if none exists, the first of all.
std::vector<std::string> candidate_client_endpoints();
// That choice.
std::string find_client_endpoint();

// The worker endpoint that belongs to a client endpoint: for ipc in the same folder, client.sock
// -> worker.sock, NAME.sock -> NAME-worker.sock, NAME -> NAME-worker; for tcp the port + 1.
// nullopt: neither of the two, or no port number below 65535.
std::optional<std::string> worker_endpoint_for(std::string_view client_endpoint);

// The path of an ipc endpoint; nullopt if it is not one.
std::optional<std::string> ipc_path(std::string_view endpoint);

// What is wrong with an endpoint (neither ipc nor tcp, no or too long a path, no port); nullopt if
// nothing is. The port may be "*" only if `may_bind`.
std::optional<std::string> endpoint_error(std::string_view endpoint, bool may_bind);

// $XDG_DATA_HOME/puzzled/puzzled.db or ~/.local/share/puzzled/puzzled.db (the home folder from
// $HOME, else from the user database).
std::string default_database_path();

// Makes sure that `path` is a folder of ours with mode 0700; creates it (and parents, which keep
// the usual mode). Refuses a link, a foreign owner, access for others; nullopt: all is well.
std::optional<std::string> ensure_private_folder(const std::string& path);

// The folder of the program that runs; empty if the system does not say.
std::string program_folder();

// What comes before the last '/' ("/" and "." as usual).
std::string folder_of(std::string_view path);

}  // namespace puzzled
