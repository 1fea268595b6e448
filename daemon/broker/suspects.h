// Cases that were being solved when their worker went away: isolation, charges, quarantine. And the
// memory of workers that went away, for when they turn out to be alive.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/broker/core.h"
#include "daemon/broker/job.h"

namespace puzzled::broker {

struct Lease;
struct Session;

// A worker process that fell silent.
struct GoneWorker {
  WorkerNo worker;  // 0: known only from charges of an earlier boot
  bool recorded = false;
  bool suspect = false;
  bool removed = false;
  std::vector<std::pair<JobId, CaseNo>> charged;  // not those that were quarantined
};

class Suspects {
 public:
  explicit Suspects(Core& core) : core_(core) {}

  void recover(Job& job, const std::vector<RecoveredAttempt>& attempts);

  // The number under which a case that runs alone is dispatched.
  [[nodiscard]] static std::uint32_t next_attempt(const Job& job, CaseNo case_no);
  // From now on the leased case runs alone.
  void isolate(Job& job, OpenChunk& chunk, std::uint32_t index);
  // That, and a death of this worker is charged to it. With deaths of attempts_max different
  // process starts the case ends here. Afterwards Window::settle() and Jobs::finish_if_done().
  void charge(Lease& lease, OpenChunk& chunk, std::uint32_t index);

  // The worker of the lease fell silent and has not said what it was solving, but had begun.
  // Nothing is charged, unless the case was alone. Afterwards as above.
  void note_lost(Lease& lease);
  // How many cases, from this one on, may run in one dispatch.
  [[nodiscard]] static std::uint32_t together_max(const Job& job, CaseNo case_no);

  // The process fell silent; its charges stand unless it comes back.
  void remember(const Session& session);
  // It came back: it did not die, so what was charged to its cases is taken back.
  std::optional<GoneWorker> welcome_back(const Bytes16& start_id);
  void check(const Job& job) const;

 private:
  void quarantine(Lease& lease, OpenChunk& chunk, std::uint32_t index, const Suspect& suspect);
  GoneWorker& gone(const Bytes16& start_id);

  Core& core_;
  struct Remembered {
    GoneWorker worker;
    std::uint64_t since = 0;
  };
  std::unordered_map<Bytes16, Remembered> gone_;
  std::deque<std::pair<std::uint64_t, Bytes16>> order_;  // oldest first, to forget
  std::uint64_t sequence_ = 0;
};

}  // namespace puzzled::broker
