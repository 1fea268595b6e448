#include "workers/host/slot.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "proto/base/assert.h"
#include "proto/base/units.h"
#include "proto/base/verdict.h"
#include "proto/worker.pb.h"
#include "workers/host/clocks.h"

namespace puzzled::host {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kCheckAgain = 2 * kMillisecond;    // the least pause between two checks
constexpr std::int64_t kStartCheck = 100 * kMillisecond;  // while no case has begun
constexpr std::uint32_t kEarlyDeathsMax = 5;              // in a row, without a case
constexpr std::int64_t kEarly = 1'000 * kMillisecond;     // younger than this
constexpr std::uint32_t kDeathsMax = 2;
// SIGKILL is nobody's bug in a solver: an operator, or the system out of memory. It takes more of
// them until the case is blamed.
constexpr std::uint32_t kForeignKillsMax = 5;

std::int64_t to_ns(std::uint64_t us) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(us, INT64_MAX / 100'000)) * 1000;
}

void copy_name(const std::string& name, char* out) {
  // A name that is too long is no solver's name either way.
  const std::size_t length = std::min(name.size(), SharedHeader::kNameBytesMax - 1);
  std::memcpy(out, name.data(), length);
  out[length] = '\0';
}

}  // namespace

Slot::Slot(SlotNo number, const SlotOptions& options)
    : number_(number), options_(options), process_(options.show_errors) {}

void Slot::warm_up() { ensure_process(false); }

bool Slot::ensure_process(bool fresh) {
  if (fresh && used_ && process_.running()) process_.end(true);
  if (!process_.running()) {
    used_ = false;
    progress_base_ = progress_;
    if (!process_.spawn()) {
      fatal_ = process_.error();
      return false;
    }
    spawned_ns_ = monotonic_ns();
  }
  return true;
}

// ---- A lease

void Slot::start(DispatchPtr dispatch, std::vector<Event>& events) {
  ASSERT(idle());
  dispatch_ = std::move(dispatch);
  ++dispatch_no_;
  first_ = 0;
  end_ = dispatch_->case_count;
  suspect_.reset();
  suspect_deaths_ = 0;
  late_position_ = kNoPosition;
  process_.load_input(dispatch_->cases);
  run_next(events);
}

void Slot::run_next(std::vector<Event>& events) {
  if (first_ == end_) {
    finish(events);
    return;
  }
  const bool alone = dispatch_->alone || suspect_.has_value();
  if (!ensure_process(alone)) {
    return_rest(events);
    return;
  }
  run_first_ = first_;
  run_end_ = alone ? first_ + 1 : end_;
  fill_header();
  run_started_ns_ = monotonic_ns();
  mark_ns_ = 0;
  check_at_ns_ = run_started_ns_ +
                 std::clamp(to_ns(dispatch_->limits.time_limit_us), kCheckAgain, kStartCheck);
  used_ = true;
  // A child that is gone is noticed by the end of file on its socket.
  process_.tell(kRun);
}

void Slot::fill_header() {
  SharedHeader& h = process_.header();
  h.dispatch_no = dispatch_no_;
  h.cases_bytes = dispatch_->cases.size();
  h.time_limit_us = dispatch_->limits.time_limit_us;
  h.memory_limit_bytes = dispatch_->limits.memory_limit_bytes;
  h.answer_bytes_max =
      std::min<std::uint64_t>(dispatch_->limits.answer_bytes_max, wire::kAnswerBytesMax);
  h.keys_wanted = dispatch_->keys_wanted ? 1 : 0;
  copy_name(dispatch_->puzzle, h.puzzle);
  copy_name(dispatch_->solver, h.solver);
  h.start_position.store(kNoPosition, std::memory_order_relaxed);
  h.run_mono_ns.store(0, std::memory_order_relaxed);
  h.finish_mono_ns.store(0, std::memory_order_relaxed);
  h.outcome.store(ChildOutcome::kNone, std::memory_order_relaxed);
  h.peak_bytes.store(0, std::memory_order_relaxed);
  h.output.store(0, std::memory_order_relaxed);
  h.cursor.store(pack(run_end_, run_first_), std::memory_order_release);
  taken_results_ = 0;
  taken_bytes_ = 0;
}

