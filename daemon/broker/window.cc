#include "daemon/broker/window.h"

#include <algorithm>
#include <utility>

#include "daemon/broker/jobs.h"
#include "daemon/broker/reuse.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

// What a chunk of unknown size is taken for until it has been read: the usual size.
constexpr std::uint32_t kUsualChunkBytes = 256U << 10U;
// Bookkeeping of a chunk, and of a case of it (offset and state), on top of its bytes.
constexpr std::uint64_t kChunkOverheadBytes = 320;
constexpr std::uint64_t kCaseOverheadBytes = 5;
// Jobs looked at for something to put away, before a load has to wait for room.
constexpr int kVictimsMax = 16;
// A look-up costs the store as much as reading hundreds of cases: what one of a case counts for in
// the turns, how many weigh as much in a step as a chunk that is only read, and how many chunks of
// a job that may need some are on their way at once. More would wait in the store, where no new
// job can come before them.
constexpr std::uint64_t kLookUpUs = 20;
constexpr std::uint32_t kLookUpsPerWork = 16;
constexpr std::uint32_t kKeyedLoadsMax = 4;

}  // namespace

std::uint64_t Window::memory_bytes(std::uint64_t case_bytes, std::uint32_t case_count) {
  return case_bytes + kCaseOverheadBytes * case_count + kChunkOverheadBytes;
}

std::uint64_t Window::memory_bytes(const BacklogChunk& chunk) {
  return memory_bytes(chunk.bytes > 0 ? chunk.bytes : kUsualChunkBytes, chunk.case_count);
}

// A single chunk always fits, so that no limit can stop a job for ever.
bool Window::has_room(const Job& job, std::uint64_t bytes) const {
  const auto& options = core_.options;
  return (bytes_ == 0 || bytes_ + bytes <= options.window_bytes_max) &&
         (job.window_bytes == 0 || job.window_bytes + bytes <= options.job_window_bytes_max);
}

OpenChunk& Window::add(Job& job, const BacklogChunk& from) {
  if (!job.window.empty()) victims_.erase(victim(job));
  auto chunk = std::make_unique<OpenChunk>();
  chunk->chunk_no = from.chunk_no;
  chunk->first_case = from.first_case;
  chunk->case_count = from.case_count;
  chunk->open_count = from.case_count - from.done_count;
  chunk->case_bytes = from.bytes;
  chunk->keyed = from.keyed;
  chunk->memory_bytes = memory_bytes(from);
  bytes_ += chunk->memory_bytes;
  job.window_bytes += chunk->memory_bytes;
  const auto [it, added] = job.window.emplace(from.chunk_no, std::move(chunk));
  ASSERT(added);
  victims_.insert(victim(job));
  return *it->second;
}

void Window::remove(Job& job, OpenChunk& chunk) {
  ASSERT(chunk.leased_count == 0);
  victims_.erase(victim(job));
  bytes_ -= chunk.memory_bytes;
  job.window_bytes -= chunk.memory_bytes;
  job.ready_chunks.erase(chunk.chunk_no);
  job.window.erase(chunk.chunk_no);
  if (!job.window.empty()) victims_.insert(victim(job));
}

void Window::accept(Job& job, PeerId uploader, CaseNo first_case, ChunkCasesPtr cases, bool keyed) {
  const ChunkNo chunk_no = job.chunk_count;
  undurable_.push_back({core_.step.recording_number(), job.id, chunk_no, uploader});
  ++unacknowledged_[uploader];
  const std::uint32_t count = cases->count();
  if (count == 0) return;
  const BacklogChunk chunk{.first_case = first_case,
                           .chunk_no = chunk_no,
                           .case_count = count,
                           .done_count = 0,
                           .bytes = static_cast<std::uint32_t>(cases->bytes.size()),
                           .keyed = keyed};
  // What may be known is looked up when it is loaded. Whoever waits for room has the right to it
  // first.
  if (!keyed && job.backlog.empty() && core_.queue.lane(job.place.lane).workers > 0 &&
      has_room(job, memory_bytes(chunk)) && !core_.queue.first_hungry()) {
    OpenChunk& open = add(job, chunk);
    open.phase = OpenChunk::Phase::kHeld;
    open.cases = std::move(cases);
  } else {
    job.backlog.push_back(chunk);
  }
}

