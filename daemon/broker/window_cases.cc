// Window: taking cases out for dispatches, and taking them back.
#include <algorithm>
#include <utility>

#include "daemon/broker/suspects.h"
#include "daemon/broker/window.h"
#include "proto/base/assert.h"

namespace puzzled::broker {

void Window::mark(OpenChunk& chunk, PositionRange cases, CaseState state) {
  std::fill_n(chunk.states.begin() + cases.first, cases.count, state);
}

void Window::take(Job& job, std::uint32_t cases_max, std::uint64_t bytes_max, bool& alone,
                  std::vector<Piece>& pieces) {
  ASSERT(job.queued_count > 0 && cases_max > 0 && pieces.empty());
  alone = take_alone(job, pieces);
  std::uint32_t taken = 0;
  std::uint64_t bytes = 0;
  while (!alone && taken < cases_max && !job.ready_chunks.empty()) {
    OpenChunk& chunk = *job.window.at(*job.ready_chunks.begin());
    PositionRange& range = chunk.queued.back();
    const std::uint32_t together =
        Suspects::together_max(job, CaseNo{chunk.first_case.value + range.first});
    cases_max = std::min(cases_max, together < UINT32_MAX - taken ? taken + together : cases_max);
    const auto& offsets = chunk.cases->offsets;
    // The first case whose end would be over the limit is not taken.
    const auto begin = offsets.begin() + range.first + 1;
    const auto fits =
        std::upper_bound(begin, begin + range.count, offsets[range.first] + (bytes_max - bytes)) -
        begin;
    std::uint32_t count = std::min(static_cast<std::uint32_t>(fits), cases_max - taken);
    if (count == 0 && taken > 0) break;
    count = std::max(count, 1U);
    bytes += offsets[range.first + count] - offsets[range.first];
    mark(chunk, {range.first, count}, CaseState::kLeased);
    pieces.push_back({&chunk, range.first, count, taken});
    taken += count;
    chunk.leased_count += count;
    range.first += count;
    range.count -= count;
    if (range.count == 0) chunk.queued.pop_back();
    if (chunk.queued.empty()) job.ready_chunks.erase(chunk.chunk_no);
    if (bytes >= bytes_max) break;
  }
  if (alone) taken = 1;
  job.queued_count -= taken;
  job.leased_count += taken;
  update_place(job);
}

bool Window::take_alone(Job& job, std::vector<Piece>& pieces) {
  if (job.alone_count == 0) return false;
  for (const ChunkNo chunk_no : job.ready_chunks) {
    OpenChunk& chunk = *job.window.at(chunk_no);
    if (chunk.alone.empty()) continue;
    const std::uint32_t index = chunk.alone.back();
    chunk.alone.pop_back();
    --job.alone_count;
    chunk.states[index] = CaseState::kLeased;
    ++chunk.leased_count;
    pieces.push_back({&chunk, index, 1, 0});
    if (chunk.queued.empty() && chunk.alone.empty()) job.ready_chunks.erase(chunk_no);
    return true;
  }
  ASSERT(false);
  return false;
}

void Window::requeue(Job& job, OpenChunk& chunk, PositionRange cases) {
  if (cases.count == 0) return;
  if (!job.suspects.empty()) {
    for (std::uint32_t i = cases.first; i < cases.first + cases.count; ++i) {
      if (!job.suspects.contains(CaseNo{chunk.first_case.value + i})) continue;
      requeue(job, chunk, {i + 1, cases.first + cases.count - i - 1});
      requeue_alone(job, chunk, i);
      cases.count = i - cases.first;
      break;
    }
    if (cases.count == 0) return;
  }
  mark(chunk, cases, CaseState::kQueued);
  chunk.leased_count -= cases.count;
  job.leased_count -= cases.count;
  job.queued_count += cases.count;
  if (!chunk.queued.empty() && chunk.queued.back().first == cases.first + cases.count) {
    chunk.queued.back().first = cases.first;
    chunk.queued.back().count += cases.count;
  } else {
    chunk.queued.push_back(cases);
  }
  job.ready_chunks.insert(chunk.chunk_no);
}

void Window::requeue_alone(Job& job, OpenChunk& chunk, std::uint32_t index) {
  ASSERT(chunk.states[index] == CaseState::kLeased);
  chunk.states[index] = CaseState::kAlone;
  chunk.alone.push_back(index);
  --chunk.leased_count;
  --job.leased_count;
  ++job.queued_count;
  ++job.alone_count;
  job.ready_chunks.insert(chunk.chunk_no);
}

void Window::set_done(Job& job, OpenChunk& chunk, std::uint32_t index) {
  ASSERT(chunk.states[index] == CaseState::kLeased);
  chunk.states[index] = CaseState::kDone;
  --chunk.leased_count;
  --chunk.open_count;
  --job.leased_count;
  ++job.done_count;
  if (!job.suspects.empty()) job.suspects.erase(CaseNo{chunk.first_case.value + index});
}

void Window::settle(Job& job, OpenChunk& chunk) {
  if (chunk.open_count == 0) remove(job, chunk);
  update_place(job);
}

// Compares every count with what it counts. `leased` is checked against the leases elsewhere.
void Window::check(const Job& job) const {
  std::uint64_t bytes = 0;
  std::uint64_t open = 0;
  std::uint64_t queued = 0;
  std::uint64_t alone = 0;
  std::uint64_t leased = 0;
  std::uint32_t loading = 0;
  for (const auto& [chunk_no, held] : job.window) {
    const OpenChunk& chunk = *held;
    ASSERT(chunk.chunk_no == chunk_no && chunk.open_count > 0);
    bytes += chunk.memory_bytes;
    open += chunk.open_count;
    loading += chunk.phase == OpenChunk::Phase::kLoading ? 1 : 0;
    ASSERT(chunk.phase != OpenChunk::Phase::kLoading || (chunk.ask > 0 && chunk.ask <= asks_));
    const bool ready = !chunk.queued.empty() || !chunk.alone.empty();
    ASSERT(job.ready_chunks.contains(chunk_no) == ready);
    if (chunk.phase != OpenChunk::Phase::kActive) {
      ASSERT(!ready && chunk.leased_count == 0 && chunk.states.empty());
      continue;
    }
    ASSERT(chunk_no < job.durable_chunks);
    ASSERT(chunk.cases->count() == chunk.case_count);
    std::vector<CaseState> states = chunk.states;
    for (const PositionRange& range : chunk.queued) {
      ASSERT(range.count > 0);
      for (std::uint32_t i = range.first; i < range.first + range.count; ++i) {
        ASSERT(states.at(i) == CaseState::kQueued);
        ASSERT(!job.suspects.contains(CaseNo{chunk.first_case.value + i}));
        states[i] = CaseState::kDone;  // seen: a second range must not hold it
        ++queued;
      }
    }
    for (const std::uint32_t i : chunk.alone) {
      ASSERT(states.at(i) == CaseState::kAlone);
      states[i] = CaseState::kDone;
      ++alone;
    }
    const auto in_leases = std::ranges::count(states, CaseState::kLeased);
    ASSERT(in_leases == chunk.leased_count);
    ASSERT(std::ranges::count(states, CaseState::kDone) == chunk.case_count - in_leases);
    ASSERT(chunk.case_count - std::ranges::count(chunk.states, CaseState::kDone) ==
           chunk.open_count);
    leased += chunk.leased_count;
  }
  for (const BacklogChunk& chunk : job.backlog) {
    ASSERT(chunk.done_count < chunk.case_count && !job.window.contains(chunk.chunk_no));
    open += chunk.case_count - chunk.done_count;
  }
  ASSERT(std::ranges::count_if(job.backlog, &BacklogChunk::is_untried) ==
         static_cast<std::ptrdiff_t>(job.backlog.untried()));
  ASSERT(job.place.hungry || !job.place.curious);
  ASSERT(bytes == job.window_bytes && open == job.open_count());
  ASSERT(queued + alone == job.queued_count && alone == job.alone_count);
  ASSERT(leased == job.leased_count && loading == job.loading_count);
  ASSERT(job.place.ready == (job.queued_count > 0));
  ASSERT(victims_.contains(victim(job)) == !job.window.empty());
}

void Window::check_total(std::uint64_t bytes_of_all_jobs) const {
  ASSERT(bytes_of_all_jobs == bytes_);
}

}  // namespace puzzled::broker