void Slot::trim(std::vector<Event>& events) {
  if (idle()) return;
  std::atomic<std::uint64_t>& cursor = process_.header().cursor;
  std::uint64_t seen = cursor.load(std::memory_order_acquire);
  while (!cursor.compare_exchange_weak(seen, pack(low_of(seen), low_of(seen)),
                                       std::memory_order_acq_rel)) {
  }
  const std::uint32_t next = std::clamp(low_of(seen), run_first_, run_end_);
  const Range rest{next, end_ - next};
  run_end_ = end_ = next;
  if (rest.count > 0) {
    events.emplace_back(event::SlotReturned{number_, dispatch_->lease, {rest}});
  }
}

void Slot::abort(std::vector<Event>& events) {
  if (!idle()) handle_death(KillReason::kAbort, kNoPosition, events);
}

void Slot::kill() {
  if (idle()) return;
  process_.end(true);
  dispatch_.reset();
  pending_.clear();
  busy_ns_ = 0;
  check_at_ns_ = kNever;
  ensure_process(false);
}

void Slot::return_rest(std::vector<Event>& events) {
  if (first_ < end_) {
    events.emplace_back(event::SlotReturned{number_, dispatch_->lease, {{first_, end_ - first_}}});
  }
  finish(events);
}

void Slot::finish(std::vector<Event>& events) {
  emit_results(true, events);
  process_.trim_memory(dispatch_->cases.size());
  dispatch_.reset();
  check_at_ns_ = kNever;
}

void Slot::emit_results(bool finished, std::vector<Event>& events) {
  BytesPtr results;
  if (!pending_.empty()) results = std::make_shared<const std::string>(std::move(pending_));
  pending_.clear();
  const auto busy_us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, busy_ns_) / 1000);
  busy_ns_ = 0;
  if (results == nullptr && !finished) return;
  events.emplace_back(
      event::SlotResults{number_, dispatch_->lease, std::move(results), busy_us, finished});
}

// ---- What the child says

void Slot::on_readable(std::vector<Event>& events) {
  std::optional<char> byte;
  if (!process_.running() || !process_.hear(byte)) return;
  if (idle()) {  // it died while it had nothing to do
    const ProcessEnd end = process_.end(true);
    if (count_early_death(end)) ensure_process(false);
  } else if (byte == kFinished) {
    handle_finished(events);
  } else if (byte == kFull) {
    handle_full(events);
  } else {
    handle_death(KillReason::kNone, kNoPosition, events);
  }
}

void Slot::handle_finished(std::vector<Event>& events) {
  const SharedHeader& h = process_.header();
  if (high_of(h.output.load(std::memory_order_acquire)) != run_end_ - run_first_) {
    // Not what it was asked: a solver has written where it should not.
    handle_death(KillReason::kNone, kNoPosition, events);
    return;
  }
  take_output();
  early_deaths_ = 0;
  first_ = run_end_;
  suspect_.reset();
  suspect_deaths_ = 0;
  run_next(events);
}

void Slot::handle_full(std::vector<Event>& events) {
  take_output();
  emit_results(false, events);
  std::atomic<std::uint64_t>& output = process_.header().output;
  output.store(pack(high_of(output.load(std::memory_order_relaxed)), 0), std::memory_order_release);
  taken_bytes_ = 0;
  process_.tell(kGoOn);
}

void Slot::take_output() {
  const SharedHeader& h = process_.header();
  const std::uint64_t output = h.output.load(std::memory_order_acquire);
  const auto bytes = std::min<std::uint32_t>(low_of(output), kOutputArea);
  if (bytes > taken_bytes_) {
    pending_.append(process_.output() + taken_bytes_, bytes - taken_bytes_);
  }
  taken_bytes_ = bytes;
  taken_results_ = high_of(output);
  if (mark_ns_ == 0) mark_ns_ = h.run_mono_ns.load(std::memory_order_acquire);
  advance_mark(h.finish_mono_ns.load(std::memory_order_acquire));
}

