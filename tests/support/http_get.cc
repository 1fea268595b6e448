#include "tests/support/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace puzzled::testing {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr timeval kPatience{60, 0};  // far longer than any answer takes

// Until the peer closes.
std::string exchange(int fd, const std::string& request) {
  static_cast<void>(!::send(fd, request.data(), request.size(), MSG_NOSIGNAL));
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  return answer;
}

}  // namespace

HttpReply http_request(const std::string& url, std::string_view head, std::string_view body) {
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const std::string host(rest.substr(0, rest.find('/')));
  const std::size_t colon = host.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(host.c_str() + colon + 1)));
  ::inet_pton(AF_INET, host.substr(0, colon).c_str(), &address.sin_addr);

  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  std::string answer;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    answer = exchange(fd, std::string(head) + "\r\nHost: " + host +
                              "\r\nConnection: close\r\n\r\n" + std::string(body));
  }
  ::close(fd);

  HttpReply reply;
  const std::size_t end = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || end == std::string::npos) return reply;
  reply.status = std::atoi(answer.c_str() + answer.find(' '));
  reply.head = answer.substr(0, end);
  reply.body = answer.substr(end + 4);
  return reply;
}

HttpReply http_get(const std::string& url) {
  const std::size_t path = url.find('/', kScheme.size());
  return http_request(url,
                      "GET " + (path == std::string::npos ? "/" : url.substr(path)) + " HTTP/1.1");
}

}  // namespace puzzled::testing
