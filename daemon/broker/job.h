// One job with open cases, and the part of its cases that is in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/broker/cost.h"
#include "daemon/broker/ready_queue.h"
#include "daemon/broker/types.h"
#include "proto/base/assert.h"

namespace puzzled::broker {

enum class CaseState : std::uint8_t {
  kQueued,  // in OpenChunk::queued
  kAlone,   // in OpenChunk::alone
  kLeased,  // an open position of exactly one lease
  kDone,    // its result is recorded
};

// A chunk whose cases are in the window: in memory, or on their way there.
struct OpenChunk {
  enum class Phase : std::uint8_t {
    kLoading,  // asked for: no cases yet
    kHeld,     // accepted, not yet known to be durable: nothing may be dispatched
    kActive,
  };
  Phase phase = Phase::kLoading;
  ChunkNo chunk_no = 0;
  CaseNo first_case;
  std::uint32_t case_count = 0;
  std::uint32_t open_count = 0;    // without a result
  std::uint32_t leased_count = 0;  // of them
  std::uint32_t case_bytes = 0;    // as BacklogChunk::bytes
  bool keyed = false;              // likewise
  bool looked_up = false;          // by the question whose answer it has, or waits for
  std::uint64_t memory_bytes = 0;  // what it counts for in the window
  // While kLoading: when it was asked of the store (steady), and the number of the question. Other
  // answers are older than what is known here. 0: what was asked is out of date.
  std::int64_t asked_ms = 0;
  std::uint64_t ask = 0;
  ChunkCasesPtr cases;
  std::vector<CaseState> states;      // once active
  std::vector<PositionRange> queued;  // disjoint; the next one is the last
  std::vector<std::uint32_t> alone;   // suspects: each makes a dispatch of its own
};

// A chunk with open cases that is only in the store.
struct BacklogChunk {
  CaseNo first_case;
  ChunkNo chunk_no = 0;
  std::uint32_t case_count = 0;
  std::uint32_t done_count = 0;
  std::uint32_t bytes = 0;  // of its serialised cases; 0: not known
  bool keyed = false;       // the store has keys of its cases
  bool tried = false;       // and has looked them up
  [[nodiscard]] bool is_untried() const { return keyed && !tried; }
};
static_assert(sizeof(BacklogChunk) == 32, "ten million open cases must cost little memory");

// First in, first out; what was taken out can be put back in front.
class Backlog {
 public:
  [[nodiscard]] bool empty() const { return head_ == chunks_.size(); }
  [[nodiscard]] const BacklogChunk& front() const { return chunks_[head_]; }
  [[nodiscard]] std::size_t size() const { return chunks_.size() - head_; }
  [[nodiscard]] auto begin() const { return chunks_.begin() + static_cast<std::ptrdiff_t>(head_); }
  [[nodiscard]] auto end() const { return chunks_.end(); }
  // Chunks whose cases may be known, and nobody has looked.
  [[nodiscard]] std::uint64_t untried() const { return untried_; }
  void push_back(const BacklogChunk& chunk) {
    untried_ += chunk.is_untried() ? 1 : 0;
    chunks_.push_back(chunk);
  }
  void push_front(const BacklogChunk& chunk) {
    untried_ += chunk.is_untried() ? 1 : 0;
    head_ > 0 ? static_cast<void>(chunks_[--head_] = chunk)
              : static_cast<void>(chunks_.insert(chunks_.begin(), chunk));
  }
  // The first comes last. REQUIRES: not empty().
  void rotate() {
    const BacklogChunk first = front();
    pop_front();
    push_back(first);
  }
  void pop_front() {
    untried_ -= front().is_untried() ? 1 : 0;
    ++head_;
    if (head_ * 2 < chunks_.size()) return;
    chunks_.erase(chunks_.begin(), begin());
    head_ = 0;
  }
  // Cases that were done are open again. `chunks` are ascending, each as if nothing else of it were
  // open; those that are not here yet come in front.
  void reopen(std::vector<BacklogChunk> chunks) {
    if (chunks.empty()) return;
    std::vector<bool> is_here(chunks.size());
    for (std::size_t i = head_; i < chunks_.size(); ++i) {
      const auto it =
          std::ranges::lower_bound(chunks, chunks_[i].chunk_no, {}, &BacklogChunk::chunk_no);
      if (it == chunks.end() || it->chunk_no != chunks_[i].chunk_no) continue;
      ASSERT(chunks_[i].done_count + it->done_count >= it->case_count);
      chunks_[i].done_count -= it->case_count - it->done_count;
      is_here[static_cast<std::size_t>(it - chunks.begin())] = true;
    }
    std::size_t at = 0;
    std::erase_if(chunks, [&](const BacklogChunk&) { return is_here[at++]; });
    untried_ +=
        static_cast<std::uint64_t>(std::ranges::count_if(chunks, &BacklogChunk::is_untried));
    chunks.insert(chunks.end(), begin(), end());
    chunks_ = std::move(chunks);
    head_ = 0;
  }

