#include "tests/support/frame_proxy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace puzzled::testing {
namespace {

// ZMTP 3 (rfc.zeromq.org/spec/23): a greeting, then frames of flags, length and body.
constexpr unsigned kLongFlag = 0x02;     // the length has eight bytes, not one
constexpr unsigned kCommandFlag = 0x04;  // handshake, ping: none of our messages

struct Frame {
  std::size_t header = 0;
  std::size_t body = 0;
  bool command = false;
};

std::optional<Frame> frame_at_front(std::string_view bytes) {
  if (bytes.size() < 2) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  Frame frame{2, byte(1), (byte(0) & kCommandFlag) != 0};
  if ((byte(0) & kLongFlag) != 0) {
    if (bytes.size() < 9) return std::nullopt;
    frame.header = 9;
    frame.body = 0;
    for (std::size_t i = 1; i < 9; ++i) frame.body = frame.body << 8U | byte(i);
  }
  if (bytes.size() < frame.header + frame.body) return std::nullopt;
  return frame;
}

void append_frame(std::string_view body, std::string& out) {
  out.push_back(static_cast<char>(kLongFlag));
  for (int shift = 56; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(std::uint64_t{body.size()} >> shift));
  }
  out.append(body);
}

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path) throw std::runtime_error("path too long");
  std::memcpy(address.sun_path, path.c_str(), path.native().size() + 1);
  return address;
}

int new_socket() {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw std::runtime_error(std::string("socket: ") + std::strerror(errno));
  return fd;
}

}  // namespace

FrameProxy::FrameProxy(const std::filesystem::path& front, std::filesystem::path back, Rule rule,
                       Rewrite rewrite)
    : back_(std::move(back)),
      rule_(std::move(rule)),
      rewrite_(std::move(rewrite)),
      listener_(new_socket()) {
  const sockaddr_un address = address_of(front);
  std::array<int, 2> ends{};
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 64) != 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error(std::string("proxy: ") + std::strerror(errno));
  }
  stop_read_ = ends[0];
  stop_write_ = ends[1];
  thread_ = std::thread([this] { run(); });
}

FrameProxy::~FrameProxy() {
  ::close(stop_write_);
  thread_.join();
  for (Link& link : links_) {
    ::close(link.to_broker.from);
    ::close(link.to_broker.to);
  }
  ::close(listener_);
  ::close(stop_read_);
}

void FrameProxy::run() {
  for (;;) {
    std::vector<pollfd> fds = {{stop_read_, POLLIN, 0}, {listener_, POLLIN, 0}};
    const auto events = [](const Stream& in, const Stream& out) {
      return static_cast<short>((in.out.empty() ? POLLIN : 0) | (out.out.empty() ? 0 : POLLOUT));
    };
    for (const Link& link : links_) {
      fds.push_back({link.to_broker.from, events(link.to_broker, link.from_broker), 0});
      fds.push_back({link.to_broker.to, events(link.from_broker, link.to_broker), 0});
    }
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[0].revents != 0) return;
    std::size_t at = 2;
    for (Link& link : links_) {
      constexpr int kReadable = POLLIN | POLLHUP | POLLERR;
      const bool front = (fds[at++].revents & kReadable) != 0;
      const bool back = (fds[at++].revents & kReadable) != 0;
      serve(link, link.to_broker, Way::kToBroker, front);
      serve(link, link.from_broker, Way::kFromBroker, back);
    }
    links_.remove_if([](const Link& link) {
      if (!link.broken) return false;
      ::close(link.to_broker.from);
      ::close(link.to_broker.to);
      return true;
    });
    if (fds[1].revents != 0) accept_one();
  }
}

void FrameProxy::accept_one() {
  const int front = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (front < 0) return;
  const int back = new_socket();
  const sockaddr_un address = address_of(back_);
  // Nobody at home: the peer sees its connection end, and comes again.
  if (::connect(back, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(front);
    ::close(back);
    return;
  }
  Link& link = links_.emplace_back();
  link.number = connections_++;
  link.to_broker.from = link.from_broker.to = front;
  link.to_broker.to = link.from_broker.from = back;
}

void FrameProxy::serve(Link& link, Stream& stream, Way way, bool readable) {
  if (link.broken) return;
  // What waits to be written is written first: reading goes on when the other side keeps up.
  if (readable && stream.out.empty()) {
    std::array<char, 1U << 16U> bytes;
    const ssize_t got = ::read(stream.from, bytes.data(), bytes.size());
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
      link.broken = true;
      return;
    }
    if (got > 0) stream.in.append(bytes.data(), static_cast<std::size_t>(got));
    pass_frames(link, stream, way);
  }
  if (stream.out.empty() || link.broken) return;
  const ssize_t put = ::send(stream.to, stream.out.data(), stream.out.size(), MSG_NOSIGNAL);
  if (put > 0) stream.out.erase(0, static_cast<std::size_t>(put));
  if (put < 0 && errno != EAGAIN) link.broken = true;
}

void FrameProxy::pass_frames(Link& link, Stream& stream, Way way) {
  std::string_view rest = stream.in;
  // Each side waits for parts of the other's greeting, so it passes as it comes.
  const std::size_t greeting = std::min(stream.greeting_left, rest.size());
  stream.out.append(rest.substr(0, greeting));
  stream.greeting_left -= greeting;
  rest.remove_prefix(greeting);
  if (stream.greeting_left > 0) rest = {};
  while (const auto frame = frame_at_front(rest)) {
    const std::string_view whole = rest.substr(0, frame->header + frame->body);
    const Fate fate =
        frame->command ? Fate::kPass : rule_(way, link.number, whole.substr(frame->header));
    if (fate == Fate::kCut) {
      link.broken = true;
      return;
    }
    if (rewrite_ && !frame->command && fate != Fate::kLose) {
      for (const std::string& body : rewrite_(way, whole.substr(frame->header))) {
        append_frame(body, stream.out);
      }
    } else if (fate != Fate::kLose) {
      stream.out.append(whole);
    }
    if (fate == Fate::kTwice) stream.out.append(whole);
    rest.remove_prefix(whole.size());
  }
  stream.in.erase(0, stream.in.size() - rest.size());
}

}  // namespace puzzled::testing
