#include "daemon/net/metrics_endpoint.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <variant>

#include "daemon/net/metrics_address.h"
#include "proto/base/fatal.h"

namespace puzzled {
namespace {

constexpr int kConfiguration = 2;
// A scraper and the probes of a kubelet need one each; more are people who look.
constexpr unsigned kConnectionsMax = 32;
constexpr unsigned kIdleSeconds = 10;

struct Reply {
  unsigned status = MHD_HTTP_OK;
  std::string body;
};

constexpr std::string_view kNoAnswer = "the daemon's loop does not answer\n";

// A listening socket that programs started by the daemon do not inherit.
int listen_at(MetricsAddress& address) {
  const auto fail = [&](int fd, const char* what) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    throw Fatal(kConfiguration,
                fmt::format("metrics: {} {}: {}", what, to_string(address), std::strerror(error)));
  };
  const int fd = ::socket(address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail(fd, "no socket for");
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  auto* const socket = reinterpret_cast<sockaddr*>(&address.socket);
  if (::bind(fd, socket, address.bytes) != 0) fail(fd, "cannot bind");
  if (::listen(fd, static_cast<int>(kConnectionsMax)) != 0) fail(fd, "cannot listen at");
  ::getsockname(fd, socket, &address.bytes);  // which port, if any would do
  return fd;
}

}  // namespace

struct MetricsEndpoint::Impl {
  Impl(const Options& options, MetricsRequest& request);
  ~Impl() {
    request.close();  // no wait for an answer that nobody gives
    MHD_stop_daemon(daemon);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] Reply reply_to(std::string_view path);
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path,
                               const char* method, const char* version, const char* upload,
                               std::size_t* upload_bytes, void** state);

  MetricsRequest& request;
  std::chrono::milliseconds timeout;
  MetricsAddress address;
  MHD_Daemon* daemon = nullptr;
};

MetricsEndpoint::Impl::Impl(const Options& options, MetricsRequest& with)
    : request(with), timeout(options.timeout_ms) {
  auto parsed = parse_metrics_address(options.address);
  if (const auto* error = std::get_if<std::string>(&parsed)) {
    throw Fatal(kConfiguration, "metrics: " + *error);
  }
  address = std::get<MetricsAddress>(parsed);
  const int fd = listen_at(address);
  // AUTO: not select(), which knows no descriptors above 1023; a daemon with many peers has them.
  daemon = MHD_start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0, nullptr, nullptr,
                            &on_request, this, MHD_OPTION_LISTEN_SOCKET, fd,
                            MHD_OPTION_CONNECTION_LIMIT, kConnectionsMax,
                            MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_END);
  if (daemon == nullptr) {
    ::close(fd);
    throw Fatal(kConfiguration, "metrics: the HTTP server does not start");
  }
}

Reply MetricsEndpoint::Impl::reply_to(std::string_view path) {
  if (path != "/metrics" && path != "/healthz" && path != "/readyz") {
    return {MHD_HTTP_NOT_FOUND, "there are /metrics, /healthz and /readyz\n"};
  }
  const std::optional<Metrics> metrics = request.ask(timeout);
  if (!metrics) return {MHD_HTTP_SERVICE_UNAVAILABLE, std::string(kNoAnswer)};
  if (path == "/metrics") return {MHD_HTTP_OK, metrics_text(*metrics, process_figures())};
  if (path == "/readyz" && metrics->is_draining) {
    return {MHD_HTTP_SERVICE_UNAVAILABLE, "the daemon is about to end\n"};
  }
  return {MHD_HTTP_OK, "ok\n"};
}

MHD_Result MetricsEndpoint::Impl::on_request(void* self, MHD_Connection* connection,
                                             const char* path, const char* method,
                                             const char* /*version*/, const char* /*upload*/,
                                             std::size_t* upload_bytes, void** state) {
  // The first call comes with the headers alone, and the last one when there is no more to read.
  if (*state == nullptr) {
    *state = connection;
    return MHD_YES;
  }
  if (*upload_bytes > 0) {
    *upload_bytes = 0;
    return MHD_YES;
  }
  const std::string_view what = method;
  const bool is_read = what == MHD_HTTP_METHOD_GET || what == MHD_HTTP_METHOD_HEAD;
  Reply reply = is_read ? static_cast<Impl*>(self)->reply_to(path)
                        : Reply{MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n"};
  MHD_Response* response =
      MHD_create_response_from_buffer(reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                          "text/plain; version=0.0.4; charset=utf-8");
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  if (!is_read) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result queued = MHD_queue_response(connection, reply.status, response);
  MHD_destroy_response(response);
  return queued;
}

MetricsEndpoint::MetricsEndpoint(const Options& options, MetricsRequest& request)
    : impl_(std::make_unique<Impl>(options, request)) {}

MetricsEndpoint::~MetricsEndpoint() = default;

std::string MetricsEndpoint::url() const { return "http://" + to_string(impl_->address); }

}  // namespace puzzled