void Window::set_durable(std::uint64_t steps) {
  durable_steps_ = std::max(durable_steps_, steps);
  while (!undurable_.empty() && undurable_.front().step <= durable_steps_) {
    const Undurable entry = undurable_.front();
    undurable_.pop_front();
    if (--unacknowledged_[entry.uploader] == 0) unacknowledged_.erase(entry.uploader);
    Job* job = core_.jobs->find_open(entry.job);
    if (job == nullptr) continue;
    job->durable_chunks = entry.chunk_no + 1;
    const auto it = job->window.find(entry.chunk_no);
    if (it != job->window.end() && it->second->phase == OpenChunk::Phase::kHeld) {
      activate(*job, *it->second, {});
    }
    update_place(*job);
  }
}

std::uint32_t Window::unacknowledged(PeerId uploader) const {
  const auto it = unacknowledged_.find(uploader);
  return it == unacknowledged_.end() ? 0 : it->second;
}

void Window::set_loaded(event::ChunkLoaded&& loaded) {
  Job* job = core_.jobs->find_open(loaded.job);
  if (job == nullptr) return;  // cancelled in the meantime
  const auto it = job->window.find(loaded.chunk_no);
  if (it == job->window.end() || it->second->phase != OpenChunk::Phase::kLoading ||
      it->second->ask != loaded.ask) {
    return;  // it was asked again, and the other answer has come or will
  }
  OpenChunk& chunk = *it->second;
  if (core_.reuse->is_outdated(loaded)) return ask(*job, chunk);
  ASSERT(loaded.cases != nullptr && loaded.cases->count() == chunk.case_count);
  ASSERT(loaded.done.size() == chunk.case_count - chunk.open_count);
  chunk.case_bytes = static_cast<std::uint32_t>(loaded.cases->bytes.size());
  const std::uint64_t memory = memory_bytes(chunk.case_bytes, chunk.case_count);
  bytes_ = bytes_ - chunk.memory_bytes + memory;
  job->window_bytes = job->window_bytes - chunk.memory_bytes + memory;
  chunk.memory_bytes = memory;
  core_.reuse->take(*job, chunk, loaded);
  if (loaded.more_known && chunk.open_count > 0) {
    ask(*job, chunk);
    return update_place(*job);  // its size is known now: there may be room for another
  }
  chunk.cases = std::move(loaded.cases);
  --job->loading_count;
  if (chunk.open_count > 0) {
    activate(*job, chunk, loaded.done);
  } else {
    remove(*job, chunk);
  }
  update_place(*job);
  core_.jobs->finish_if_done(*job);
}

// Queues the open cases. Nobody may be left who could solve them: then they go back at once, so
// that they do not keep others out.
void Window::activate(Job& job, OpenChunk& chunk, const std::vector<std::uint32_t>& done) {
  chunk.phase = OpenChunk::Phase::kActive;
  chunk.states.assign(chunk.case_count, CaseState::kQueued);
  for (const std::uint32_t index : done) {
    ASSERT(index < chunk.case_count && chunk.states[index] != CaseState::kDone);
    chunk.states[index] = CaseState::kDone;
  }
  if (!job.suspects.empty()) {
    for (std::uint32_t i = 0; i < chunk.case_count; ++i) {
      if (chunk.states[i] == CaseState::kQueued &&
          job.suspects.contains(CaseNo{chunk.first_case.value + i})) {
        chunk.states[i] = CaseState::kAlone;
        chunk.alone.push_back(i);
      }
    }
  }
  for (std::uint32_t i = 0; i < chunk.case_count; ++i) {
    if (chunk.states[i] != CaseState::kQueued) continue;
    if (chunk.queued.empty() || chunk.queued.back().first + chunk.queued.back().count != i) {
      chunk.queued.push_back({i, 0});
    }
    ++chunk.queued.back().count;
  }
  std::ranges::reverse(chunk.queued);
  job.queued_count += chunk.open_count;
  job.alone_count += chunk.alone.size();
  if (chunk.open_count > 0) job.ready_chunks.insert(chunk.chunk_no);
  if (core_.queue.lane(job.place.lane).workers == 0) put_away(job);
}

void Window::load(Job& job) {
  const BacklogChunk from = job.backlog.front();
  job.backlog.pop_front();
  ++job.loading_count;
  core_.step.note_work();
  ask(job, add(job, from));
  update_place(job);
}

