// The include rules and the checkable part of the house style, on this tree and, to show that they
// can fail, on a made-up one.
#include "tests/layers/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace puzzled::layers {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const fs::path kRoot = PUZZLED_SOURCE_DIR;

TEST(Layers, IncludesFollowTheTable) { EXPECT_THAT(include_violations(kRoot, kRules), IsEmpty()); }

TEST(Layers, SourcesFollowTheHouseStyle) { EXPECT_THAT(style_violations(kRoot), IsEmpty()); }

TEST(Layers, EveryRowOfTheTableIsUsed) { EXPECT_THAT(idle_rules(kRoot, kRules), IsEmpty()); }

class MadeUpTree : public ::testing::Test {
 protected:
  MadeUpTree() : root_(fs::path(::testing::TempDir()) / unique_name()) {}
  ~MadeUpTree() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  // A source file that includes exactly `header`.
  std::vector<std::string> including(const std::string& path, const std::string& header) {
    write(path, "#include \"" + header + "\"\n");
    return include_violations(root_, kRules);
  }

  fs::path root_;

 private:
  static std::string unique_name() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return std::string("layers_") + test->name() + "_" + std::to_string(::getpid());
  }
};

TEST_F(MadeUpTree, AcceptsWhatTheTableAllows) {
  write("daemon/broker/broker.cc",
        "#include \"daemon/broker/broker.h\"\n#include <map>\n#include \"proto/base/assert.h\"\n");
  write("daemon/net/codec_client.cc", "#include \"proto/client.pb.h\"\n");
  write("workers/puzzles/duel/text.cc",
        "#include \"proto/puzzles/duel.pb.h\"\n#include \"workers/puzzles/duel/duel.h\"\n");
  EXPECT_THAT(include_violations(root_, kRules), IsEmpty());
}

TEST_F(MadeUpTree, NamesTheLineAndTheHeader) {
  write("daemon/broker/jobs.cc", "#include <vector>\n\n  #  include <zmq.hpp>  // why not\n");
  EXPECT_THAT(include_violations(root_, kRules),
              ElementsAre(StartsWith("daemon/broker/jobs.cc:3: may not include zmq.hpp")));
}

struct Breach {
  std::string name;
  std::string file;
  std::string header;
};

class BreachTest : public MadeUpTree, public ::testing::WithParamInterface<Breach> {};

TEST_P(BreachTest, IsCaught) {
  EXPECT_THAT(including(GetParam().file, GetParam().header),
              ElementsAre(HasSubstr("may not include " + GetParam().header)));
}

INSTANTIATE_TEST_SUITE_P(
    Layers, BreachTest,
    ::testing::Values(
        Breach{"broker_includes_store", "daemon/broker/jobs.cc", "daemon/store/query.h"},
        Breach{"broker_includes_fmt", "daemon/broker/jobs.cc", "fmt/format.h"},
        Breach{"broker_includes_posix", "daemon/broker/jobs.cc", "unistd.h"},
        Breach{"broker_includes_messages", "daemon/broker/jobs.cc", "proto/client.pb.h"},
        Breach{"session_includes_zmq", "workers/host/session.cc", "zmq.hpp"},
        Breach{"session_includes_its_host", "workers/host/session.cc", "workers/host/host.h"},
        Breach{"store_includes_net", "daemon/store/store.cc", "daemon/net/reactor.h"},
        Breach{"store_thread_includes_sqlite", "daemon/store/store_thread.cc", "sqlite3.h"},
        Breach{"reactor_includes_protobuf", "daemon/net/reactor.cc", "google/protobuf/message.h"},
        Breach{"codec_includes_zmq", "daemon/net/codec.cc", "zmq.hpp"},
        Breach{"daemon_includes_a_worker", "daemon/main.cc", "workers/host/host.h"},
        Breach{"daemon_includes_a_puzzle", "daemon/main.cc", "workers/puzzles/registry.h"},
        Breach{"worker_includes_daemon", "workers/host/host.cc", "daemon/broker/types.h"},
        Breach{"client_includes_daemon", "client/cmd_jobs.cc", "daemon/store/query.h"},
        Breach{"client_includes_a_single_puzzle", "client/cmd_solve.cc",
               "workers/puzzles/duel/duel.h"},
        Breach{"command_includes_zmq", "client/cmd_jobs.cc", "zmq.hpp"},
        Breach{"puzzle_includes_another", "workers/puzzles/duel/text.cc",
               "workers/puzzles/bishops/bishops.h"},
        Breach{"puzzle_includes_anothers_messages", "workers/puzzles/duel/text.cc",
               "proto/puzzles/bishops.pb.h"},
        Breach{"puzzle_includes_host", "workers/puzzles/duel/solver.cc", "workers/host/slot.h"},
        Breach{"checker_includes_solver", "workers/puzzles/duel/checker.cc",
               "workers/puzzles/duel/solver.h"},
        Breach{"validator_includes_solver", "workers/puzzles/duel/validator.cc",
               "workers/puzzles/duel/solver.h"},
        Breach{"brute_force_includes_solver", "workers/puzzles/duel/brute_force.cc",
               "workers/puzzles/duel/solver.h"},
        Breach{"brute_force_includes_a_table_of_the_solver",
               "workers/puzzles/bishops/brute_force.cc", "workers/puzzles/bishops/rook_numbers.h"},
        Breach{"product_includes_tests", "client/main.cc", "tests/support/process.h"}),
    [](const auto& breach) { return breach.param.name; });

TEST_F(MadeUpTree, AFileWithoutARuleIsCaught) {
  write("daemon/extra/thing.cc", "");
  EXPECT_THAT(include_violations(root_, kRules), ElementsAre(HasSubstr("no rule")));
}

TEST_F(MadeUpTree, ARuleWithoutAFileIsCaught) {
  write("daemon/main.cc", "");
  EXPECT_THAT(idle_rules(root_, kRules), ::testing::Contains("daemon/broker/*"));
  EXPECT_THAT(idle_rules(root_, kRules), ::testing::Not(::testing::Contains("daemon/*")));
}

TEST_F(MadeUpTree, StyleIsCaught) {
  write("daemon/a.cc", std::string(101, 'x') + "\n");
  write("daemon/b.cc", std::string("// TO") + "DO later\n");
  write("daemon/c.h", "struct Lease {};\n");
  std::string long_file;
  for (int i = 0; i < 451; ++i) long_file += "\n";
  write("daemon/d.cc", long_file);
  write("daemon/e.cc", std::string("class Job") + "Task {};\n");
  write("daemon/f.cc", "int x; \n");
  write("daemon/g.cc", "// a line of exactly 100 columns\n//" + std::string(98, '-') + "\n");
  write("daemon/h.md", std::string(200, 'x') + "\n");
  write("daemon/CMakeLists.txt", std::string(101, 'x') + "\n");
  EXPECT_THAT(
      style_violations(root_),
      ElementsAre("daemon/CMakeLists.txt:1: longer than 100 columns",
                  "daemon/a.cc:1: longer than 100 columns",
                  "daemon/b.cc:1: unfinished by its own word",
                  "daemon/c.h:1: a header without #pragma once",
                  "daemon/d.cc:451: more than 450 lines: split it",
                  StartsWith("daemon/e.cc:1: a type named"), "daemon/f.cc:1: blanks at its end"));
}

}  // namespace
}  // namespace puzzled::layers
