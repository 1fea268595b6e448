// What the daemon does for its own health beside its work: the sweeps over the broker and the
// checks of the store, a small step at a time, and backups for clients.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "daemon/net/codec.h"
#include "daemon/store/store_thread.h"

namespace puzzled {

class Upkeep {
 public:
  // The reader's ticket of its checks; others begin at 1.
  static constexpr std::uint64_t kTicket = 0;

  // Every `interval_ms` (0: never) one step of each. Both threads outlive it.
  Upkeep(std::uint32_t interval_ms, std::int64_t now_ms, StoreThread& store, ReadThread& reads)
      : interval_ms_(interval_ms),
        next_ms_(interval_ms == 0 ? kNever : now_ms + interval_ms),
        store_(store),
        reads_(reads) {}

  // Steady time of the next step.
  [[nodiscard]] std::int64_t next_deadline() const { return next_ms_; }
  // If that has come: sends off the store's part, and returns the broker's.
  std::optional<event::Sweep> step(std::int64_t now_ms, std::uint64_t durable_steps);
  // What a page of the store's check has brought; an error if it could not be read.
  void on_answer(const ReadThread::Answered& answered);

  // To be called after each Sweep, whoever asked for it. Logs what is new.
  void on_sweep(const Effects& effects);
  // What the last sweep found, and where the next one goes on.
  [[nodiscard]] const std::vector<Finding>& found() const { return found_; }
  [[nodiscard]] JobId swept() const { return swept_; }

  // ---- Backups.

  struct Reply {
    PeerId peer;
    std::uint64_t request = 0;
    std::uint64_t bytes = 0;
    std::string error;  // not empty: it failed
  };
  // Starts it, or waits for the same one. A reply, if there is one already.
  std::optional<Reply> start(PeerId peer, const codec::Backup& backup);
  std::vector<Reply> on_ended(const Backups::Ended& ended);

 private:
  void log(const Finding& finding);

  const std::uint32_t interval_ms_;
  std::int64_t next_ms_;
  StoreThread& store_;
  ReadThread& reads_;

  JobId sweep_after_;
  std::vector<Finding> found_;
  JobId swept_;
  bool checking_ = false;  // a page is asked for
  std::vector<std::uint64_t> cursor_;
  std::unordered_set<std::string> logged_;  // bounded: see log()

  std::uint64_t last_backup_ = 0;
  bool backing_up_ = false;
  codec::Backup backup_;        // the one that runs, or ran last
  std::vector<Reply> waiting_;  // for it
  Backups::Ended ended_;        // how it ended
};

}  // namespace puzzled
