#include <gtest/gtest.h>

#include "client/failure.h"
#include "tests/client/fake_broker.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

class Export : public testing::Test {
 protected:
  void submit(FakeBroker& broker) {
    folder_.file("set/a.in", "3 2\n4 4\n0 0\n");
    folder_.file("set/empty.in", "0 0\n");
    folder_.file("set/sub/b.in", "5 3\n0 0\n");
    folder_.file("set/sub/c.in", "1 0\n1 1\n0 0\n");
    EXPECT_EQ(run_puzzlectl({"--endpoint", broker.endpoint(), "-q", "submit", "bishops", "-r",
                             folder_.path() + "/set"})
                  .exit_code,
              kExitOk);
  }
  Outcome run(const FakeBroker& broker, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--endpoint", broker.endpoint(), "export", "17", out_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_puzzlectl(arguments);
  }
  TemporaryFolder folder_;
  std::string out_ = folder_.path() + "/out";
};

TEST_F(Export, WritesOneFileForEach) {
  FakeBroker broker({.empty_pages = 0, .page_rows = 2});
  submit(broker);
  EXPECT_EQ(run(broker).exit_code, kExitOk);
  EXPECT_EQ(read_file(out_ + "/a.ans"), "26\n260\n");
  EXPECT_EQ(read_file(out_ + "/empty.ans"), "");
  EXPECT_EQ(read_file(out_ + "/sub/b.ans"), "1124\n");
  EXPECT_EQ(read_file(out_ + "/sub/c.ans"), "1\n1\n");
}

TEST_F(Export, OverwritesOnlyWithForce) {
  FakeBroker broker;
  submit(broker);
  folder_.file("out/sub/b.ans", "mine");
  const Outcome refused = run(broker);
  EXPECT_EQ(refused.exit_code, kExitInvalid);
  EXPECT_NE(refused.err.find("sub/b.ans already there; nothing was written"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(out_ + "/a.ans"));
  EXPECT_EQ(run(broker, {"--force"}).exit_code, kExitOk);
  EXPECT_EQ(read_file(out_ + "/sub/b.ans"), "1124\n");
}

TEST_F(Export, NamesIncompleteFilesAndSkipsThem) {
  FakeBroker broker;
  broker.stop();
  broker.spoil = [](proto::ResultRow& row) {
    if (row.label() == "a#2") {
      row.set_verdict(proto::TIME_LIMIT);
      row.clear_answer();
      row.set_has_answer(false);
    }
    if (row.label() == "sub/b#1") row.set_answer(std::string("\xff\xff", 2));
  };
  broker.start();
  submit(broker);
  const Outcome outcome = run(broker);
  EXPECT_EQ(outcome.exit_code, kExitVerdicts);
  EXPECT_NE(outcome.err.find("a.ans is not written: case 2 has no answer (TLE)"),
            std::string::npos);
  EXPECT_NE(outcome.err.find("sub/b.ans is not written: the answer of case 3 cannot be read"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(out_ + "/a.ans"));
  EXPECT_FALSE(std::filesystem::exists(out_ + "/sub/b.ans"));
  EXPECT_EQ(read_file(out_ + "/sub/c.ans"), "1\n1\n");
}

TEST_F(Export, NeverLeavesTheFolder) {
  for (const char* label : {"../evil", "/evil", "x/../../evil", "x/./y", ""}) {
    FakeBroker broker;
    submit(broker);
    broker.stop();
    broker.jobs().front().files.at(2).set_path(label);
    broker.start();
    const Outcome outcome = run(broker, {"--force"});
    if (std::string_view(label).empty()) {
      EXPECT_EQ(outcome.exit_code, kExitOk);  // "" + ".ans" is a name like any other.
      continue;
    }
    EXPECT_EQ(outcome.exit_code, kExitInvalid) << label;
    EXPECT_NE(outcome.err.find("cannot be a file name"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/evil.ans"));
    EXPECT_FALSE(std::filesystem::exists(out_ + "/a.ans"));
  }
}

}  // namespace
}  // namespace puzzled::client
