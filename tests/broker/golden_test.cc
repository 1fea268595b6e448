// Scripts of events and what the broker makes of them, as text. PUZZLED_UPDATE_GOLDEN=1 rewrites
// the files under tests/golden/broker; read the difference before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/broker/driver.h"

namespace puzzled {
namespace {

void compare(const std::string& name, const std::string& trace) {
  const std::string path = std::string(GOLDEN_DIR) + "/" + name + ".txt";
  if (std::getenv("PUZZLED_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << trace;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing: PUZZLED_UPDATE_GOLDEN=1 writes it";
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(trace, expected.str()) << "see " << path;
}

struct Golden : testing::Test {
  Golden() { d.trace = &trace; }
  std::string trace;
  Driver d;
};

TEST_F(Golden, OneJob) {
  d.ready(1, 1, 2);
  d.open(1);
  d.step(event::AddChunk{
      Driver::kClient, ++d.request, bytes16(1), 0, {{"a", 1, 3}, {"b", 4, 2}}, make_cases(5), 7});
  d.step(event::SealJob{Driver::kClient, ++d.request, bytes16(1), 1, 5, 2,
                        wire::fold_digest(wire::kEmptyDigest, 7)});
  d.step(event::WaitJob{Driver::kClient, ++d.request, JobId{1}});
  d.heartbeat(1, {1, 2}, {{LeaseId{1}, 0, 4}}, 2);
  d.results(1, 1, {0, 2, 1}, 1, 0, 2);
  d.results(1, 2, {0}, 1, 0, 2);
  d.results(1, 2, {1}, 1, 1, 2);
  d.step(event::WorkerGoodbye{PeerId{1}, "terminated"});
  compare("one_job", trace);
}

TEST_F(Golden, UploadErrors) {
  d.open(1);
  d.open(1, "duel");
  d.add(1, 1, 3);
  d.add(1, 0, 3);
  d.add(1, 0, 3);
  d.add(1, 0, 3, 8);
  d.add(2, 0, 3);
  d.seal(1, 1, 4);
  d.seal(1, 1, 3, 8);
  d.step(event::IntakePaused{"the disk is full"});
  d.add(1, 1, 3);
  d.seal(1, 1, 3);
  d.step(event::IntakeResumed{});
  d.seal(1, 1, 3);
  d.add(1, 1, 3);
  d.step(event::CancelJob{Driver::kClient, ++d.request, JobId{1}, "a mistake"});
  d.open(1);
  compare("upload_errors", trace);
}

TEST_F(Golden, SilenceAndReturn) {
  d.ready(1, 1);
  d.ready(2, 2, 0);
  d.submit(1, 6);
  d.tick_after(1'000);
  d.heartbeat(1, {1}, {{LeaseId{1}, 2, 10}});
  d.heartbeat(2, {}, {}, 0);
  d.results(1, 1, {0, 1});
  d.tick_after(2'900);
  d.heartbeat(2, {}, {}, 2);
  d.tick_after(100);
  d.ready(3, 1, 1, {"bishops"}, Boot{1}, {LeaseId{1}});
  d.results(3, 1, {2});
  d.give_back(2, 3, {{1, 2}}, 1);
  d.results(2, 2, {0}, 2, 0, 2);
  compare("silence_and_return", trace);
}

TEST_F(Golden, Quarantine) {
  d.submit(1, 3);
  for (std::uint8_t worker = 1; worker <= 3; ++worker) {
    d.ready(worker, worker);
    d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(3), {}});
    // Case 2: position 1 of the first dispatch, alone in the others.
    d.heartbeat(worker, {worker}, {{LeaseId{worker}, worker == 1 ? 1U : 0U, 1}});
    d.tick_after(3'000);
  }
  d.ready(4, 4);
  d.step(event::ChunkLoaded{JobId{1}, 0, make_cases(3), {1}});
  d.results(4, 4, {0, 1});
  compare("quarantine", trace);
}

TEST_F(Golden, FencesAndDrain) {
  d.ready(1, 1);
  d.submit(1, 4);
  d.step(event::WorkerResults{PeerId{1}, Boot{7}, LeaseId{1}, 1, 0, make_results({0}), 1, 1});
  d.results(1, 1, {0}, 2);
  d.results(5, 1, {0});
  d.heartbeat(5, {1});
  d.give_back(5, 1, {{0, 4}});
  d.step(event::WorkerGone{PeerId{1}});
  d.ready(6, 1, 1, {"bishops"}, Boot{1}, {LeaseId{1}, LeaseId{8}});
  d.ready(7, 1, 1, {"bishops"}, Boot{1}, {LeaseId{1}});
  d.step(event::DrainWorkers{});
  d.results(7, 1, {0, 1}, 1, 0, 0);
  d.give_back(7, 1, {{2, 2}}, 0);
  d.step(event::WorkerGoodbye{PeerId{7}, "drained"});
  compare("fences_and_drain", trace);
}

}  // namespace
}  // namespace puzzled
