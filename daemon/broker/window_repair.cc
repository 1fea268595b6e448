// Window: what the sweeper does with a job. Everything here is redundant to what the other files
// keep in order; where they did, nothing changes.
#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/broker/window.h"
#include "proto/base/assert.h"

namespace puzzled::broker {

void Window::repair(Job& job, const LeasedCases& leased) {
  std::vector<ChunkNo> chunks;  // by number: what is queued again may be put away at once
  for (const auto& [chunk_no, chunk] : job.window) chunks.push_back(chunk_no);
  for (const ChunkNo chunk_no : chunks) {
    const auto it = job.window.find(chunk_no);
    if (it != job.window.end()) repair_chunk(job, *it->second, leased);
  }
  repair_counts(job);
  repair_place(job);
}

void Window::repair_chunk(Job& job, OpenChunk& chunk, const LeasedCases& leased) {
  const auto found = [&](Rule rule, std::string text) {
    core_.step.find(
        {.rule = rule, .job = job.id, .chunk = chunk.chunk_no, .text = std::move(text)});
  };
  const std::int64_t now_ms = core_.step.steady_ms();
  std::int64_t waited_ms = 0;
  switch (chunk.phase) {
    case OpenChunk::Phase::kLoading:
      // While the disk is full the store answers nothing, and forgets nothing.
      waited_ms = now_ms - std::max(chunk.asked_ms, core_.intake_resumed_ms);
      if (waited_ms < core_.options.load_wait_ms || !core_.intake_paused.empty()) return;
      found(Rule::kStore,
            "its cases were asked of the store " + std::to_string(waited_ms / 1000) + " s ago");
      return ask(job, chunk);
    case OpenChunk::Phase::kHeld:
      if (chunk.chunk_no >= job.durable_chunks) return;
      found(Rule::kQueue, "its cases were on disk and not queued");
      return activate(job, chunk, {});
    case OpenChunk::Phase::kActive:
      break;
  }
  std::vector<bool> in_queue(chunk.case_count);
  bool sound = true;
  const auto take = [&](std::uint32_t i, CaseState state) {
    sound = sound && i < chunk.case_count && !in_queue[i] && chunk.states[i] == state;
    if (i < chunk.case_count) in_queue[i] = true;
  };
  for (const PositionRange& range : chunk.queued) {
    for (std::uint32_t i = 0; i < range.count; ++i) take(range.first + i, CaseState::kQueued);
  }
  for (const std::uint32_t i : chunk.alone) take(i, CaseState::kAlone);
  const auto of_chunk = leased.find(&chunk);
  const std::vector<bool> none(chunk.case_count);
  const std::vector<bool>& in_lease = of_chunk == leased.end() ? none : of_chunk->second;
  std::uint32_t lost = 0;
  std::uint32_t unheld = 0;
  std::uint32_t held = 0;
  for (std::uint32_t i = 0; i < chunk.case_count; ++i) {
    const CaseState state = chunk.states[i];
    sound = sound && in_lease[i] == (state == CaseState::kLeased);
    held += in_lease[i] ? 1 : 0;
    unheld += state == CaseState::kLeased && !in_lease[i] ? 1 : 0;
    lost += (state == CaseState::kQueued || state == CaseState::kAlone) && !in_queue[i] ? 1 : 0;
  }
  const bool ready = !chunk.queued.empty() || !chunk.alone.empty();
  sound = sound && held == chunk.leased_count;
  if (sound && lost == 0 && job.ready_chunks.contains(chunk.chunk_no) == ready) return;
  if (unheld > 0) found(Rule::kLease, std::to_string(unheld) + " cases were in no lease");
  if (lost > 0) found(Rule::kQueue, std::to_string(lost) + " open cases were in no queue");
  if (unheld + lost == 0) found(Rule::kQueue, "its queue was not in order");
  rebuild(job, chunk, in_lease);
}

// Queues anew all that is open and in no lease.
void Window::rebuild(Job& job, OpenChunk& chunk, const std::vector<bool>& leased) {
  chunk.queued.clear();
  chunk.alone.clear();
  chunk.leased_count = 0;
  for (std::uint32_t i = 0; i < chunk.case_count; ++i) {
    CaseState& state = chunk.states[i];
    if (state == CaseState::kDone) continue;
    if (leased[i]) {
      state = CaseState::kLeased;
      ++chunk.leased_count;
    } else if (job.suspects.contains(CaseNo{chunk.first_case.value + i})) {
      state = CaseState::kAlone;
      chunk.alone.push_back(i);
    } else {
      state = CaseState::kQueued;
      if (chunk.queued.empty() || chunk.queued.back().first + chunk.queued.back().count != i) {
        chunk.queued.push_back({i, 0});
      }
      ++chunk.queued.back().count;
    }
  }
  std::ranges::reverse(chunk.queued);
  if (chunk.queued.empty() && chunk.alone.empty()) {
    job.ready_chunks.erase(chunk.chunk_no);
  } else {
    job.ready_chunks.insert(chunk.chunk_no);
  }
}

// ---- Not repaired but revised: results were taken back.

void Window::reopen(Job& job, std::vector<Reopened> results) {
  std::ranges::stable_sort(results, {}, [](const Reopened& one) { return one.chunk.chunk_no; });
  std::vector<BacklogChunk> away;  // those not in memory, ascending
  for (const auto& [done, cases] : results) {
    job.done_count -= cases.count;
    if (const auto it = job.window.find(done.chunk_no); it != job.window.end()) {
      reopen_in_memory(job, *it->second, cases);
      continue;
    }
    if (away.empty() || away.back().chunk_no != done.chunk_no) away.push_back(done);
    away.back().done_count -= cases.count;
  }
  job.backlog.reopen(std::move(away));
  for (auto& [chunk_no, chunk] : job.window) {
    if (chunk->phase == OpenChunk::Phase::kLoading && chunk->ask == 0) ask(job, *chunk);
  }
  update_place(job);
  // Nobody is there to solve them: their room is for others.
  if (core_.queue.lane(job.place.lane).workers == 0) put_away(job);
}

void Window::reopen_in_memory(Job& job, OpenChunk& chunk, PositionRange cases) {
  ASSERT(chunk.phase != OpenChunk::Phase::kHeld);
  chunk.open_count += cases.count;
  if (chunk.phase == OpenChunk::Phase::kLoading) {
    chunk.ask = 0;  // the answer may or may not have these as done
    return;
  }
  for (std::uint32_t i = 0; i < cases.count; ++i) {
    ASSERT(chunk.states.at(cases.first + i) == CaseState::kDone);
  }
  mark(chunk, cases, CaseState::kQueued);
  chunk.queued.push_back(cases);
  job.queued_count += cases.count;
  job.ready_chunks.insert(chunk.chunk_no);
}

void Window::repair_counts(Job& job) {
  std::uint64_t queued = 0;
  std::uint64_t alone = 0;
  std::uint64_t leased = 0;
  std::uint32_t loading = 0;
  for (const auto& [chunk_no, chunk] : job.window) {
    for (const PositionRange& range : chunk->queued) queued += range.count;
    alone += chunk->alone.size();
    leased += chunk->leased_count;
    loading += chunk->phase == OpenChunk::Phase::kLoading ? 1 : 0;
  }
  const bool sound = job.queued_count == queued + alone && job.alone_count == alone &&
                     job.leased_count == leased && job.loading_count == loading;
  if (sound) return;
  core_.step.find({.rule = Rule::kQueue,
                   .job = job.id,
                   .text = "it counted " + std::to_string(job.queued_count) + " queued and " +
                           std::to_string(job.leased_count) + " leased cases, there are " +
                           std::to_string(queued + alone) + " and " + std::to_string(leased)});
  job.queued_count = queued + alone;
  job.alone_count = alone;
  job.leased_count = leased;
  job.loading_count = loading;
}

void Window::repair_place(Job& job) {
  // Without a worker it only decides what may be looked up, and is not kept up to date.
  if (core_.queue.lane(job.place.lane).workers == 0) update_place(job);
  const Place before = job.place;
  update_place(job);
  const bool known = core_.queue.is_sound(job.place);
  if (before.ready != job.place.ready || !known) {
    core_.step.find({.rule = Rule::kQueue, .job = job.id, .text = "its turn was forgotten"});
  } else if (before.hungry != job.place.hungry) {
    core_.step.find({.rule = Rule::kStore,
                     .job = job.id,
                     .text = "it should have asked the store for cases, or should not have"});
  }
  if (!known) core_.queue.repair(job.place);
}

}  // namespace puzzled::broker