void Slot::advance_mark(std::int64_t to_ns) {
  if (mark_ns_ == 0 || to_ns <= mark_ns_) return;
  busy_ns_ += to_ns - mark_ns_;
  mark_ns_ = to_ns;
}

// ---- Deaths

void Slot::handle_death(KillReason reason, std::uint32_t killed_position,
                        std::vector<Event>& events) {
  // Read before the end: the clock goes with the process.
  const std::int64_t cpu_ns = process_.cpu_ns();
  const ProcessEnd end = process_.end(true);
  check_at_ns_ = kNever;
  // If it scribbled over its results, whatever it was killed for, it may have been another case.
  if (!take_output_of_the_dead() && reason != KillReason::kAbort) reason = KillReason::kNone;
  advance_mark(monotonic_ns());
  const SharedHeader& h = process_.header();
  first_ = run_first_ + taken_results_;
  const bool at_case = first_ < run_end_ && low_of(h.cursor.load()) > first_;
  if (reason == KillReason::kAbort) {
    return_rest(events);
    return;
  }
  if (!at_case) {
    if (!count_early_death(end)) {
      return_rest(events);
      return;
    }
  } else if (reason == KillReason::kWall && killed_position == first_) {
    return_rest(events);
    return;
  } else if (reason == KillReason::kTime && killed_position == first_) {
    const std::int64_t used = cpu_ns - h.start_cpu_ns.load();
    add_verdict(first_, Verdict::kTimeLimit, static_cast<std::uint64_t>(used / 1000),
                h.peak_bytes.load(),
                fmt::format("used more than {} of CPU time",
                            format_duration_us(dispatch_->limits.time_limit_us)));
  } else if (reason == KillReason::kNone) {
    judge_death(first_, end);
  }
  run_next(events);
}

// The process ended without a case to blame. False: that happens too often to go on.
bool Slot::count_early_death(const ProcessEnd& end) {
  if (monotonic_ns() - spawned_ns_ > kEarly) return true;
  if (++early_deaths_ < kEarlyDeathsMax) return true;
  fatal_ = fmt::format("solver processes do not start: the last one {}", describe(end));
  return false;
}

// The process died at this case by itself.
void Slot::judge_death(std::uint32_t position, const ProcessEnd& end) {
  early_deaths_ = 0;
  const SharedHeader& h = process_.header();
  if (h.outcome.load() == ChildOutcome::kMemoryLimit) {
    const std::int64_t wall = monotonic_ns() - h.start_mono_ns.load();
    add_verdict(position, Verdict::kMemoryLimit,
                static_cast<std::uint64_t>(std::max<std::int64_t>(0, wall)) / 1000,
                h.peak_bytes.load(),
                fmt::format("needs more than {} of memory",
                            format_size(dispatch_->limits.memory_limit_bytes)));
    return;
  }
  if (suspect_ != position) suspect_deaths_ = 0;
  suspect_ = position;
  ++suspect_deaths_;
  const bool killed = end.by_signal && end.code == SIGKILL;
  if (suspect_deaths_ >= (killed ? kForeignKillsMax : kDeathsMax)) {
    add_verdict(position, Verdict::kCrashed, 0, h.peak_bytes.load(),
                fmt::format("the solver {}, {} times", describe(end), suspect_deaths_));
  }
}

// False: what the dead process left cannot be trusted, and nothing of it is taken.
bool Slot::take_output_of_the_dead() {
  const std::uint64_t output = process_.header().output.load(std::memory_order_acquire);
  const std::uint32_t results = high_of(output);
  const std::uint32_t bytes = low_of(output);
  bool good = results >= taken_results_ && results <= run_end_ - run_first_ &&
              bytes >= taken_bytes_ && bytes <= kOutputArea;
  proto::CaseResultList list;
  good = good && list.ParseFromArray(process_.output() + taken_bytes_,
                                     static_cast<int>(bytes - taken_bytes_));
  good = good && static_cast<std::uint32_t>(list.results_size()) == results - taken_results_;
  for (int i = 0; good && i < list.results_size(); ++i) {
    good = list.results(i).position() == run_first_ + taken_results_ + static_cast<unsigned>(i);
  }
  if (good) take_output();
  return good;
}

