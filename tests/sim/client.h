// A client: submits one job, waits for its end, and repeats what is not answered in time. Others
// may do the same with the same job: a client that was started again, or one that means harm.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/network.h"
#include "tests/sim/params.h"
#include "tests/sim/sim.h"

namespace puzzled::sim {

struct Plan {  // of a job
  struct Chunk {
    ChunkCasesPtr cases;
    std::uint64_t hash = 0;
    std::string keys;
    std::vector<FileEntry> files;
  };
  std::uint32_t tag = 0;
  Bytes16 request_id{};
  JobSpec spec;
  std::vector<Chunk> chunks;
  std::uint64_t case_count = 0;
  std::uint64_t file_count = 0;
  std::uint64_t digest = 0;
  // Poison cases are taken from `poison`.
  static Plan draw(Sim& sim, const Params& params, std::uint32_t tag, std::int64_t& poison);
};

class Client : public Endpoint {
 public:
  Client(Sim& sim, const Params& params, Network& network, const Plan& plan)
      : sim_(sim), params_(params), network_(network), plan_(plan) {}

  void start();
  void stop();    // killed: forgets all
  void cancel();  // asks for it, from now on
  [[nodiscard]] const LinePtr& line() const { return line_; }
  [[nodiscard]] bool ended() const { return ended_; }  // it knows that its job has
  [[nodiscard]] bool up() const { return line_ != nullptr; }

  void connected() override { drive(); }
  void receive(const FromDaemon& message) override;

 private:
  enum class Want : std::uint8_t { kOpen, kChunk, kSeal, kWait, kCancel, kOtherSpec, kOtherChunk };
  struct Asked {
    Want want = Want::kOpen;
    ChunkNo chunk_no = 0;
    int tries = 0;  // 0: it has been asked again
  };

  void drive();
  void ask(Want want, ChunkNo chunk_no = 0, int tries = 1);
  [[nodiscard]] Event event_of(const Asked& asked, std::uint64_t request) const;
  [[nodiscard]] std::int64_t count(Want want) const;
  void again_later(std::uint64_t request);
  void pause();
  void harm();

  void on(const Asked& asked, const message::JobOpened& m);
  void on(const Asked& asked, const message::ChunkAccepted& m);
  void on(const Asked& asked, const message::JobSealed& m);
  void on(const Asked& asked, const message::JobCancelled& m);
  void on(const Asked& asked, const message::JobDone& m);
  void on(const Asked&, const message::CanaryMarked&) {}  // only operators ask for these
  void on(const Asked&, const message::WorkerAdmitted&) {}
  void on(const Asked& asked, const message::Error& m);
  void on(const Asked&, const message::WorkersControlled&) {}  // never asked for

  Sim& sim_;
  const Params& params_;
  Network& network_;
  const Plan& plan_;
  LinePtr line_;
  std::uint64_t life_ = 0;  // tells what is planned now from what was before a stop
  std::uint64_t last_request_ = 0;
  std::map<std::uint64_t, Asked> asked_;
  JobId job_;
  bool opened_ = false;
  // Chunks in flight; halved when the daemon has enough.
  std::int64_t depth_ = params_.client_depth;
  ChunkNo next_ = 0;      // to send
  ChunkNo accepted_ = 0;  // all below
  bool sealed_ = false;
  bool paused_ = false;
  bool keys_wanted_ = true;
  bool cancels_ = false;
  bool ended_ = false;
};

}  // namespace puzzled::sim
