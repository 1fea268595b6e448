#include "client/scaler/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "client/failure.h"
#include "tests/client/fake_broker.h"

namespace puzzled::scaler {
namespace {

using ::testing::HasSubstr;

struct Enough : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Has no allocations, and ends the loop when it has been asked `looks` times.
class EmptyEngine : public Engine {
 public:
  explicit EmptyEngine(int looks) : looks_(looks) {}
  std::variant<std::vector<std::string>, EngineError> submit(std::uint32_t) override {
    return EngineError{"none is to be had"};
  }
  std::variant<std::vector<Allocation>, EngineError> list() override {
    if (--looks_ == 0) throw Enough("enough");
    return std::vector<Allocation>();
  }
  std::optional<EngineError> end(const std::vector<std::string>&, How) override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> allocation_of(std::string_view) const override {
    return std::nullopt;
  }

 private:
  int looks_;
};

void refuse(proto::ClientReply& reply) {
  proto::Error& error = *reply.mutable_error();
  error.set_code(proto::UNAVAILABLE);
  error.set_message("as many connections as it allows");
}

Options options_of(const client::FakeBroker& broker) {
  Options options;
  options.connection.endpoints = {broker.endpoint()};
  options.interval_ms = 1;
  return options;
}

TEST(Loop, ADaemonThatRefusesFromTheBeginningEndsIt) {
  client::FakeBroker broker;
  broker.stop();
  broker.spoil_reply = refuse;
  broker.start();
  const Options options = options_of(broker);
  EmptyEngine engine(1);
  try {
    Loop(options, engine).run();
    ADD_FAILURE() << "it goes on";
  } catch (const client::Failure& failure) {
    EXPECT_EQ(failure.exit_code(), client::kExitRefused);
    EXPECT_THAT(failure.what(), HasSubstr("as many connections"));
  }
}

TEST(Loop, ARefusalPassesOnceItHasAnswered) {
  client::FakeBroker broker;
  broker.stop();
  int demands = 0;
  broker.spoil_reply = [&](proto::ClientReply& reply) {
    if (!reply.has_demand()) return;
    ++demands;
    if (demands >= 2 && demands <= 4) refuse(reply);
  };
  broker.start();
  const Options options = options_of(broker);
  EmptyEngine engine(3);
  EXPECT_THROW(Loop(options, engine).run(), Enough);
  broker.stop();
  EXPECT_EQ(demands, 6) << "three refused; the engine was asked after each of the others";
}

}  // namespace
}  // namespace puzzled::scaler