void Slot::add_verdict(std::uint32_t position, Verdict verdict, std::uint64_t time_us,
                       std::uint64_t memory_bytes, std::string message) {
  proto::CaseResultList one;
  proto::CaseResult& result = *one.add_results();
  result.set_position(position);
  result.set_verdict(static_cast<proto::Verdict>(verdict));
  result.set_time_us(time_us);
  result.set_memory_bytes(memory_bytes);
  result.set_message(std::move(message));
  one.AppendToString(&pending_);
  first_ = position + 1;
  suspect_.reset();
  suspect_deaths_ = 0;
}

// ---- Time

std::int64_t Slot::backstop_ns() const {
  return to_ns(dispatch_->limits.time_limit_us) * options_.backstop_factor +
         options_.backstop_extra_ms * kMillisecond;
}

// nullopt: no case has begun, or one is just ending.
std::optional<Slot::Sample> Slot::sample() const {
  const SharedHeader& h = process_.header();
  Sample now_at;
  now_at.position = h.start_position.load(std::memory_order_acquire);
  now_at.start_mono_ns = h.start_mono_ns.load(std::memory_order_acquire);
  const std::int64_t start_cpu_ns = h.start_cpu_ns.load(std::memory_order_acquire);
  now_at.cpu_ns = std::max<std::int64_t>(0, process_.cpu_ns() - start_cpu_ns);
  // The child writes these times after claiming a case and before naming it: if the case named
  // before is still the one claimed last, they are of this case.
  const std::uint32_t next = low_of(h.cursor.load(std::memory_order_acquire));
  const bool ended = run_first_ + high_of(h.output.load(std::memory_order_acquire)) == next;
  if (now_at.position == kNoPosition || now_at.position + 1 != next || ended) return std::nullopt;
  return now_at;
}

void Slot::on_check(std::vector<Event>& events) {
  if (idle()) return;
  const std::int64_t now = monotonic_ns();
  const std::optional<Sample> at = sample();
  if (!at) {
    const bool started = process_.header().run_mono_ns.load() != 0;
    if (!started && now - run_started_ns_ > options_.startup_max_ms * kMillisecond) {
      handle_death(KillReason::kStartup, kNoPosition, events);
      return;
    }
    check_at_ns_ = now + (started ? kCheckAgain : kStartCheck);
    return;
  }
  if (at->cpu_ns > to_ns(dispatch_->limits.time_limit_us)) {
    handle_death(KillReason::kTime, at->position, events);
    return;
  }
  if (now - at->start_mono_ns > backstop_ns()) {
    handle_death(KillReason::kWall, at->position, events);
    return;
  }
  if (now - at->start_mono_ns >= options_.late_ms * kMillisecond &&
      late_position_ != at->position) {
    late_position_ = at->position;
    take_output();
    emit_results(false, events);
    events.push_back(progress());
    events.emplace_back(event::SlotLate{number_, dispatch_->lease});
  }
  plan_check(*at, now);
}

// The next moment at which something could be due for the case being solved.
void Slot::plan_check(const Sample& now_at, std::int64_t now_ns) {
  const std::int64_t limit = to_ns(dispatch_->limits.time_limit_us);
  std::int64_t at = now_ns + (limit - now_at.cpu_ns) + kMillisecond;
  at = std::min(at, now_at.start_mono_ns + backstop_ns() + kMillisecond);
  if (late_position_ != now_at.position) {
    at = std::min(at, now_at.start_mono_ns + options_.late_ms * kMillisecond);
  }
  check_at_ns_ = std::max(at, now_ns + kCheckAgain);
}

event::SlotProgress Slot::progress() {
  ASSERT(!idle());
  const std::uint32_t next = low_of(process_.header().cursor.load(std::memory_order_acquire));
  const std::uint32_t position = std::max(next, run_first_ + 1) - 1;
  progress_ = std::max(
      progress_, progress_base_ + next + static_cast<std::uint64_t>(process_.cpu_ns() / 1000));
  return {number_, dispatch_->lease, std::min(position, end_ > 0 ? end_ - 1 : 0), progress_};
}

}  // namespace puzzled::host
