// Messages about canaries, generations and barred workers.
#include <gtest/gtest.h>

#include "daemon/net/codec.h"
#include "daemon/net/permission.h"
#include "proto/client.pb.h"
#include "proto/wire.h"

namespace puzzled {
namespace {

codec::ClientInput decode(const proto::ClientRequest& request) {
  return codec::decode_client(PeerId{7}, wire::encode(wire::Role::kClient, request),
                              CodecOptions{});
}

proto::ClientReply parse(const std::string& frame) {
  proto::ClientReply reply;
  EXPECT_EQ(wire::decode(frame, wire::Role::kBroker, 64U << 20U, reply), wire::DecodeError::kNone);
  return reply;
}

TEST(CanaryCodec, DecodesWhatTheOperatorAsks) {
  proto::ClientRequest request;
  request.set_id(3);
  request.mutable_mark_canary()->set_job(5);
  request.mutable_mark_canary()->set_off(true);
  codec::ClientInput input = decode(request);
  const auto mark = std::get<event::MarkCanary>(std::get<Event>(input));
  EXPECT_EQ(mark.peer, PeerId{7});
  EXPECT_EQ(mark.request, 3U);
  EXPECT_EQ(mark.job, JobId{5});
  EXPECT_TRUE(mark.off);
  EXPECT_EQ(role_for(input), Role::kOperate);
  request.mutable_admit_worker()->set_name("w");
  input = decode(request);
  EXPECT_EQ(std::get<event::AdmitWorker>(std::get<Event>(input)).name, "w");
  EXPECT_EQ(role_for(input), Role::kOperate);
  request.mutable_list_results()->set_job(1);
  request.mutable_list_results()->set_all_generations(true);
  EXPECT_TRUE(
      std::get<query::ListResults>(std::get<codec::Query>(decode(request)).query).all_generations);
}

TEST(CanaryCodec, RefusesWhatCannotBe) {
  proto::ClientRequest request;
  request.set_id(3);
  request.mutable_mark_canary();
  EXPECT_EQ(std::get<message::Error>(decode(request)).code, message::ErrorCode::kInvalidArgument);
  request.mutable_admit_worker()->set_name("\x1b[2J");
  EXPECT_EQ(std::get<message::Error>(decode(request)).code, message::ErrorCode::kInvalidArgument);
  request.mutable_admit_worker()->set_name(std::string(wire::kNameBytesMax + 1, 'n'));
  EXPECT_EQ(std::get<message::Error>(decode(request)).code, message::ErrorCode::kInvalidArgument);
}

TEST(CanaryCodec, EncodesTheReplies) {
  EXPECT_EQ(parse(codec::encode(message::CanaryMarked{4, {5}})).canary_marked().job(), 5U);
  EXPECT_EQ(parse(codec::encode(message::WorkerAdmitted{4, 2})).worker_admitted().count(), 2U);
  query::JobRow job;
  job.canary = true;
  job.revised = 6;
  const auto view = [](JobId) { return JobView{}; };
  const auto status = parse(codec::encode(1, query::Answer{job}, view)).job_status();
  EXPECT_TRUE(status.canary());
  EXPECT_EQ(status.revised(), 6U);
  query::CaseDetail detail;
  query::ResultRow row;
  row.generation = 2;
  detail.result = row;
  row.generation = 1;
  row.answer_left_out = true;
  detail.earlier.push_back(row);
  const auto shown = parse(codec::encode(1, query::Answer{detail}, view)).case_detail();
  EXPECT_EQ(shown.result().generation(), 2U);
  EXPECT_EQ(shown.earlier(0).generation(), 1U);
  EXPECT_TRUE(shown.earlier(0).answer_left_out() && !shown.result().answer_left_out());
}

TEST(CanaryCodec, EncodesWhoIsBarred) {
  WorkersPage page;
  page.workers.emplace_back().canaries_passed = 8;
  page.barred.push_back({.name = "w",
                         .host = "h",
                         .version = "1",
                         .puzzle = "bishops",
                         .solver = "staircase",
                         .solver_version = "2",
                         .barred_ms = 9,
                         .reason = "because"});
  const auto workers = parse(codec::encode(1, page)).workers_page();
  EXPECT_EQ(workers.workers(0).canaries_passed(), 8U);
  ASSERT_EQ(workers.barred_size(), 1);
  EXPECT_EQ(workers.barred(0).solver(), "bishops/staircase");
  EXPECT_EQ(workers.barred(0).solver_version(), "2");
  EXPECT_EQ(workers.barred(0).reason(), "because");
  codec::DaemonLoad load;
  load.barred_workers = 3;
  EXPECT_EQ(parse(codec::encode(1, codec::DaemonFacts{}, load)).version().load().barred_workers(),
            3U);
}

}  // namespace
}  // namespace puzzled
