// Where metrics are served: "PORT" (of 127.0.0.1), "ADDRESS:PORT" or "[ADDRESS]:PORT". The address
// is a number of IPv4 or IPv6, the port 1..65535 or "*" for any.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <variant>

namespace puzzled {

struct MetricsAddress {
  sockaddr_storage socket{};
  socklen_t bytes = 0;
};

// The other one: what is wrong, one printable sentence.
std::variant<MetricsAddress, std::string> parse_metrics_address(std::string_view text);

// "127.0.0.1:7402", "[::1]:7402".
std::string to_string(const MetricsAddress& address);

}  // namespace puzzled
