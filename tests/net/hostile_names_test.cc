// Names and texts that others choose: what cannot be shown or kept is refused with a code, the rest
// is kept as it is and means nothing.
#include <gtest/gtest.h>

#include "daemon/net/fields.h"
#include "tests/net/running_daemon.h"

namespace puzzled {
namespace {

using namespace std::string_literals;
using test::ScriptedClient;
using test::ScriptedWorker;

// Not printable, or not UTF-8, or longer than any text may be.
std::vector<std::string> unfit_texts() {
  return {"nul\0byte"s, "\x1b[2J",      "bell\x07",    "two\nlines",
          "c1\xc2\x9b", "\xe2\x80\xae", "raw\xff\xfe", std::string(10'000, 'x'),
          "\x7f"};
}
// Printable, and harmless as long as nobody takes them for more than text.
std::vector<std::string> odd_texts() {
  return {"../../../etc/passwd", "/etc/passwd", "'; DROP TABLE jobs; --",
          "%s%n{}{0}",           "$(reboot)",   "<script>alert(1)</script>",
          "\"quoted\", and\\",   "*?[a-z]",     "Grüße 😀"};
}

class HostileNames : public testing::Test {
 protected:
  proto::Error error_of(const proto::ClientRequest& request) {
    const proto::ClientReply reply = client_.ask(request);
    EXPECT_EQ(reply.id(), request.id());
    EXPECT_TRUE(reply.has_error()) << reply.ShortDebugString();
    EXPECT_TRUE(codec::is_printable(reply.error().message())) << reply.error().message();
    EXPECT_LT(reply.error().message().size(), 300U);
    return reply.error();
  }
  void expect_invalid(const proto::ClientRequest& request) {
    EXPECT_EQ(error_of(request).code(), proto::INVALID_ARGUMENT) << request.ShortDebugString();
  }
  // Every good request still gets its reply.
  void expect_service() { EXPECT_TRUE(client_.ask(test::open_job(99, 'z')).has_job_opened()); }

  test::Folder folder_;
  test::RunningDaemon daemon_{folder_.path()};
  ScriptedClient client_{daemon_.client_endpoint()};
};

TEST_F(HostileNames, UnfitTextsOfClientsAreRefused) {
  client_.ask(test::open_job(1));
  for (const std::string& text : unfit_texts()) {
    auto open = test::open_job(2, 'n');
    open.mutable_open_job()->mutable_spec()->set_name(text);
    expect_invalid(open);
    auto chunk = test::add_chunk(3, {"one"});
    chunk.mutable_add_chunk()->mutable_files(0)->set_path(text);
    test::hash_chunk(*chunk.mutable_add_chunk());
    expect_invalid(chunk);
    proto::ClientRequest request;
    request.set_id(4);
    request.mutable_cancel_job()->set_job(1);
    request.mutable_cancel_job()->set_reason(text);
    expect_invalid(request);
    request.mutable_list_results()->set_job(1);
    request.mutable_list_results()->set_label_glob(text);
    expect_invalid(request);
  }
  expect_service();
}

TEST_F(HostileNames, RoutingNamesAreWordsOnly) {
  std::vector<std::string> texts = odd_texts();
  for (const std::string& text : unfit_texts()) texts.push_back(text);
  for (const std::string& text : texts) {
    for (const bool puzzle : {true, false}) {
      auto open = test::open_job(2, 'n');
      proto::JobSpec& spec = *open.mutable_open_job()->mutable_spec();
      puzzle ? spec.set_puzzle(text) : spec.set_solver(text);
      const proto::Error error = client_.ask(open).error();
      // What is not UTF-8 is no request at all.
      EXPECT_TRUE(error.code() == proto::INVALID_ARGUMENT || error.code() == proto::MALFORMED);
    }
  }
  expect_service();
}

TEST_F(HostileNames, OddTextsAreKeptAsTheyAre) {
  for (std::size_t i = 0; i < odd_texts().size(); ++i) {
    const std::string text = odd_texts()[i];
    const char id = static_cast<char>('A' + i);
    auto open = test::open_job(1, id);
    open.mutable_open_job()->mutable_spec()->set_name(text);
    const std::uint64_t job = client_.ask(open).job_opened().job();
    ASSERT_GT(job, 0U) << text;
    auto chunk = test::add_chunk(2, {"one"}, id);
    chunk.mutable_add_chunk()->mutable_files(0)->set_path(text);
    test::hash_chunk(*chunk.mutable_add_chunk());
    EXPECT_TRUE(client_.ask(chunk).has_chunk_accepted()) << text;

    proto::ClientRequest request;
    request.set_id(3);
    request.mutable_list_files()->set_job(job);
    EXPECT_EQ(client_.ask(request).files_page().files(0).path(), text);
    request.mutable_list_results()->set_job(job);
    request.mutable_list_results()->set_label_glob(text);
    EXPECT_TRUE(client_.ask(request).has_results_page()) << text;
    request.mutable_cancel_job()->set_job(job);
    request.mutable_cancel_job()->set_reason(text);
    EXPECT_TRUE(client_.ask(request).has_job_cancelled()) << text;
    request.mutable_get_job()->set_job(job);
    const auto status = client_.ask(request).job_status();
    EXPECT_EQ(status.spec().name(), text);
    EXPECT_EQ(status.cancel_reason(), text);
  }
  expect_service();
}

TEST_F(HostileNames, UnfitTextsOfWorkersAreRefused) {
  const std::vector<std::function<void(proto::Ready&, const std::string&)>> fields = {
      [](proto::Ready& ready, const std::string& text) { ready.set_name(text); },
      [](proto::Ready& ready, const std::string& text) { ready.set_host(text); },
      [](proto::Ready& ready, const std::string& text) { ready.set_version(text); },
      [](proto::Ready& ready, const std::string& text) {
        ready.mutable_offers(0)->set_version(text);
      },
      [](proto::Ready& ready, const std::string& text) {
        ready.mutable_offers(0)->set_solver(text);
      },
  };
  for (const std::string& text : unfit_texts()) {
    for (const auto& set : fields) {
      ScriptedWorker worker(daemon_.worker_endpoint());
      auto ready = test::ready();
      set(*ready.mutable_ready(), text);
      worker.send(test::frame(ready));
      const auto refused = worker.wait_for(proto::ToWorker::kRefused).refused();
      EXPECT_TRUE(codec::is_printable(refused.message()) && !refused.message().empty());
    }
    ScriptedWorker worker(daemon_.worker_endpoint());
    proto::FromWorker goodbye;
    goodbye.mutable_goodbye()->set_reason(text);
    worker.send(test::frame(goodbye));
    worker.wait_for(proto::ToWorker::kRefused);
    proto::CaseResultList list;
    list.add_results()->set_verdict(proto::CRASHED);
    list.mutable_results(0)->set_message(text);
    worker.send(test::frame(test::results(list, 1, 1, 1)));
    worker.wait_for(proto::ToWorker::kRefused);
  }
  expect_service();
}

}  // namespace
}  // namespace puzzled