 private:
  std::vector<BacklogChunk> chunks_;
  std::size_t head_ = 0;
  std::uint64_t untried_ = 0;
};

// One death (or what looks like one) of a worker while it was solving a case.
struct Charge {
  Bytes16 start_id{};
  std::string what;  // who it was; empty if it happened under another boot
};
// A case that was being solved when its worker went away. It runs alone from then on.
struct Suspect {
  std::uint32_t last_attempt = 0;  // never goes back: attempts are told apart by it
  std::vector<Charge> charges;     // at most one for each process start
};

// Cases lost with a worker that had not said which of them it was solving. Those lost again run in
// smaller and smaller dispatches, so that one that kills its workers at once is found.
struct LostCases {
  CaseNo first;
  CaseNo last;
  std::uint32_t together = 1;  // at most, in a dispatch
};

struct Lease;

struct Waiter {
  PeerId peer;
  std::uint64_t request = 0;
};

struct Job {
  JobId id;
  Bytes16 request_id{};
  JobSpecPtr spec;
  bool sealed = false;
  std::uint32_t chunk_count = 0;  // accepted
  std::uint64_t case_count = 0;   // of them
  std::uint64_t file_count = 0;
  // Cases of its files together. Not known between a restart and the next file.
  std::optional<std::uint64_t> file_cases = 0;
  std::uint64_t done_count = 0;
  std::uint64_t digest = 0;
  std::vector<std::uint64_t> hashes;  // by chunk number, until sealed

  std::uint32_t durable_chunks = 0;  // chunks below this number may be dispatched
  Backlog backlog;
  std::map<ChunkNo, std::unique_ptr<OpenChunk>> window;
  std::set<ChunkNo> ready_chunks;  // of the window, with queued or suspect cases
  std::uint64_t window_bytes = 0;
  std::uint64_t queued_count = 0;  // queued and suspect cases
  std::uint64_t alone_count = 0;   // suspect cases of them
  std::uint64_t leased_count = 0;
  std::uint32_t loading_count = 0;
  std::uint64_t looked_up_count = 0;  // open cases that were looked up in this boot
  std::uint64_t known_count = 0;      // of them: their answers were known

  Place place;
  Cost cost;
  std::unordered_map<CaseNo, Suspect> suspects;  // only of open cases
  std::deque<LostCases> lost;                    // newest first, few
  std::vector<Lease*> leases;                    // live ones, each at its Lease::place_in_job
  std::vector<Waiter> waiters;
  std::int64_t upload_deadline_ms = kNever;  // steady; kNever once sealed
  std::int64_t upload_timer_ms = kNever;     // Timers::arm

  [[nodiscard]] std::uint64_t open_count() const { return case_count - done_count; }
};

// What a case costs: what is known of the job itself comes before what is known of its lane.
inline const Cost& cost_of(const Job& job, const ReadyQueue& queue) {
  return job.cost.known() ? job.cost : queue.lane(job.place.lane).cost;
}

}  // namespace puzzled::broker
