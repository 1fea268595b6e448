// The store's thread and its disk: what is handed in waits in a queue, a transaction takes what is
// there when it begins, and a crash loses all that was not committed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "tests/sim/params.h"
#include "tests/sim/sim.h"
#include "tests/sim/tables.h"

namespace puzzled::sim {

struct Work {  // of one step
  std::uint64_t sequence = 0;
  std::vector<Record> records;
  std::vector<LoadChunk> loads;
  std::vector<CompareChunk> comparisons;
  std::vector<LoadCanaries> canary_loads;
};
struct Committed {
  std::uint64_t sequence = 0;
};
struct StoreFailed {};
using Report = std::variant<Committed, StoreFailed, event::ChunkLoaded, event::ChunkCompared,
                            event::CanariesLoaded, event::IntakePaused, event::IntakeResumed>;

class Disk {
 public:
  Disk(Sim& sim, const Params& params) : sim_(sim), params_(params) {}

  // A daemon begins to use the file; its reports go to `to`.
  void open(std::function<void(Report)> to);
  void crash();  // what is queued is lost, and nothing more is reported
  void flush();  // an orderly end: writes what is queued, if there is room
  void submit(Work work);
  [[nodiscard]] bool idle() const { return queue_.empty(); }

  void fill(std::int64_t ms);  // no room until then
  void heal() {
    full_until_ms_ = 0;
    fail_next_ = false;
  }
  void fail_next() { fail_next_ = true; }

  [[nodiscard]] const Tables& committed() const { return committed_; }
  // That, and what is queued as well.
  [[nodiscard]] const Tables& submitted() const { return submitted_; }
  std::uint64_t raise_boot() { return submitted_.boot = ++committed_.boot; }

 private:
  void schedule();
  void commit(std::size_t count);
  void apply(std::size_t count, std::vector<Report>& loaded);
  void report(Report what);

  Sim& sim_;
  const Params& params_;
  Tables committed_;
  Tables submitted_;
  std::deque<Work> queue_;
  std::function<void(Report)> to_;
  std::uint64_t opened_ = 0;  // tells events of this daemon from those of earlier ones
  bool busy_ = false;
  bool paused_ = false;
  bool fail_next_ = false;
  std::int64_t full_until_ms_ = 0;
  std::int64_t last_report_ms_ = 0;  // reports stay in order
};

}  // namespace puzzled::sim
