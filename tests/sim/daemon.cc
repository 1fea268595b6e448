#include "tests/sim/daemon.h"

#include <string>
#include <utility>
#include <variant>

#include "daemon/broker/trace.h"

namespace puzzled::sim {

Now Daemon::now() const { return {sim_.now_ms, wall_offset_ms_ + sim_.now_ms}; }

void Daemon::start() {
  if (up()) return;
  ++started_;
  last_sequence_ = durable_step_ = 0;
  submitted_.clear();
  held_.clear();
  gone_.clear();
  timer_ms_ = drain_until_ms_ = kNever;
  if (disk_.committed().boot == 0 || !mutant_.is(Mutation::kBootNotRaised)) disk_.raise_boot();
  Tables tables = disk_.committed();
  mutant_.change(tables);
  Recovery recovery = tables.recover();
  sim_.note(2, recovery.boot.value,
            [&] { return "daemon: starts, boot " + std::to_string(recovery.boot.value); });
  oracle_.daemon_started(recovery.boot);
  broker_ = std::make_unique<Broker>(params_.broker, std::move(recovery));
  disk_.open([this](Report report) { handle(std::move(report)); });
  network_.bind([this](Event event) { step(std::move(event)); });
  swept_ = {};
  sweep_again();
  step(event::Tick{});
}

void Daemon::sweep_again() {
  if (!sweeps_) return;
  sim_.after(params_.sweep_ms, [this, started = started_] {
    if (started != started_) return;
    step(event::Sweep{.after = swept_, .durable_steps = durable_step_});
    sweep_again();
  });
}

void Daemon::crash() {
  if (!up()) return;
  sim_.note(3, 0, [] { return "daemon: ends"; });
  disk_.crash();
  end();
}

void Daemon::end() {
  broker_.reset();
  ++started_;
  network_.unbind();
  oracle_.daemon_stopped();
  sim_.after(sim_.random.from_to(0, params_.restart_ms), [this] { start(); });
}

void Daemon::terminate() {
  if (!up() || drain_until_ms_ != kNever) return;
  sim_.note(4, 0, [] { return "daemon: SIGTERM"; });
  drain_until_ms_ = sim_.now_ms + params_.drain_ms;
  sim_.after(params_.drain_ms, [this, started = started_] {
    if (started != started_) return;
    disk_.flush();  // what was handed to the store's thread is written before it ends
    crash();
  });
  step(event::DrainWorkers{});
}

void Daemon::end_if_drained() {
  if (drain_until_ms_ == kNever || broker_->leases() > 0 || !submitted_.empty() || !held_.empty()) {
    return;
  }
  crash();
}

// ---- Steps.

// A peer that turns out to be gone is an event of its own, once the step is carried out.
void Daemon::step(Event event) {
  if (!up()) return;
  one_step(std::move(event));
  while (up() && !gone_.empty()) {
    Event gone = std::move(gone_.front());
    gone_.pop_front();
    one_step(std::move(gone));
  }
  if (!up()) return;
  arm();
  end_if_drained();
}

void Daemon::one_step(Event event) {
  Event mutated = event;
  oracle_.before(event);
  mutant_.change(mutated);
  Effects effects;
  broker_->step(now(), std::move(mutated), effects);
  broker_->check_invariants();
  if (std::holds_alternative<event::Sweep>(event)) {
    swept_ = effects.swept;
    findings_ += effects.findings.size();
    // The sweeper is a second opinion: without a lost wake-up there is nothing to find.
    const bool may_find = mutant_.is(Mutation::kLoadLost) || mutant_.is(Mutation::kDurableLost);
    if (!effects.findings.empty() && !may_find) {
      throw Violation{1, "the sweeper found: " + effects.findings.front().text};
    }
  }
  sim_.note(5, effects.step, [&] {
    std::string text = "daemon: " + describe(event) + "\n" + describe(effects);
    text.pop_back();
    return text;
  });
  for (const std::size_t size :
       {effects.records.size(), effects.now.size(), effects.when_durable.size(),
        effects.loads.size(), effects.comparisons.size(), effects.canary_loads.size()}) {
    sim_.fold(size);
  }
  mutant_.change(event, effects);
  oracle_.check_records(event, effects);
  oracle_.check_canaries(event, effects);
  oracle_.check_answers(event, effects);
  carry_out(effects);
  oracle_.check_taken_back(event);
  if (mutant_.is(Mutation::kDispatchEarly) && effects.step > durable_step_ &&
      !std::holds_alternative<event::RecordsDurable>(event)) {
    one_step(event::RecordsDurable{effects.step});
  }
}

void Daemon::carry_out(Effects& effects) {
  if (!effects.records.empty() || !effects.loads.empty() || !effects.comparisons.empty() ||
      !effects.canary_loads.empty()) {
    ++last_sequence_;
    if (!effects.records.empty()) submitted_.push_back({last_sequence_, effects.step});
    disk_.submit({last_sequence_, std::move(effects.records), std::move(effects.loads),
                  std::move(effects.comparisons), std::move(effects.canary_loads)});
  }
  oracle_.check_dispatches(effects);
  std::vector<Send> sends;
  for (Send& send : effects.when_durable) {
    if (effects.step <= durable_step_) {
      sends.push_back(std::move(send));
    } else {
      held_.push_back({effects.step, std::move(send)});
    }
  }
  for (Send& send : effects.now) sends.push_back(std::move(send));
  for (const Send& one : sends) send(one);
}

void Daemon::send(const Send& send) {
  oracle_.released(send);
  sim_.fold(send.to.value);
  if (const auto* to_client = std::get_if<ClientMessage>(&send.what)) {
    if (!network_.send(send.to, *to_client)) gone_.emplace_back(event::ClientGone{send.to});
  } else if (!network_.send(send.to, std::get<WorkerMessage>(send.what))) {
    gone_.emplace_back(event::WorkerGone{send.to});
  }
}

void Daemon::arm() {
  const std::int64_t at_ms = broker_->next_deadline();
  if (at_ms >= timer_ms_) return;
  timer_ms_ = at_ms;
  sim_.after(at_ms - sim_.now_ms, [this, at_ms, started = started_] {
    if (started != started_ || timer_ms_ != at_ms) return;
    timer_ms_ = kNever;
    if (broker_->next_deadline() <= sim_.now_ms) {
      step(event::Tick{});
    } else {
      arm();
    }
  });
}

// ---- The store's reports.

void Daemon::handle(Report report) {
  // The shell knows of a commit even if the broker does not hear of it.
  lose_next_ = mutant_.loses(report);
  if (lose_next_ && std::holds_alternative<event::ChunkLoaded>(report)) return;
  std::visit([this](const auto& what) { on(what); }, report);
}

void Daemon::on(const Committed& committed) {
  const std::uint64_t before = durable_step_;
  while (!submitted_.empty() && submitted_.front().sequence <= committed.sequence) {
    durable_step_ = submitted_.front().step;
    submitted_.pop_front();
  }
  if (durable_step_ == before) return;
  while (!held_.empty() && held_.front().step <= durable_step_) {
    const Send one = std::move(held_.front().send);
    held_.pop_front();
    send(one);
  }
  if (!std::exchange(lose_next_, false)) step(event::RecordsDurable{durable_step_});
}

}  // namespace puzzled::sim
