// One HTTP request over a connection of its own, as plain as curl: no redirects, no encryption.
#pragma once

#include <string>
#include <string_view>

namespace puzzled::testing {

struct HttpReply {
  int status = 0;  // 0: no connection, or no answer
  std::string head;
  std::string body;
};

// `url`: "http://ADDRESS:PORT/path" with an IPv4 number.
HttpReply http_get(const std::string& url);
// A request by hand: its line and fields, "\r\n" between them, and what follows the empty line.
HttpReply http_request(const std::string& url, std::string_view head, std::string_view body = "");

}  // namespace puzzled::testing
