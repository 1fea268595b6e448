// 200 clients that list results, page after page without a pause, while a job is uploaded and
// graded: the write-ahead log stays small, and nobody is held up. PUZZLED_LONG=1: with the daemon's
// usual limits, and much more to write.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "tests/net/running_daemon.h"

namespace puzzled {
namespace {

using test::ScriptedClient;
using test::ScriptedWorker;

constexpr std::size_t kReaders = 200;
constexpr std::uint32_t kCases = 250;  // of a chunk, a kilobyte each
constexpr std::uint64_t kUnacknowledged = 8;

class Readers {
 public:
  Readers(const std::string& endpoint, std::uint64_t job) : job_(job), after_(kReaders, 0) {
    for (std::size_t i = 0; i < kReaders; ++i) {
      zmq::socket_t& socket = sockets_.emplace_back(context_, zmq::socket_type::dealer);
      socket.set(zmq::sockopt::linger, 0);
      socket.connect(endpoint);
      items_.push_back({socket.handle(), 0, ZMQ_POLLIN, 0});
      ask(i);
    }
  }
  // Takes the pages that are there and asks for the next ones.
  void turn() {
    zmq::poll(items_, std::chrono::milliseconds(1));
    for (std::size_t i = 0; i < kReaders; ++i) {
      zmq::message_t frame;
      while (sockets_[i].recv(frame, zmq::recv_flags::dontwait)) take(i, frame);
    }
  }
  [[nodiscard]] std::uint64_t pages() const { return pages_; }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }

 private:
  void ask(std::size_t i) {
    proto::ClientRequest request;
    request.set_id(i);
    request.mutable_list_results()->set_job(job_);
    request.mutable_list_results()->set_after_case(after_[i]);
    request.mutable_list_results()->set_limit(10'000);
    sockets_[i].send(zmq::buffer(test::frame(request)), zmq::send_flags::none);
  }
  void take(std::size_t i, const zmq::message_t& frame) {
    proto::ClientReply reply;
    ASSERT_EQ(wire::decode(frame.to_string_view(), wire::Role::kBroker, 64U << 20U, reply),
              wire::DecodeError::kNone);
    errors_ += reply.has_error() ? 1 : 0;
    after_[i] = reply.results_page().more() ? reply.results_page().next_after() : 0;
    ++pages_;
    ask(i);
  }

  const std::uint64_t job_;
  zmq::context_t context_;
  std::vector<zmq::socket_t> sockets_;
  std::vector<zmq::pollitem_t> items_;
  std::vector<std::uint64_t> after_;
  std::uint64_t pages_ = 0;
  std::uint64_t errors_ = 0;
};

TEST(ReadersTest, TwoHundredReadersAndSteadyWrites) {
  const bool is_long = std::getenv("PUZZLED_LONG") != nullptr;
  test::DaemonSettings settings;
  if (!is_long) {
    settings.store.wal_bytes_max = 12U << 20U;
    settings.store.checkpoint_wal_bytes = 2U << 20U;
  }
  const std::uint64_t chunks = is_long ? 800 : 80;
  const test::Folder folder;
  test::RunningDaemon daemon(folder.path(), settings);
  ScriptedClient client(daemon.client_endpoint());
  const std::uint64_t job = client.ask(test::open_job(1)).job_opened().job();
  std::thread grading([&] {
    ScriptedWorker worker(daemon.worker_endpoint());
    worker.send(test::frame(test::ready()));
    worker.wait_for(proto::ToWorker::kWelcome);
    worker.grade_all(static_cast<std::uint32_t>(chunks * kCases));
    worker.wait_for(proto::ToWorker::kStored);
  });

  Readers readers(daemon.client_endpoint(), job);
  const std::vector<std::string> instances(kCases, std::string(1'000, 'x'));
  std::uint64_t sent = 0;
  std::uint64_t accepted = 0;
  std::uint64_t done = 0;
  std::uint64_t peak = 0;
  bool asked = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(8);
  while (done < chunks * kCases) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline)
        << "only " << done << " cases are done, " << accepted << " of " << sent
        << " chunks accepted";
    readers.turn();
    std::error_code none_yet;
    const auto bytes = std::filesystem::file_size(folder.path() + "/puzzled.db-wal", none_yet);
    if (!none_yet) peak = std::max<std::uint64_t>(peak, bytes);
    while (sent < chunks && sent - accepted < kUnacknowledged) {
      client.send(test::frame(test::add_chunk(
          100 + sent, instances, 'a', static_cast<std::uint32_t>(sent), 1 + sent * kCases)));
      ++sent;
    }
    if (accepted == chunks && !std::exchange(asked, true)) {
      proto::ClientRequest status;
      status.set_id(1);
      status.mutable_get_job()->set_job(job);
      client.send(test::frame(status));
    }
    while (!client.is_silent_for(0)) {
      const auto reply = client.reply();
      if (reply.has_job_status()) {
        done = reply.job_status().done_count();
        asked = false;
      } else {
        ASSERT_TRUE(reply.has_chunk_accepted()) << reply.ShortDebugString();
        ++accepted;
      }
    }
  }
  grading.join();
  std::printf("%llu pages; the write-ahead log was at most %.1f of %.0f MiB\n",
              static_cast<unsigned long long>(readers.pages()),
              static_cast<double>(peak) / (1U << 20U),
              static_cast<double>(settings.store.wal_bytes_max) / (1U << 20U));
  EXPECT_EQ(readers.errors(), 0U);
  EXPECT_GE(readers.pages(), kReaders);
  EXPECT_LT(peak, settings.store.wal_bytes_max);
}

}  // namespace
}  // namespace puzzled
