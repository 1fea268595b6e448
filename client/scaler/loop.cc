#include "client/scaler/loop.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "client/interrupt.h"
#include "client/scaler/signals.h"

namespace puzzled::scaler {
namespace {

constexpr std::size_t kUnservedMax = 100;  // remembered: clients may invent as many as they like

std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void tell(const std::vector<Note>& notes) {
  for (const Note& note : notes) {
    const bool is_warning = note.level == Note::Level::kWarning;
    spdlog::log(is_warning ? spdlog::level::warn : spdlog::level::info, "{}", note.text);
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
      spdlog::info("asked to end; workers go on");
      return client::kExitOk;
    }
    if (take_hangup()) {
      scaler_.resume();
      spdlog::info("told to go on: no back-off, no pause");
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
  const Decision decision = scaler_.decide(now_ms(), seen);
  tell(decision.notes);
  const bool carried_out = carry_out(decision);
  tell_status();
  if (!seen.daemon_trouble.empty()) return client::kExitUnreachable;
  const bool engine_failed =
      !seen.engine_trouble.empty() || !carried_out || !scaler_.status().paused.empty();
  return engine_failed ? kExitEngine : client::kExitOk;
}

void Loop::ask_daemon(Observation& seen) {
  try {
    if (!connection_) connection_.emplace(options_.connection);
    if (!ever_heard_) client::require_minor(*connection_, 1, "puzzle-scaler");
    const proto::Demand demand = client::get_demand(*connection_, options_.slot_work_ms);
    Offers served;
    std::vector<proto::WorkerRow> rows;
    client::each_workers_page(*connection_, [&](const proto::WorkersPage& page) {
      for (const proto::WorkerRow& row : page.workers()) {
        rows.push_back(row);
        if (engine_.allocation_of(row.name())) add_offers(row, served);
      }
    });
    ever_heard_ = true;
    // What our workers say of themselves is better than what our release could do.
    if (!served.empty()) offers_ = std::move(served);
    Wants wants(demand, offers_, options_.worker_labels);
    seen.slots_wanted = wants.slots();
    for (const proto::WorkerRow& row : rows) {
      Worker worker = worker_of(row, engine_);
      if (worker.allocation.empty()) worker.slots = worker.draining ? 0 : wants.take(row);
      seen.workers.push_back(std::move(worker));
    }
    note_unserved(wants.unserved());
  } catch (const client::Failure& failure) {
    connection_.reset();
    if (failure.exit_code() == client::kExitInterrupted) return;
    if (failure.exit_code() != client::kExitUnreachable && !ever_heard_) throw;
    seen.daemon_trouble = failure.what();
    if (!failure.advice().empty()) seen.daemon_trouble += "; " + failure.advice();
  }
}

void Loop::note_unserved(const std::set<std::string>& unserved) {
  for (const std::string& name : unserved) {
    if (told_unserved_.size() >= kUnservedMax || !told_unserved_.insert(name).second) continue;
    spdlog::warn(
        "there are cases of {}, which workers of ours do not offer: none is started for them",
        name);
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
    if (decision.submit > 0) plan = "would submit " + client::counted(decision.submit, "worker");
    for (const End& end : decision.ends) {
      plan += fmt::format("{}would end {}: {}", plan.empty() ? "" : "; ", end.id, end.why);
    }
    if (plan != told_plan_) spdlog::info("{}", plan.empty() ? "would do nothing" : plan);
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
    scaler_.submit_failed(now_ms(), error->text, notes);
    tell(notes);
    return false;
  }
  const auto& ids = std::get<std::vector<std::string>>(submitted);
  scaler_.submitted(ids);
  spdlog::info("submitted {}: {}", client::counted(count, "worker"),
               ids.size() > 1 ? ids.front() + " to " + ids.back() : ids.front());
  return true;
}

bool Loop::end(const std::vector<End>& ends, How how) {
  std::vector<std::string> ids;
  for (const End& one : ends) {
    if (one.how == how) ids.push_back(one.id);
  }
  if (ids.empty()) return true;
  if (const auto error = engine_.end(ids, how)) {
    spdlog::warn("{}", error->text);
    return false;
  }
  for (const End& one : ends) {
    if (one.how != how) continue;
    scaler_.ended(now_ms(), one);
    spdlog::info("{} {}: {}",
                 how == How::kDrain    ? "asked to end:"
                 : how == How::kCancel ? "cancelled"
                                       : "killed",
                 one.id, one.why);
  }
  return true;
}

void Loop::tell_status() {
  Status status = scaler_.status();
  if (!status.trouble.empty()) return;  // told as it came
  // What changes in every round is no news by itself.
  status.paused_ms = 0;
  status.slots_wanted = std::min<std::uint64_t>(status.slots_wanted, 1);
  const std::string text = describe(status, options_.scaler);
  if (text == told_status_ && !options_.once) return;
  told_status_ = text;
  spdlog::info("{}", describe(scaler_.status(), options_.scaler));
}

}  // namespace puzzled::scaler
