// Stands between two programs on Unix sockets and decides about each message of theirs: passed on,
// lost, said twice, or the connection breaks instead. It speaks ZeroMQ's wire format (ZMTP 3)
// itself and not through the library, so that one connection stays one connection, with its end.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace puzzled::testing {

class FrameProxy {
 public:
  enum class Way : std::uint8_t { kToBroker, kFromBroker };
  enum class Fate : std::uint8_t { kPass, kLose, kTwice, kCut };
  // Asked for each message, on the proxy's own thread, with the number of its connection (from 0).
  using Rule = std::function<Fate(Way way, int connection, std::string_view message)>;

  // What takes the place of a message that is passed on; none, one or several.
  using Rewrite = std::function<std::vector<std::string>(Way way, std::string_view message)>;

  // Listens at `front`, and connects to `back` for each connection that comes in; both are paths.
  FrameProxy(const std::filesystem::path& front, std::filesystem::path back, Rule rule,
             Rewrite rewrite = {});
  ~FrameProxy();
  FrameProxy(const FrameProxy&) = delete;
  FrameProxy& operator=(const FrameProxy&) = delete;

  [[nodiscard]] int connections() const { return connections_; }

 private:
  struct Stream {  // one direction of a connection
    int from = -1;
    int to = -1;
    std::string in;
    std::string out;
    std::size_t greeting_left = 64;  // bytes before the first frame
  };
  struct Link {
    int number = 0;
    Stream to_broker;
    Stream from_broker;
    bool broken = false;
  };

  void run();
  void accept_one();
  void serve(Link& link, Stream& stream, Way way, bool readable);
  void pass_frames(Link& link, Stream& stream, Way way);

  std::filesystem::path back_;
  Rule rule_;
  Rewrite rewrite_;
  int listener_ = -1;
  int stop_read_ = -1;
  int stop_write_ = -1;
  std::atomic<int> connections_{0};
  std::list<Link> links_;
  std::thread thread_;
};

}  // namespace puzzled::testing
