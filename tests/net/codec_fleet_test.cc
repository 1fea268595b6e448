// Labels, versions and the operator's requests between bytes and values; and peers of the next
// minor version, which say things that this one does not know.
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "daemon/net/codec.h"
#include "tests/net/frames.h"

namespace puzzled {
namespace {

constexpr PeerId kPeer{7};

std::string of_minor(std::string frame, int minor) {
  frame[6] = static_cast<char>(minor);
  return frame;
}

template <class Message>
void add_unknown_field(Message& message) {
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(9'999, 5);
}

message::Error error_of(const proto::ClientRequest& request) {
  const codec::ClientInput input = codec::decode_client(kPeer, test::frame(request), {});
  const auto* error = std::get_if<message::Error>(&input);
  EXPECT_NE(error, nullptr) << "was accepted: " << request.ShortDebugString().substr(0, 200);
  return error != nullptr ? *error : message::Error{};
}

std::string refusal_of(const std::string& frame) {
  const codec::WorkerInput input = codec::decode_worker(kPeer, frame, {});
  const auto* refused = std::get_if<message::Refused>(&input);
  EXPECT_NE(refused, nullptr) << "was accepted";
  return refused != nullptr ? refused->text : "";
}

template <class E>
E event_of(const codec::ClientInput& input) {
  return std::get<E>(std::get<Event>(input));
}

proto::ClientReply decoded(const std::string& frame) {
  proto::ClientReply reply;
  EXPECT_EQ(wire::decode(frame, wire::Role::kBroker, 64U << 20U, reply), wire::DecodeError::kNone);
  return reply;
}

void add_label(proto::Label& to, const std::string& key, const std::string& value) {
  to.set_key(key);
  to.set_value(value);
}

// ---- Requirements and labels.

TEST(FleetCodec, DecodesRequirementsInTheOrderOfTheirKeys) {
  auto request = test::open_job(1);
  proto::JobSpec& spec = *request.mutable_open_job()->mutable_spec();
  spec.set_solver_version("2");
  add_label(*spec.add_require(), "os", "linux");
  add_label(*spec.add_require(), "gpu", "a100");
  const auto open = event_of<event::OpenJob>(codec::decode_client(kPeer, test::frame(request), {}));
  EXPECT_EQ(open.spec.solver_version, "2");
  EXPECT_EQ(open.spec.require, (Labels{{"gpu", "a100"}, {"os", "linux"}}));
}

TEST(FleetCodec, RefusesRequirementsThatCannotBe) {
  const auto with = [](const std::string& key, const std::string& value) {
    auto request = test::open_job(1);
    proto::JobSpec& spec = *request.mutable_open_job()->mutable_spec();
    add_label(*spec.add_require(), "os", "linux");
    add_label(*spec.add_require(), key, value);
    return error_of(request).text;
  };
  EXPECT_NE(with("GPU", "1").find("require: 'GPU'"), std::string::npos);
  EXPECT_NE(with("gpu", "").find("1 to 200 bytes"), std::string::npos);
  EXPECT_NE(with("gpu", "a\nb").find("printable"), std::string::npos);
  EXPECT_NE(with("os", "bsd").find("given twice"), std::string::npos);
  auto many = test::open_job(1);
  for (int i = 0; i < 17; ++i) {
    add_label(*many.mutable_open_job()->mutable_spec()->add_require(), "k" + std::to_string(i),
              "v");
  }
  EXPECT_NE(error_of(many).text.find("more than 16"), std::string::npos);
  auto version = test::open_job(1);
  version.mutable_open_job()->mutable_spec()->set_solver_version(std::string(101, '1'));
  EXPECT_NE(error_of(version).text.find("solver_version"), std::string::npos);
}

TEST(FleetCodec, DecodesLabelsAndRefusesThoseThatCannotBe) {
  auto message = test::ready();
  add_label(*message.mutable_ready()->add_labels(), "gpu", "a100");
  const auto input = codec::decode_worker(kPeer, test::frame(message), {});
  const auto ready = std::get<event::WorkerReady>(std::get<Event>(input));
  EXPECT_EQ(ready.labels, (Labels{{"gpu", "a100"}}));
  add_label(*message.mutable_ready()->add_labels(), "gpu", "h100");
  EXPECT_NE(refusal_of(test::frame(message)).find("ready.labels: 'gpu' is given twice"),
            std::string::npos);
  auto many = test::ready();
  for (int i = 0; i < 65; ++i) {
    add_label(*many.mutable_ready()->add_labels(), "k" + std::to_string(i), "v");
  }
  EXPECT_NE(refusal_of(test::frame(many)).find("more than 64"), std::string::npos);
}

// ---- The operator.

TEST(FleetCodec, DecodesControlWorkers) {
  proto::ClientRequest request;
  request.set_id(3);
  request.mutable_control_workers()->set_action(proto::ControlWorkers::REMOVE);
  request.mutable_control_workers()->add_names("w1");
  request.mutable_control_workers()->add_names("node7-*");
  const auto control =
      event_of<event::ControlWorkers>(codec::decode_client(kPeer, test::frame(request), {}));
  EXPECT_EQ(control.peer, kPeer);
  EXPECT_EQ(control.request, 3U);
  EXPECT_EQ(control.action, event::WorkerAction::kRemove);
  EXPECT_EQ(control.patterns, (std::vector<std::string>{"w1", "node7-*"}));
  EXPECT_FALSE(control.all);
}

TEST(FleetCodec, RefusesControlWorkersThatCannotBe) {
  const auto with = [](auto change) {
    proto::ClientRequest request;
    request.set_id(3);
    request.mutable_control_workers()->set_action(proto::ControlWorkers::DRAIN);
    request.mutable_control_workers()->add_names("w1");
    change(*request.mutable_control_workers());
    return error_of(request).text;
  };
  EXPECT_NE(with([](auto& c) { c.clear_action(); }).find("action"), std::string::npos);
  EXPECT_NE(with([](auto& c) {
              c.set_action(static_cast<proto::ControlWorkers::Action>(9));
            }).find("action"),
            std::string::npos);
  EXPECT_NE(with([](auto& c) { c.clear_names(); }).find("names"), std::string::npos);
  EXPECT_NE(with([](auto& c) { c.set_all(true); }).find("names"), std::string::npos);
  EXPECT_NE(with([](auto& c) { c.add_names(""); }).find("1 to 200"), std::string::npos);
  EXPECT_NE(with([](auto& c) { c.add_names(std::string(201, 'w')); }).find("1 to 200"),
            std::string::npos);
  EXPECT_NE(with([](auto& c) {
              for (int i = 0; i < 21; ++i) c.add_names("w*");
            }).find("1000 and 20"),
            std::string::npos);
  EXPECT_NE(with([](auto& c) {
              for (int i = 0; i < 1'001; ++i) c.add_names("w");
            }).find("1000 and 20"),
            std::string::npos);
}

TEST(FleetCodec, EncodesWhatWasDone) {
  message::WorkersControlled done{
      .request = 4, .unknown = {"x"}, .workers = {}, .changed = 1, .unchanged = 2};
  done.workers.push_back({.name = "w1",
                          .host = "h",
                          .pid = 5,
                          .leases = 6,
                          .state = WorkerState::kDraining,
                          .changed = true});
  const auto reply = decoded(codec::encode(ClientMessage(done)));
  EXPECT_EQ(reply.id(), 4U);
  const proto::WorkersControlled& to = reply.workers_controlled();
  EXPECT_EQ(to.unknown(0), "x");
  EXPECT_EQ(to.workers(0).ShortDebugString(),
            "name: \"w1\" host: \"h\" pid: 5 leases: 6 state: DRAINING changed: true");
  EXPECT_EQ(to.changed(), 1U);
  EXPECT_EQ(to.unchanged(), 2U);
}

TEST(FleetCodec, EncodesStatesLabelsAndVersions) {
  WorkersPage page;
  WorkerView& view = page.workers.emplace_back();
  view.name = "w1";
  view.solvers = {"bishops/staircase"};
  view.solver_versions = {"2"};
  view.state = WorkerState::kDrained;
  view.labels = {{"gpu", "a100"}};
  const auto worker = decoded(codec::encode(1, page)).workers_page().workers(0);
  EXPECT_EQ(worker.state(), proto::DRAINED);
  EXPECT_EQ(worker.solver_versions(0), "2");
  EXPECT_EQ(worker.labels(0).value(), "a100");
  query::JobRow row;
  row.job = {9};
  row.spec.require = {{"gpu", "a100"}};
  row.spec.solver_version = "2";
  row.versions = {{"1", 7}, {"2", 3}};
  const auto status =
      decoded(codec::encode(1, query::Answer{row}, [](JobId) { return JobView{}; })).job_status();
  EXPECT_EQ(status.spec().require(0).key(), "gpu");
  EXPECT_EQ(status.spec().solver_version(), "2");
  EXPECT_EQ(status.versions(1).count(), 3U);
}

// ---- Neighbouring versions.

TEST(FleetCodec, APeerOfTheNextMinorVersionMaySayMore) {
  auto request = test::open_job(1);
  add_unknown_field(*request.mutable_open_job()->mutable_spec());
  add_unknown_field(request);
  const auto frame = of_minor(test::frame(request), wire::kMinor + 1);
  EXPECT_EQ(event_of<event::OpenJob>(codec::decode_client(kPeer, frame, {})).spec.name,
            "evening run");
  auto ready = test::ready();
  add_unknown_field(*ready.mutable_ready());
  const auto input =
      codec::decode_worker(kPeer, of_minor(test::frame(ready), wire::kMinor + 1), {});
  EXPECT_EQ(std::get<event::WorkerReady>(std::get<Event>(input)).name, "w1");
}

TEST(FleetCodec, AnUnknownRequestIsAnsweredAndSaysWhoIsTooOld) {
  proto::ClientRequest request;
  request.set_id(5);
  add_unknown_field(request);
  const auto input =
      codec::decode_client(kPeer, of_minor(test::frame(request), wire::kMinor + 1), {});
  const auto& error = std::get<message::Error>(input);
  EXPECT_EQ(error.request, 5U);
  EXPECT_EQ(error.code, message::ErrorCode::kUnsupportedVersion);
  EXPECT_NE(error.text.find("the client speaks protocol version 1.2 and this daemon"),
            std::string::npos)
      << error.text;
}

TEST(FleetCodec, AnUnknownMessageOfALaterWorkerIsASignOfLife) {
  proto::FromWorker message;
  add_unknown_field(message);
  const auto input =
      codec::decode_worker(kPeer, of_minor(test::frame(message), wire::kMinor + 1), {});
  EXPECT_EQ(std::get<event::WorkerSpoke>(std::get<Event>(input)).peer, kPeer);
  // Of this version it is nonsense.
  EXPECT_NE(refusal_of(test::frame(message)).find("nothing this daemon knows"), std::string::npos);
}

TEST(FleetCodec, APeerOfTheMinorVersionBeforeLacksWhatIsNew) {
  const auto open = event_of<event::OpenJob>(
      codec::decode_client(kPeer, of_minor(test::frame(test::open_job(1)), wire::kMinor - 1), {}));
  EXPECT_TRUE(open.spec.require.empty());
  const auto input =
      codec::decode_worker(kPeer, of_minor(test::frame(test::ready()), wire::kMinor - 1), {});
  EXPECT_TRUE(std::get<event::WorkerReady>(std::get<Event>(input)).labels.empty());
}

TEST(FleetCodec, FartherVersionsAreRefusedByNameAndWithAdvice) {
  const auto client =
      codec::decode_client(kPeer, of_minor(test::frame(test::open_job(1)), wire::kMinor + 2), {});
  const auto& error = std::get<message::Error>(client);
  EXPECT_EQ(error.code, message::ErrorCode::kUnsupportedVersion);
  EXPECT_NE(error.text.find("the client speaks protocol version 1.3 and this daemon (puzzled "),
            std::string::npos)
      << error.text;
  EXPECT_NE(error.text.find("upgrade this daemon"), std::string::npos) << error.text;
  const std::string worker = refusal_of(of_minor(test::frame(test::ready()), wire::kMinor + 2));
  EXPECT_NE(worker.find("the worker speaks protocol version 1.3"), std::string::npos) << worker;
  std::string major = test::frame(test::ready());
  major[5] = wire::kMajor - 1;
  EXPECT_NE(refusal_of(major).find("upgrade the worker"), std::string::npos);
}

}  // namespace
}  // namespace puzzled
