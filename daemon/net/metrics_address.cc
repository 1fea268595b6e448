#include "daemon/net/metrics_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace puzzled {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text == "*") return 0;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

}  // namespace

std::variant<MetricsAddress, std::string> parse_metrics_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = "127.0.0.1";
  std::string_view port_text = text;
  if (colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port_text = text.substr(colon + 1);
  }
  const auto port = parse_port(port_text);
  if (!port) {
    return fmt::format(
        "found \"{}\", expected PORT, ADDRESS:PORT or [ADDRESS]:PORT with a port in "
        "1..65535, as in 7402 or 0.0.0.0:7402",
        text);
  }
  MetricsAddress address;
  const bool is_ipv6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string number(is_ipv6 ? host.substr(1, host.size() - 2) : host);
  int parsed = 0;
  if (is_ipv6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(*port);
    parsed = ::inet_pton(AF_INET6, number.c_str(), &to.sin6_addr);
    std::memcpy(&address.socket, &to, sizeof to);
    address.bytes = sizeof to;
  } else {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(*port);
    parsed = ::inet_pton(AF_INET, number.c_str(), &to.sin_addr);
    std::memcpy(&address.socket, &to, sizeof to);
    address.bytes = sizeof to;
  }
  if (parsed == 1) return address;
  return fmt::format(
      "found the address \"{}\", expected a number: 127.0.0.1 for this machine, "
      "0.0.0.0 or [::] for all, or one of this machine's",
      host);
}

std::string to_string(const MetricsAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.socket.ss_family == AF_INET6) {
    sockaddr_in6 from{};
    std::memcpy(&from, &address.socket, sizeof from);
    ::inet_ntop(AF_INET6, &from.sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), ntohs(from.sin6_port));
  }
  sockaddr_in from{};
  std::memcpy(&from, &address.socket, sizeof from);
  ::inet_ntop(AF_INET, &from.sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), ntohs(from.sin_port));
}

}  // namespace puzzled
