#include "workers/host/codec.h"

#include <gtest/gtest.h>

#include "proto/wire.h"
#include "proto/worker.pb.h"

namespace puzzled::host {
namespace {

proto::FromWorker round_trip(const Message& message) {
  Identity identity;
  identity.name = "n";
  identity.slots = 3;
  proto::FromWorker out;
  const std::string frame = encode_message(identity, message);
  EXPECT_EQ(wire::decode(frame, wire::Role::kWorker, wire::kMessageBytesMax, out),
            wire::DecodeError::kNone);
  return out;
}

std::variant<Event, std::string> read(const proto::ToWorker& message) {
  return decode_frame(wire::encode(wire::Role::kBroker, message));
}

template <class T>
T read_as(const proto::ToWorker& message) {
  return std::get<T>(std::get<Event>(read(message)));
}

proto::ToWorker good_dispatch() {
  proto::ToWorker message;
  proto::Dispatch& d = *message.mutable_dispatch();
  d.set_boot(2);
  d.set_lease(3);
  d.set_attempt(4);
  d.set_puzzle("duel");
  d.set_solver("sweep");
  d.mutable_limits()->set_time_limit_us(5);
  d.mutable_limits()->set_memory_limit_bytes(6);
  d.mutable_limits()->set_answer_bytes_max(7);
  d.set_alone(true);
  d.set_case_count(2);
  wire::append_case("", *d.mutable_cases());
  wire::append_case("", *d.mutable_cases());
  return message;
}

TEST(Codec, WritesEveryMessage) {
  const auto ready = round_trip(message::Ready{5, Boot{2}, {LeaseId{8}, LeaseId{9}}}).ready();
  EXPECT_EQ(ready.capacity(), 5U);
  EXPECT_EQ(ready.slots(), 3U);
  EXPECT_EQ(ready.boot(), 2U);
  EXPECT_EQ(ready.leases_size(), 2);
  EXPECT_GT(ready.offers_size(), 0);
  const auto bytes = std::make_shared<const std::string>("abc");
  const auto results =
      round_trip(message::Results{Boot{1}, LeaseId{2}, 3, 4, bytes, 5, 6}).results();
  EXPECT_EQ(results.results(), "abc");
  EXPECT_EQ(results.part(), 4U);
  EXPECT_EQ(results.busy_us(), 5U);
  const auto back = round_trip(message::Return{Boot{1}, LeaseId{2}, 3, {{4, 5}}, 6}).return_cases();
  EXPECT_EQ(back.positions(0).first(), 4U);
  EXPECT_EQ(back.positions(0).count(), 5U);
  const auto beat =
      round_trip(message::Heartbeat{Boot{1}, {LeaseId{2}}, {{LeaseId{2}, 3, 4}}, 5}).heartbeat();
  EXPECT_EQ(beat.slots(0).position(), 3U);
  EXPECT_EQ(beat.slots(0).progress(), 4U);
  EXPECT_EQ(round_trip(message::Goodbye{"idle"}).goodbye().reason(), "idle");
}

TEST(Codec, ReadsEveryMessage) {
  proto::ToWorker m;
  m.mutable_welcome()->set_boot(3);
  m.mutable_welcome()->set_liveness_ms(9);
  EXPECT_EQ(read_as<event::Welcome>(m).boot, Boot{3});
  EXPECT_EQ(read_as<event::Welcome>(m).liveness_ms, 9U);
  m.mutable_stored()->set_part(2);
  EXPECT_EQ(read_as<event::Stored>(m).part, 2U);
  m.mutable_stale()->set_lease(4);
  EXPECT_EQ(read_as<event::Stale>(m).lease, LeaseId{4});
  m.mutable_revoke()->add_leases(5);
  EXPECT_EQ(read_as<event::Revoke>(m).leases, std::vector<LeaseId>{LeaseId{5}});
  m.mutable_heartbeat()->set_boot(6);
  EXPECT_EQ(read_as<event::BrokerHeartbeat>(m).boot, Boot{6});
  m.mutable_refused()->set_message("no");
  EXPECT_EQ(read_as<event::Refused>(m).text, "no");
  m.mutable_refused()->set_message("no\x1b[2J\n");  // it is logged, perhaps on a terminal
  EXPECT_EQ(read_as<event::Refused>(m).text, "no\\x1b[2J\\x0a");
  m.mutable_drain();
  read_as<event::Drain>(m);
  const DispatchPtr d = read_as<event::Dispatched>(good_dispatch()).dispatch;
  EXPECT_EQ(d->puzzle, "duel");
  EXPECT_EQ(d->attempt, 4U);
  EXPECT_EQ(d->limits.memory_limit_bytes, 6U);
  EXPECT_TRUE(d->alone);
  EXPECT_EQ(d->case_count, 2U);
}

TEST(Codec, RefusesWhatTheContractDoesNotAllow) {
  const auto refused = [](const proto::ToWorker& m) {
    return std::holds_alternative<std::string>(read(m));
  };
  EXPECT_TRUE(refused(proto::ToWorker{}));
  proto::ToWorker m = good_dispatch();
  m.mutable_dispatch()->set_case_count(3);
  EXPECT_TRUE(refused(m));
  m = good_dispatch();
  m.mutable_dispatch()->set_cases("not cases");
  EXPECT_TRUE(refused(m));
  m = good_dispatch();
  m.mutable_dispatch()->mutable_limits()->set_time_limit_us(0);
  EXPECT_TRUE(refused(m));
  m = good_dispatch();
  m.mutable_dispatch()->set_case_count(0);
  m.mutable_dispatch()->clear_cases();
  EXPECT_TRUE(refused(m));
  EXPECT_TRUE(std::holds_alternative<std::string>(decode_frame("PZLD")));
  EXPECT_TRUE(std::holds_alternative<std::string>(
      decode_frame(wire::encode(wire::Role::kClient, good_dispatch()))));
}

}  // namespace
}  // namespace puzzled::host
