// Messages about reuse of answers.
#include <gtest/gtest.h>

#include "daemon/net/codec.h"
#include "proto/client.pb.h"
#include "proto/worker.pb.h"
#include "tests/net/frames.h"

namespace puzzled {
namespace {

codec::ClientInput decode(const proto::ClientRequest& request) {
  return codec::decode_client(PeerId{7}, wire::encode(wire::Role::kClient, request),
                              CodecOptions{});
}

codec::WorkerInput decode(const proto::CaseResultList& list) {
  return codec::decode_worker(
      PeerId{7}, wire::encode(wire::Role::kWorker, test::results(list, 1, 2, 1)), CodecOptions{});
}

template <class Envelope>
Envelope parse(const std::string& frame) {
  Envelope envelope;
  EXPECT_EQ(wire::decode(frame, wire::Role::kBroker, 64U << 20U, envelope),
            wire::DecodeError::kNone);
  return envelope;
}

TEST(ReuseCodec, AJobMaySayNo) {
  proto::ClientRequest request = test::open_job(1);
  EXPECT_FALSE(std::get<event::OpenJob>(std::get<Event>(decode(request))).spec.no_cache);
  request.mutable_open_job()->mutable_spec()->set_no_cache(true);
  EXPECT_TRUE(std::get<event::OpenJob>(std::get<Event>(decode(request))).spec.no_cache);
}

TEST(ReuseCodec, ChunksComeWithKeysOrWithout) {
  proto::ClientRequest request = test::add_chunk(1, {"one", "two"});
  EXPECT_EQ(std::get<event::AddChunk>(std::get<Event>(decode(request))).keys, "");
  const std::string keys(2 * kAnswerKeyBytes, 'k');
  request.mutable_add_chunk()->set_keys(keys);
  EXPECT_EQ(std::get<event::AddChunk>(std::get<Event>(decode(request))).keys, keys);
  for (const std::size_t bytes : {1U, 16U, 33U, 48U}) {
    request.mutable_add_chunk()->set_keys(std::string(bytes, 'k'));
    EXPECT_EQ(std::get<message::Error>(decode(request)).code, message::ErrorCode::kInvalidArgument)
        << bytes;
  }
}

TEST(ReuseCodec, ResultsHaveKeys) {
  proto::CaseResultList list;
  proto::CaseResult& one = *list.add_results();
  one.set_verdict(proto::SOLVED);
  one.set_key(std::string(kAnswerKeyBytes, 'k'));
  one.set_cached(true);
  proto::CaseResult& other = *list.add_results();
  other.set_position(1);
  other.set_verdict(proto::SOLVED);
  const auto input = decode(list);
  const auto& results = std::get<event::WorkerResults>(std::get<Event>(input)).results.results;
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].key, std::string(kAnswerKeyBytes, 'k'));
  EXPECT_TRUE(results[0].cached);
  EXPECT_EQ(results[1].key, "");
  EXPECT_FALSE(results[1].cached);
  list.mutable_results(1)->set_key("short");
  EXPECT_TRUE(std::holds_alternative<message::Refused>(decode(list)));
}

TEST(ReuseCodec, RepliesAndDispatchesSayWhetherKeysAreWanted) {
  const auto opened = [](bool wanted) {
    return parse<proto::ClientReply>(codec::encode(
        message::JobOpened{.request = 1, .job = {2}, .digest = 0, .keys_wanted = wanted}));
  };
  EXPECT_TRUE(opened(true).job_opened().keys_wanted());
  EXPECT_FALSE(opened(false).job_opened().keys_wanted());
  EXPECT_TRUE(parse<proto::ClientReply>(
                  codec::encode(message::ChunkAccepted{.request = 1, .keys_wanted = true}))
                  .chunk_accepted()
                  .keys_wanted());
  message::Dispatch dispatch;
  dispatch.spec = std::make_shared<const JobSpec>();
  EXPECT_FALSE(
      parse<proto::ToWorker>(codec::encode(WorkerMessage{dispatch})).dispatch().keys_wanted());
  dispatch.keys_wanted = true;
  EXPECT_TRUE(
      parse<proto::ToWorker>(codec::encode(WorkerMessage{dispatch})).dispatch().keys_wanted());
}

TEST(ReuseCodec, PeopleSeeWhatWasKnown) {
  query::JobRow job;
  job.cached_count = 6;
  job.spec.no_cache = true;
  const auto view = [](JobId) { return JobView{}; };
  const auto status =
      parse<proto::ClientReply>(codec::encode(1, query::Answer{job}, view)).job_status();
  EXPECT_EQ(status.cached_count(), 6U);
  EXPECT_TRUE(status.spec().no_cache());
  query::ResultsPage page;
  page.rows.emplace_back().cached = true;
  EXPECT_TRUE(parse<proto::ClientReply>(codec::encode(1, query::Answer{page}, view))
                  .results_page()
                  .rows(0)
                  .cached());
}

}  // namespace
}  // namespace puzzled
