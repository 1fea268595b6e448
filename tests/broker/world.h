// Model clients, workers, a store and a network in one thread, all from a seed. After every step
// the broker checks its invariants; in the end every case must have exactly one result on record.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "daemon/broker/broker.h"
#include "tests/broker/driver.h"
#include "tests/broker/model_disk.h"

namespace puzzled {

struct ModelWorker {
  struct Held {
    std::uint32_t attempt = 1;
    std::uint32_t count = 0;
    std::set<std::uint32_t> open;
    std::uint32_t next_part = 0;
    bool sent_all = false;
    std::map<std::uint32_t, std::vector<std::uint32_t>> unstored;
  };
  std::uint64_t peer = 0;
  Bytes16 start{};
  std::vector<std::string> puzzles;
  std::uint32_t capacity = 1;
  Boot boot;
  bool wants_ready = true;
  bool dead = false;
  std::map<std::uint64_t, Held> leases;
  std::uint64_t progress = 0;
};

struct ModelClient {
  std::uint8_t id = 0;
  std::string puzzle;
  std::int32_t priority = 0;
  std::vector<std::uint32_t> chunks;
  std::uint32_t next = 0;
  bool opened = false;
  bool sealed = false;
  bool accepted_seal = false;
  bool cancelled = false;
  std::uint64_t job = 0;
  bool done = false;  // was told so
};

// What the runs came across: a test that meets no fault proves nothing.
struct Met {
  std::uint64_t dispatches = 0;
  std::uint64_t alone = 0;
  std::uint64_t results = 0;
  std::uint64_t attempts = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t stale = 0;
  std::uint64_t revoked = 0;
  std::uint64_t loads = 0;
  std::uint64_t loads_with_done = 0;
  std::uint64_t restarts = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t finished = 0;
  std::uint64_t errors = 0;
};

class World {
 public:
  World(std::uint64_t seed, Met& met) : random_(seed), met_(met) {
    options_.heartbeat_interval_ms = random_.from_to(10, 200);
    options_.liveness_ms = options_.heartbeat_interval_ms * 3;
    options_.lease_margin_ms = random_.from_to(1, 5'000);
    options_.dispatch_cases_first = random_.from_to(1, 20);
    options_.dispatch_cases_max = random_.from_to(1, 60);
    options_.dispatch_bytes_max = random_.from_to(50, 2'000);
    options_.attempts_max = random_.from_to(1, 4);
    options_.window_bytes_max = random_.from_to(500, 20'000);
    options_.job_window_bytes_max = random_.from_to(500, 10'000);
    options_.undurable_results_bytes_max = random_.from_to(500, 50'000);
    options_.unacknowledged_chunks_max = random_.from_to(1, 4);
    restart();
    const std::uint32_t clients = random_.from_to(1, 8);
    for (std::uint32_t i = 0; i < clients; ++i) {
      ModelClient client;
      client.id = static_cast<std::uint8_t>(i + 1);
      client.puzzle = kPuzzles[random_.below(kPuzzles.size())];
      client.priority = static_cast<std::int32_t>(random_.from_to(0, 2)) - 1;
      for (std::uint32_t n = random_.from_to(0, 12); n > 0; --n) {
        client.chunks.push_back(random_.from_to(random_.one_in(5) ? 0 : 1, 50));
      }
      clients_.push_back(std::move(client));
    }
    for (std::uint32_t n = random_.from_to(1, 5); n > 0; --n) add_worker();
  }

  void run() {
    for (int i = 0; i < 3'000; ++i) chaos();
    calm_ = true;
    // One worker that can do everything, and time for all that was begun to end.
    add_worker();
    workers_.back().puzzles = kPuzzles;
    for (int i = 0; i < 30'000 && !all_done(); ++i) peace();
    EXPECT_TRUE(all_done()) << "something waits for ever" << state();
    for (const auto& [id, job] : disk_.jobs) {
      if (job.cancelled) continue;
      std::uint64_t cases = 0;
      for (const auto& [no, chunk] : job.chunks) cases += chunk.cases->count();
      EXPECT_EQ(job.results.size(), cases);
      EXPECT_TRUE(job.finished);
    }
    EXPECT_EQ(broker_->leases(), 0U);
  }

 private:
  // ---- The daemon's shell.
  void restart() {
    ++met_.restarts;
    uncommitted_.clear();
    held_.clear();
    loads_.clear();
    boot_ = Boot{boot_.value + 1};
    durable_ = 0;
    broker_ = std::make_unique<Broker>(options_, disk_.recover(boot_));
    connection_base_ += 1'000;
    for (ModelWorker& worker : workers_) worker.peer = 0;  // every connection is gone
    for (ModelClient& client : clients_) {
      client.opened = false;
      client.sealed = false;
    }
  }

  void step(Event event) {
    Effects effects;
    broker_->step(now_, std::move(event), effects);
    broker_->check_invariants();
    count(effects);
    if (!effects.records.empty()) {
      ASSERT_GT(effects.step, last_step());
      uncommitted_.push_back({effects.step, std::move(effects.records)});
    }
    for (Send& send : effects.when_durable) held_.push_back({effects.step, std::move(send)});
    for (const LoadChunk& load : effects.loads) loads_.push_back({last_step(), load});
    for (const Send& send : effects.now) deliver(send);
    for (const CompareChunk& one : effects.comparisons) {
      step(event::ChunkCompared{one.peer, one.request, one.chunk_no, one.hash == kHash});
    }
  }
  void count(const Effects& effects) {
    for (const Record& record : effects.records) {
      met_.attempts += std::holds_alternative<record::InsertAttempt>(record) ? 1 : 0;
      met_.cancelled += std::holds_alternative<record::CancelJob>(record) ? 1 : 0;
      met_.finished += std::holds_alternative<record::FinishJob>(record) ? 1 : 0;
      const auto* results = std::get_if<record::InsertResults>(&record);
      if (results == nullptr) continue;
      met_.results += results->rows.size();
      met_.quarantined += results->results.results[0].message.starts_with("quarantined: ") ? 1 : 0;
    }
    for (const LoadChunk& load : effects.loads) {
      ++met_.loads;
      met_.loads_with_done += load.with_done ? 1 : 0;
    }
  }
  [[nodiscard]] std::uint64_t last_step() const {
    return uncommitted_.empty() ? durable_ : uncommitted_.back().first;
  }
  void commit() {
    if (uncommitted_.empty()) return release();
    std::uint64_t n = 1 + random_.below(uncommitted_.size());
    for (; n > 0; --n) {
      durable_ = uncommitted_.front().first;
      for (const Record& record : uncommitted_.front().second) disk_.apply(record);
      uncommitted_.pop_front();
    }
    step(event::RecordsDurable{durable_});
    release();
  }
  void release() {
    while (!held_.empty() && held_.front().first <= durable_) {
      const Send send = std::move(held_.front().second);
      held_.pop_front();
      deliver(send);
    }
  }
  void load() {
    if (loads_.empty()) return;
    while (durable_ < loads_.front().first && !uncommitted_.empty()) commit();
    if (loads_.empty() || durable_ < loads_.front().first) return;
    const LoadChunk load = loads_.front().second;
    loads_.pop_front();
    const Disk::Chunk& chunk = disk_.jobs.at(load.job.value).chunks.at(load.chunk_no);
    std::vector<std::uint32_t> done;
    if (load.with_done) done.assign(chunk.done.begin(), chunk.done.end());
    EXPECT_EQ(chunk.cases->count(), load.case_count);
    step(event::ChunkLoaded{load.job, load.chunk_no, chunk.cases, std::move(done), load.ask});
  }

  // ---- The network. What is sent to a connection that is gone is lost.
  void deliver(const Send& send) {
    if (const auto* to_client = std::get_if<ClientMessage>(&send.what)) {
      if (send.to == kCanceller) tell_canceller(*to_client);
      for (ModelClient& client : clients_) {
        if (client.id == send.to.value) tell_client(client, *to_client);
      }
      return;
    }
    for (ModelWorker& worker : workers_) {
      if (worker.peer != send.to.value || worker.peer == 0 || worker.dead) continue;
      std::visit([&](const auto& m) { tell(worker, m); }, std::get<WorkerMessage>(send.what));
      return;
    }
  }

  // ---- Clients.
  void tell_client(ModelClient& client, const ClientMessage& message);
  // Cancelling is promised with the commit, too: who gets no answer asks again.
  void cancel(JobId job);
  void tell_canceller(const ClientMessage& message);
  void move_client();

  // ---- Workers.
  void add_worker();
  void say_ready(ModelWorker& worker);
  void tell(ModelWorker& worker, const message::Welcome& m);
  void tell(ModelWorker& worker, const message::Dispatch& m);
  void tell(ModelWorker& worker, const message::Stored& m);
  void tell(ModelWorker& worker, const message::Stale& m);
  void tell(ModelWorker& worker, const message::Revoke& m);
  void tell(ModelWorker&, const message::Drain&) {}
  void tell(ModelWorker&, const message::Heartbeat&) {}
  void tell(ModelWorker& worker, const message::Refused& m);
  void send_part(ModelWorker& worker, std::uint64_t lease, std::uint32_t part);
  void beat(ModelWorker& worker);
  void work(ModelWorker& worker);
  void move_worker();
  // Something bad, or just unusual.
  void fault() {
    ModelWorker& worker = workers_[random_.below(workers_.size())];
    switch (random_.below(7)) {
      case 0:  // dies; another process takes its place
        worker.dead = true;
        if (random_.one_in(2) && worker.peer != 0) step(event::WorkerGone{PeerId{worker.peer}});
        std::erase_if(workers_, [](const ModelWorker& w) { return w.dead; });
        return add_worker();
      case 1:  // loses its connection
        if (worker.peer != 0) step(event::WorkerGone{PeerId{worker.peer}});
        worker.peer = 0;
        return;
      case 2: {  // goes away properly
        if (worker.peer != 0) step(event::WorkerGoodbye{PeerId{worker.peer}, "bye"});
        worker.dead = true;
        std::erase_if(workers_, [](const ModelWorker& w) { return w.dead; });
        return add_worker();
      }
      case 3:
        worker.capacity = random_.from_to(0, 4);
        return;
      case 4:
        if (random_.one_in(3)) restart();
        return;
      case 5:
        return pass(options_.liveness_ms);
      default:
        if (!disk_.jobs.empty() && random_.one_in(6)) {
          cancel(disk_job());
        }
    }
  }
  // Who waits for what, for people who look into a failure.
  [[nodiscard]] std::string state() const {
    std::string text;
    for (const auto& [id, job] : disk_.jobs) {
      if (job.cancelled || job.finished) continue;
      std::uint64_t cases = 0;
      for (const auto& [no, chunk] : job.chunks) cases += chunk.cases->count();
      const JobView view = broker_->job_view(JobId{id});
      text += "\njob " + std::to_string(id) + " of " + job.spec->puzzle +
              (job.sealed ? " sealed" : " open") + ", " + std::to_string(job.results.size()) +
              " of " + std::to_string(cases) + " done, " + std::to_string(view.leased) +
              " leased; " + view.waiting_for;
    }
    for (const ModelClient& client : clients_) {
      if (client.done || client.cancelled) continue;
      text += "\nclient " + std::to_string(client.id) + (client.opened ? " opened" : "") +
              " at chunk " + std::to_string(client.next) + " of " +
              std::to_string(client.chunks.size()) + (client.sealed ? " sealed" : "") +
              (client.accepted_seal ? " accepted" : "");
    }
    for (const ModelWorker& worker : workers_) {
      text += "\nworker on " + std::to_string(worker.peer) + " holds " +
              std::to_string(worker.leases.size()) + " of " + std::to_string(worker.capacity) +
              (worker.wants_ready ? " wants ready" : "");
    }
    return text + "\n" + std::to_string(uncommitted_.size()) + " steps uncommitted";
  }
  JobId disk_job() {
    auto it = disk_.jobs.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_.below(disk_.jobs.size())));
    return JobId{it->first};
  }

  void pass(std::uint64_t ms) {
    now_.steady_ms += static_cast<std::int64_t>(ms);
    now_.wall_ms += static_cast<std::int64_t>(ms);
    step(event::Tick{});
  }
  void chaos() {
    switch (random_.below(12)) {
      case 0:
        return fault();
      case 1:
      case 2:
        return commit();
      case 3:
        return load();
      case 4:
        return pass(random_.below(options_.heartbeat_interval_ms));
      case 5:
      case 6:
        return move_client();
      default:
        return move_worker();
    }
  }
  void peace() {
    const std::set<std::uint64_t> open = to_cancel_;
    for (const std::uint64_t job : open) {
      if (disk_.jobs.at(job).finished) {
        to_cancel_.erase(job);
      } else {
        cancel(JobId{job});
      }
    }
    move_client();
    commit();
    load();
    pass(random_.below(options_.heartbeat_interval_ms / 4));
    for (ModelWorker& worker : workers_) {
      if (worker.dead) continue;
      worker.capacity = std::max(1U, worker.capacity);
      if (worker.peer == 0 || worker.wants_ready) {
        say_ready(worker);
      } else {
        beat(worker);
        work(worker);
      }
    }
  }
  [[nodiscard]] bool all_done() const {
    for (const ModelClient& client : clients_) {
      if (!client.done && !client.cancelled) return false;
    }
    for (const auto& [id, job] : disk_.jobs) {
      if (!job.cancelled && !job.finished) return false;
    }
    return to_cancel_.empty() && uncommitted_.empty() && broker_->leases() == 0;
  }

  static constexpr PeerId kCanceller{99};
  Random random_;
  Met& met_;
  BrokerOptions options_;
  bool calm_ = false;
  Now now_{1'000, 1'700'000'000'000};
  Boot boot_;
  std::unique_ptr<Broker> broker_;
  Disk disk_;
  std::deque<std::pair<std::uint64_t, std::vector<Record>>> uncommitted_;
  std::deque<std::pair<std::uint64_t, Send>> held_;
  std::deque<std::pair<std::uint64_t, LoadChunk>> loads_;
  std::uint64_t durable_ = 0;
  std::uint64_t request_ = 0;
  std::uint64_t connection_base_ = 1'000;
  std::set<std::uint64_t> to_cancel_;
  std::vector<ModelClient> clients_;
  std::vector<ModelWorker> workers_;
};

}  // namespace puzzled
