#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <functional>

#include "daemon/net/codec.h"
#include "tests/net/frames.h"

namespace puzzled {
namespace {

constexpr PeerId kPeer{7};

codec::WorkerInput decode(const proto::FromWorker& message, const CodecOptions& options = {}) {
  return codec::decode_worker(kPeer, test::frame(message), options);
}

template <class E>
E event_of(const proto::FromWorker& message) {
  codec::WorkerInput input = decode(message);
  if (const auto* refused = std::get_if<message::Refused>(&input)) {
    ADD_FAILURE() << refused->text;
    return {};
  }
  E event = std::get<E>(std::get<Event>(input));
  EXPECT_EQ(event.peer, kPeer);
  return event;
}

void expect_refused(const proto::FromWorker& message, const std::string& part,
                    const CodecOptions& options = {}) {
  const codec::WorkerInput input = decode(message, options);
  const auto* refused = std::get_if<message::Refused>(&input);
  ASSERT_NE(refused, nullptr) << "was accepted: " << message.ShortDebugString().substr(0, 300);
  EXPECT_NE(refused->text.find(part), std::string::npos) << refused->text;
}

proto::CaseResultList one_result() {
  proto::CaseResultList list;
  proto::CaseResult& result = *list.add_results();
  result.set_position(3);
  result.set_verdict(proto::ACCEPTED);
  result.set_time_us(44);
  result.set_memory_bytes(55);
  result.set_answer("answer");
  result.set_has_answer(true);
  result.set_message("fine");
  return list;
}

TEST(WorkerCodec, DecodesReady) {
  auto message = test::ready();
  message.mutable_ready()->set_boot(4);
  message.mutable_ready()->add_leases(9);
  const auto ready = event_of<event::WorkerReady>(message);
  EXPECT_EQ(ready.start_id[0], 'w');
  EXPECT_EQ(ready.name, "w1");
  EXPECT_EQ(ready.host, "host");
  EXPECT_EQ(ready.pid, 17U);
  EXPECT_EQ(ready.slots, 1U);
  EXPECT_EQ(ready.capacity, 2U);
  ASSERT_EQ(ready.offers.size(), 1U);
  EXPECT_EQ(ready.offers[0].puzzle, "bishops");
  EXPECT_EQ(ready.offers[0].version, "7");
  EXPECT_EQ(ready.boot, Boot{4});
  EXPECT_EQ(ready.leases, std::vector{LeaseId{9}});
}

TEST(WorkerCodec, DecodesResultsAsViewsOfTheirBody) {
  proto::CaseResultList list = one_result();
  proto::CaseResult& plain = *list.add_results();
  plain.set_verdict(proto::TIME_LIMIT);
  const auto results = event_of<event::WorkerResults>(test::results(list, 1, 2, 3));
  EXPECT_EQ(results.boot, Boot{1});
  EXPECT_EQ(results.lease, LeaseId{2});
  EXPECT_EQ(results.attempt, 3U);
  ASSERT_EQ(results.results.results.size(), 2U);
  const CaseResult& first = results.results.results[0];
  EXPECT_EQ(first.position, 3U);
  EXPECT_EQ(first.verdict, Verdict::kAccepted);
  EXPECT_EQ(first.time_us, 44U);
  EXPECT_EQ(first.memory_bytes, 55U);
  EXPECT_TRUE(first.has_answer);
  EXPECT_EQ(first.answer, "answer");
  EXPECT_EQ(first.message, "fine");
  const std::string& body = *results.results.body;
  EXPECT_GE(first.answer.data(), body.data());
  EXPECT_LE(first.answer.data() + first.answer.size(), body.data() + body.size());
  EXPECT_FALSE(results.results.results[1].has_answer);
  EXPECT_EQ(results.results.results[1].position, 0U);
}

TEST(WorkerCodec, IgnoresFieldsOfALaterMinorVersion) {
  proto::CaseResultList list = one_result();
  proto::CaseResult* result = list.mutable_results(0);
  result->GetReflection()->MutableUnknownFields(result)->AddVarint(111, 42);
  const auto results = event_of<event::WorkerResults>(test::results(list, 1, 2, 3));
  EXPECT_EQ(results.results.results[0].answer, "answer");
}

TEST(WorkerCodec, DecodesTheOtherEvents) {
  proto::FromWorker message;
  proto::Return& back = *message.mutable_return_cases();
  back.set_lease(2);
  back.add_positions()->set_count(5);
  EXPECT_EQ(event_of<event::WorkerReturn>(message).positions[0].count, 5U);
  proto::WorkerHeartbeat& heartbeat = *message.mutable_heartbeat();
  heartbeat.set_boot(1);
  heartbeat.add_leases(6);
  heartbeat.add_slots()->set_progress(77);
  const auto beat = event_of<event::WorkerHeartbeat>(message);
  EXPECT_EQ(beat.leases, std::vector{LeaseId{6}});
  EXPECT_EQ(beat.slots[0].progress, 77U);
  message.mutable_goodbye()->set_reason("drained");
  EXPECT_EQ(event_of<event::WorkerGoodbye>(message).reason, "drained");
}

TEST(WorkerCodec, RefusesSpoiltReady) {
  const std::vector<std::pair<std::function<void(proto::Ready&)>, std::string>> rows = {
      {[](auto& r) { r.set_start_id("short"); }, "start_id"},
      {[](auto& r) { r.set_name(std::string(201, 'n')); }, "name"},
      {[](auto& r) { r.set_name("\x1b[31m"); }, "name"},
      {[](auto& r) { r.set_host("\xc3"); }, "host"},
      {[](auto& r) { r.set_version(std::string(101, 'v')); }, "version"},
      {[](auto& r) { r.set_slots(0); }, "slots"},
      {[](auto& r) { r.set_slots(UINT32_MAX); }, "slots"},
      {[](auto& r) { r.set_capacity(UINT32_MAX); }, "capacity"},
      {[](auto& r) { r.mutable_offers(0)->set_puzzle("B"); }, "offers"},
      {[](auto& r) { r.mutable_offers(0)->set_solver(""); }, "offers"},
      {[](auto& r) { r.mutable_offers(0)->set_version("a\tb"); }, "offers"},
      {[](auto& r) {
         for (int i = 0; i < 1001; ++i) *r.add_offers() = r.offers(0);
       },
       "too many"},
      {[](auto& r) {
         for (int i = 0; i < 100'001; ++i) r.add_leases(1);
       },
       "too many"},
  };
  for (const auto& [spoil, part] : rows) {
    auto message = test::ready();
    spoil(*message.mutable_ready());
    expect_refused(message, part);
  }
}

TEST(WorkerCodec, RefusesSpoiltResults) {
  const std::vector<std::pair<std::function<void(proto::CaseResult&)>, std::string>> rows = {
      {[](auto& r) { r.clear_verdict(); }, "verdict"},
      {[](auto& r) { r.set_verdict(static_cast<proto::Verdict>(12)); }, "verdict"},
      {[](auto& r) { r.set_verdict(static_cast<proto::Verdict>(-1)); }, "verdict"},
      {[](auto& r) { r.set_verdict(proto::CANCELLED); }, "CANCELLED"},
      {[](auto& r) { r.set_time_us(UINT64_MAX); }, "time"},
      {[](auto& r) { r.set_memory_bytes(UINT64_MAX); }, "memory"},
      {[](auto& r) { r.set_has_answer(false); }, "has_answer"},
      {[](auto& r) { r.set_message(std::string(1001, 'm')); }, "message"},
      {[](auto& r) { r.set_message("two\nlines"); }, "message"},
  };
  for (const auto& [spoil, part] : rows) {
    auto list = one_result();
    spoil(*list.mutable_results(0));
    expect_refused(test::results(list, 1, 2, 3), part);
  }
  CodecOptions small;
  small.answer_bytes_max = 3;
  expect_refused(test::results(one_result(), 1, 2, 3), "answer", small);
  auto message = test::results(one_result(), 1, 2, 3);
  message.mutable_results()->mutable_results()->pop_back();
  expect_refused(message, "results");
  message.mutable_results()->set_results("\x12\x01x");  // another field
  expect_refused(message, "results");
  message.mutable_results()->set_results("\x0a\x02\x08\x80");  // a number cut off inside a result
  expect_refused(message, "results");
}

// Tags and lengths of more than five bytes and fields with the number 0 are not protobuf, though
// CodedInputStream reads them.
TEST(WorkerCodec, RefusesResultsThatProtobufRefuses) {
  const std::string result = one_result().results(0).SerializeAsString();
  const auto list = [](const std::string& one) {
    std::string bytes;
    wire::append_case(one, bytes);  // a list of results has the form of a list of cases
    return bytes;
  };
  std::string long_length = list("");
  long_length.replace(1, 1, std::string("\x80\x80\x80\x80\x80\x00", 6));
  const std::string six("\x80\x80\x80\x80\x00", 5);
  for (const std::string& bytes : {
           list(result + '\xf8' + six + '\x01'),   // an unknown field's tag
           list(result + "\x2a\x81" + six + 'x'),  // the answer's length
           list(result + "\x7a\x81" + six + 'x'),  // an unknown field's length
           list("\x88" + six + '\x01' + result),   // the position's tag
           list(result + "\x02\x01x"),             // a field with the number 0
           "\x8a" + six + list(result).substr(1),  // the list's tag
           long_length,                            // the list's length
       }) {
    proto::CaseResultList parsed;
    EXPECT_FALSE(parsed.ParseFromString(bytes));
    auto message = test::results(one_result(), 1, 2, 3);
    message.mutable_results()->set_results(bytes);
    expect_refused(message, "results");
  }
}

TEST(WorkerCodec, RefusesTheOtherFieldsOutOfRange) {
  proto::FromWorker message;
  expect_refused(message, "newer");
  message.mutable_return_cases()->add_positions();
  expect_refused(message, "range");
  message.mutable_return_cases()->mutable_positions(0)->set_first(UINT32_MAX);
  message.mutable_return_cases()->mutable_positions(0)->set_count(2);
  expect_refused(message, "range");
  message.mutable_heartbeat()->set_capacity(UINT32_MAX);
  expect_refused(message, "heartbeat");
  message.mutable_goodbye()->set_reason("\x07");
  expect_refused(message, "goodbye");
}

proto::ToWorker parse(const WorkerMessage& what) {
  proto::ToWorker out;
  const std::string frame = codec::encode(what);
  EXPECT_EQ(static_cast<int>(wire::decode(frame, wire::Role::kBroker, 64U << 20U, out)), 0);
  return out;
}

TEST(WorkerCodec, JoinsSlicesIntoADispatch) {
  const auto chunk = [](const std::vector<std::string>& instances) {
    proto::CaseList list;
    for (const std::string& instance : instances) list.add_cases()->set_instance(instance);
    auto cases = std::make_shared<ChunkCases>();
    cases->bytes = list.SerializeAsString();
    cases->offsets = *wire::split_cases(cases->bytes);
    return ChunkCasesPtr(cases);
  };
  message::Dispatch dispatch;
  dispatch.boot = {1};
  dispatch.lease = {2};
  dispatch.attempt = 3;
  dispatch.job = {4};
  dispatch.spec = std::make_shared<JobSpec>(JobSpec{"", "bishops", "staircase", 0, {5, 6, 7}});
  dispatch.alone = true;
  dispatch.slices = {{chunk({"a", "b", "c"}), 1, 2}, {chunk({"d", "e"}), 0, 1}};
  const proto::Dispatch out = parse(dispatch).dispatch();
  EXPECT_EQ(out.boot(), 1U);
  EXPECT_EQ(out.lease(), 2U);
  EXPECT_EQ(out.attempt(), 3U);
  EXPECT_EQ(out.job(), 4U);
  EXPECT_EQ(out.puzzle(), "bishops");
  EXPECT_EQ(out.solver(), "staircase");
  EXPECT_EQ(out.limits().time_limit_us(), 5U);
  EXPECT_EQ(out.limits().memory_limit_bytes(), 6U);
  EXPECT_EQ(out.limits().answer_bytes_max(), 7U);
  EXPECT_TRUE(out.alone());
  EXPECT_EQ(out.case_count(), 3U);
  proto::CaseList list;
  ASSERT_TRUE(list.ParseFromString(out.cases()));
  ASSERT_EQ(list.cases_size(), 3);
  EXPECT_EQ(list.cases(0).instance() + list.cases(1).instance() + list.cases(2).instance(), "bcd");
}

TEST(WorkerCodec, EncodesTheOtherMessages) {
  EXPECT_EQ(parse(message::Welcome{{1}, 2, 3}).welcome().liveness_ms(), 3U);
  EXPECT_EQ(parse(message::Stored{{1}, {2}, 3}).stored().part(), 3U);
  EXPECT_EQ(parse(message::Stale{{1}, {2}}).stale().lease(), 2U);
  EXPECT_EQ(parse(message::Revoke{{1}, {{2}, {3}}}).revoke().leases_size(), 2);
  EXPECT_TRUE(parse(message::Drain{}).has_drain());
  EXPECT_EQ(parse(message::Heartbeat{{8}}).heartbeat().boot(), 8U);
  EXPECT_EQ(parse(message::Refused{"too old"}).refused().message(), "too old");
}

}  // namespace
}  // namespace puzzled