void Window::ask(Job& job, OpenChunk& chunk) {
  std::optional<LookUp> look_up = chunk.keyed ? core_.reuse->look_up(job) : std::nullopt;
  chunk.looked_up = look_up.has_value();
  if (chunk.looked_up) {
    core_.step.note_work(chunk.open_count / kLookUpsPerWork);
    core_.queue.charge_store(job.place, kLookUpUs * chunk.open_count);
  }
  chunk.asked_ms = core_.step.steady_ms();
  chunk.ask = ++asks_;
  core_.step.load({.job = job.id,
                   .chunk_no = chunk.chunk_no,
                   .first_case = chunk.first_case,
                   .case_count = chunk.case_count,
                   .with_done = chunk.open_count < chunk.case_count,
                   .ask = chunk.ask,
                   .look_up = std::move(look_up)});
}

void Window::refill() {
  while (!core_.step_is_full()) {
    const auto turn = core_.queue.first_hungry();
    if (!turn) return;
    Job& job = core_.jobs->open(turn->job);
    if (!make_room(job, memory_bytes(job.backlog.front()))) return;
    load(job);
  }
}

// Puts cases of less deserving jobs away, but only for a job that otherwise has nothing to run:
// a lower priority gives way entirely, an equal one as long as it has something left. Where nobody
// would run it, it waits.
bool Window::make_room(const Job& job, std::uint64_t bytes) {
  const bool starved = job.queued_count == 0 && job.loading_count == 0 &&
                       core_.queue.lane(job.place.lane).workers > 0;
  while (!has_room(job, bytes)) {
    if (!starved) return false;
    bool evicted = false;
    int looked_at = 0;
    for (auto it = victims_.begin(); it != victims_.end() && looked_at < kVictimsMax; ++it) {
      const auto& [priority, is_small, id] = *it;
      const bool gives_way = priority < job.spec->priority ||
                             (priority == job.spec->priority && !is_small && job.window.empty());
      if (!gives_way) break;
      ++looked_at;
      if (id == job.id || !evict_one(core_.jobs->open(id))) continue;
      evicted = true;
      break;
    }
    if (!evicted) return false;
  }
  return true;
}

// Puts the last chunk of which nothing is leased back into the backlog.
bool Window::evict_one(Job& job) {
  for (auto it = job.window.rbegin(); it != job.window.rend(); ++it) {
    OpenChunk& chunk = *it->second;
    if (chunk.phase == OpenChunk::Phase::kLoading || chunk.leased_count > 0) continue;
    job.backlog.push_front({.first_case = chunk.first_case,
                            .chunk_no = chunk.chunk_no,
                            .case_count = chunk.case_count,
                            .done_count = chunk.case_count - chunk.open_count,
                            .bytes = chunk.case_bytes,
                            .keyed = chunk.keyed,
                            .tried = chunk.looked_up});
    if (chunk.phase == OpenChunk::Phase::kActive) {
      job.queued_count -= chunk.open_count;
      job.alone_count -= chunk.alone.size();
    }
    remove(job, chunk);
    update_place(job);
    return true;
  }
  return false;
}

void Window::put_away(Job& job) {
  while (evict_one(job)) {
  }
}

void Window::drop(Job& job) {
  ASSERT(job.leased_count == 0);
  core_.queue.set_ready(job.place, false);
  core_.queue.set_curious(job.place, false);
  core_.queue.set_hungry(job.place, false);
  while (!job.window.empty()) remove(job, *job.window.begin()->second);
}

// Without a worker there is nothing to do with chunks that were looked up.
void Window::bring_untried_forward(Job& job) {
  if (job.backlog.untried() == 0 || core_.queue.lane(job.place.lane).workers > 0) return;
  while (!job.backlog.front().is_untried()) job.backlog.rotate();
}

void Window::update_place(Job& job) {
  bring_untried_forward(job);
  bool hungry = false;
  if (!job.backlog.empty() && job.backlog.front().chunk_no < job.durable_chunks) {
    const BacklogChunk& next = job.backlog.front();
    const std::uint64_t bytes = memory_bytes(next);
    // Chunks of unknown size are read one by one: several could be far more than the limit.
    hungry =
        (job.window_bytes == 0 || job.window_bytes + bytes <= core_.options.job_window_bytes_max) &&
        (next.bytes > 0 || job.loading_count == 0) &&
        (!next.keyed || job.loading_count < kKeyedLoadsMax);
  }
  const bool curious = hungry && job.backlog.front().is_untried() && core_.reuse->looks_up(job);
  core_.queue.set_ready(job.place, job.queued_count > 0);
  // Curious only while hungry: becoming hungry may move its turn.
  if (!curious) core_.queue.set_curious(job.place, false);
  core_.queue.set_hungry(job.place, hungry);
  if (curious) core_.queue.set_curious(job.place, true);
}

}  // namespace puzzled::broker
