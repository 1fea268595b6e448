#include "client/scaler/loop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "client/calls.h"
#include "client/failure.h"
#include "client/interrupt.h"
#include "client/scaler/signals.h"
#include "proto/base/printable.h"

namespace puzzled::scaler {
namespace {

constexpr std::size_t kUnservedMax = 100;  // remembered: clients may invent as many as they like

Time now() {
  using std::chrono::milliseconds;
  const auto count = [](auto clock_now) {
    return std::chrono::duration_cast<milliseconds>(clock_now.time_since_epoch()).count();
  };
  return {count(std::chrono::steady_clock::now()), count(std::chrono::system_clock::now())};
}

// Names of jobs, and what Slurm says, are others' bytes.
void info(const std::string& text) { spdlog::info("{}", printable_line(text)); }
void warn(const std::string& text) { spdlog::warn("{}", printable_line(text)); }

void tell(const std::vector<Note>& notes) {
  for (const Note& note : notes) {
    note.level == Note::Level::kWarning ? warn(note.text) : info(note.text);
  }
}

}  // namespace

int Loop::run() {
  const client::Deferral deferral;  // a submission is never cut in two
  for (;;) {
    const int exit_code = turn();
    if (options_.once) return exit_code;
    pause();
    if (client::interrupted()) {
      info("asked to end; workers go on");
      return client::kExitOk;
    }
    if (take_hangup()) {
      scaler_->resume();
      info("told to go on: no back-off, no pause");
    }
  }
}

void Loop::pause() {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.interval_ms);
  wait_for_signal(until);
}

int Loop::turn() {
  Observation seen;
  ask_daemon(seen);
  if (client::interrupted()) return client::kExitInterrupted;
  if (seen.daemon_trouble.empty()) ask_engine(seen);
  const Decision decision = scaler_->decide(now(), seen);
  tell(decision.notes);
  const bool carried_out = carry_out(decision);
  tell_status();
  if (!seen.daemon_trouble.empty()) return client::kExitUnreachable;
  const bool engine_failed =
      !seen.engine_trouble.empty() || !carried_out || !scaler_->status().paused.empty();
  return engine_failed ? kExitEngine : client::kExitOk;
}

void Loop::ask_daemon(Observation& seen) {
  try {
    if (!connection_) connection_.emplace(options_.connection);
    const proto::Demand demand = client::get_demand(*connection_, options_.slot_work_ms);
    Offers served;
    proto::WorkersPage page;
    do {
      const std::uint64_t after = page.next_after();
      page = client::list_workers(*connection_, after);
      for (const proto::WorkerRow& row : page.workers()) {
        seen.workers.push_back(worker_of(row, engine_));
        if (!seen.workers.back().allocation.empty()) {
          served.insert(row.solvers().begin(), row.solvers().end());
        }
      }
      if (page.more() && page.next_after() <= after) {
        throw client::Failure(client::kExitRefused, "the daemon's pages of workers do not advance",
                              "report this as a bug of the daemon");
      }
    } while (page.more());
    // What our workers say of themselves is better than what our release could do.
    if (!served.empty()) offers_ = std::move(served);
    Offers unserved;
    seen.slots_wanted = slots_wanted(demand, offers_, unserved);
    note_unserved(unserved);
  } catch (const client::Failure& failure) {
    connection_.reset();
    if (failure.exit_code() == client::kExitInterrupted) return;
    if (failure.exit_code() != client::kExitUnreachable) throw;
    seen.daemon_trouble = failure.what();
    if (!failure.advice().empty()) seen.daemon_trouble += "; " + failure.advice();
  }
}

void Loop::note_unserved(const Offers& unserved) {
  for (const std::string& name : unserved) {
    if (told_unserved_.size() >= kUnservedMax || !told_unserved_.insert(name).second) continue;
    warn(
        fmt::format("there are cases of {}, which workers of ours do not offer: none is started "
                    "for them",
                    name));
  }
}

void Loop::ask_engine(Observation& seen) {
  auto listed = engine_.list();
  if (auto* error = std::get_if<EngineError>(&listed)) {
    seen.engine_trouble = error->text;
  } else {
    seen.allocations = std::get<std::vector<Allocation>>(std::move(listed));
  }
}

bool Loop::carry_out(const Decision& decision) {
  if (options_.dry_run) {
    std::string plan;
    if (decision.submit > 0)
      plan =
          fmt::format("would submit {} worker{}", decision.submit, decision.submit == 1 ? "" : "s");
    for (const End& end : decision.ends) {
      plan += fmt::format("{}would end {}: {}", plan.empty() ? "" : "; ", end.id, end.why);
    }
    if (plan != told_plan_) info(plan.empty() ? "would do nothing" : plan);
    told_plan_ = plan;
    return true;
  }
  bool all = true;
  for (const How how : {How::kCancel, How::kDrain, How::kKill}) {
    all = end(decision.ends, how) && all;
  }
  return (decision.submit == 0 || submit(decision.submit)) && all;
}

bool Loop::submit(std::uint32_t count) {
  auto submitted = engine_.submit(count);
  if (auto* error = std::get_if<EngineError>(&submitted)) {
    std::vector<Note> notes;
    scaler_->submit_failed(now(), error->text, notes);
    tell(notes);
    return false;
  }
  const auto& ids = std::get<std::vector<std::string>>(submitted);
  scaler_->submitted(now(), ids);
  info(fmt::format("submitted {} worker{}: {}", count, count == 1 ? "" : "s",
                   ids.size() > 1 ? ids.front() + " to " + ids.back() : ids.front()));
  return true;
}

bool Loop::end(const std::vector<End>& ends, How how) {
  std::vector<std::string> ids;
  for (const End& one : ends) {
    if (one.how == how) ids.push_back(one.id);
  }
  if (ids.empty()) return true;
  if (const auto error = engine_.end(ids, how)) {
    warn(error->text);
    return false;
  }
  for (const End& one : ends) {
    if (one.how != how) continue;
    scaler_->ended(now(), one);
    info(fmt::format("{} {}: {}",
                     how == How::kDrain    ? "asked to end:"
                     : how == How::kCancel ? "cancelled"
                                           : "killed",
                     one.id, one.why));
  }
  return true;
}

void Loop::tell_status() {
  Status status = scaler_->status();
  if (!status.trouble.empty()) return;  // told as it came
  // What changes in every round is no news by itself.
  status.paused_ms = 0;
  status.slots_wanted = std::min<std::uint64_t>(status.slots_wanted, 1);
  const std::string text = describe(status, options_.scaler);
  if (text == told_status_ && !options_.once) return;
  told_status_ = text;
  info(describe(scaler_->status(), options_.scaler));
}

}  // namespace puzzled::scaler
