// The model clients and workers of the random worlds: what they say, and what they do when told.
#include "tests/broker/world.h"

namespace puzzled {

// ---- Clients.

void World::tell_client(ModelClient& client, const ClientMessage& message) {
  // Whatever is promised must be on the disk by then.
  if (const auto* sealed = std::get_if<message::JobSealed>(&message)) {
    client.accepted_seal = true;
    client.job = sealed->job.value;
    EXPECT_TRUE(disk_.jobs.at(sealed->job.value).sealed);
  }
  if (const auto* done = std::get_if<message::JobDone>(&message)) {
    client.done = true;
    const Disk::JobRow& job = disk_.jobs.at(done->job.value);
    EXPECT_TRUE(job.finished || job.cancelled) << "told too early";
  }
  if (const auto* accepted = std::get_if<message::ChunkAccepted>(&message)) {
    const auto job = std::ranges::find_if(disk_.jobs, [&](const auto& entry) {
      return entry.second.request_id == bytes16(client.id);
    });
    ASSERT_NE(job, disk_.jobs.end());
    EXPECT_TRUE(job->second.chunks.contains(accepted->chunk_no));
  }
  if (const auto* opened = std::get_if<message::JobOpened>(&message)) {
    EXPECT_TRUE(disk_.jobs.contains(opened->job.value));
    EXPECT_GE(disk_.jobs.at(opened->job.value).chunks.size(), opened->next_chunk);
    client.next = opened->next_chunk;
    client.opened = true;
  }
  if (const auto* error = std::get_if<message::Error>(&message)) {
    using message::ErrorCode;
    ++met_.errors;
    client.opened = client.sealed = false;  // ask where to go on
    if (error->code == ErrorCode::kJobCancelled) client.cancelled = true;
    EXPECT_NE(error->code, ErrorCode::kConflict) << error->text;
    EXPECT_NE(error->code, ErrorCode::kInvalidArgument) << error->text;
  }
}

void World::cancel(JobId job) {
  to_cancel_.insert(job.value);
  step(event::CancelJob{kCanceller, ++request_, job, "no more"});
}

void World::tell_canceller(const ClientMessage& message) {
  if (const auto* cancelled = std::get_if<message::JobCancelled>(&message)) {
    EXPECT_TRUE(disk_.jobs.at(cancelled->job.value).cancelled) << "told too early";
    to_cancel_.erase(cancelled->job.value);
  }
  if (const auto* error = std::get_if<message::Error>(&message)) {
    EXPECT_EQ(error->code, message::ErrorCode::kJobFinished);
  }
}

void World::move_client() {
  ModelClient& client = clients_[random_.below(clients_.size())];
  if (client.done || client.cancelled) return;
  if (client.accepted_seal) {
    step(event::WaitJob{PeerId{client.id}, ++request_, JobId{client.job}});
    return;
  }
  const PeerId peer{client.id};
  if (!client.opened) {
    JobSpec spec;
    spec.puzzle = client.puzzle;
    spec.solver = "fast";
    spec.priority = client.priority;
    spec.limits.time_limit_us = 1'000;
    step(event::OpenJob{peer, ++request_, bytes16(client.id), spec});
    client.next = 0;
    client.opened = random_.one_in(2);  // some do not wait for the reply
    return;
  }
  if (client.next < client.chunks.size()) {
    const ChunkNo no = client.next++;
    step(event::AddChunk{
        peer, ++request_, bytes16(client.id), no, {}, make_cases(client.chunks[no], 7), kHash});
  } else if (!client.sealed || random_.one_in(3)) {
    client.sealed = true;
    std::uint64_t digest = wire::kEmptyDigest;
    std::uint64_t cases = 0;
    for (const std::uint32_t chunk : client.chunks) {
      digest = wire::fold_digest(digest, kHash);
      cases += chunk;
    }
    step(event::SealJob{peer, ++request_, bytes16(client.id),
                        static_cast<std::uint32_t>(client.chunks.size()), cases, 0, digest});
  }
}

// ---- Workers.

void World::add_worker() {
  ModelWorker worker;
  for (auto& byte : worker.start) byte = static_cast<std::uint8_t>(random_.below(256));
  worker.capacity = random_.from_to(1, 4);
  for (const std::string& puzzle : kPuzzles) {
    if (!random_.one_in(3)) worker.puzzles.push_back(puzzle);
  }
  workers_.push_back(std::move(worker));
}

void World::say_ready(ModelWorker& worker) {
  if (worker.peer == 0) worker.peer = ++connection_base_;
  worker.wants_ready = false;
  event::WorkerReady e;
  e.peer = PeerId{worker.peer};
  e.start_id = worker.start;
  e.name = "w";
  e.capacity = worker.capacity;
  for (const std::string& puzzle : worker.puzzles) e.offers.push_back({puzzle, "fast", "1"});
  e.boot = worker.boot;
  for (const auto& [id, held] : worker.leases) e.leases.push_back(LeaseId{id});
  step(std::move(e));
}

void World::tell(ModelWorker& worker, const message::Welcome& m) {
  if (m.boot.value == 0) {
    worker.wants_ready = true;
    return;
  }
  if (m.boot != worker.boot) worker.leases.clear();
  worker.boot = m.boot;
}

void World::tell(ModelWorker& worker, const message::Dispatch& m) {
  ++met_.dispatches;
  met_.alone += m.alone ? 1 : 0;
  EXPECT_EQ(m.boot, boot_);
  if (m.boot != worker.boot) return;
  ModelWorker::Held held;
  held.attempt = m.attempt;
  for (const message::Slice& slice : m.slices) {
    EXPECT_GT(slice.count, 0U);
    EXPECT_TRUE(std::ranges::any_of(disk_.jobs.at(m.job.value).chunks, [&](const auto& entry) {
      return entry.second.cases == slice.cases;
    })) << "dispatched before it was durable";
    EXPECT_LE(slice.first + slice.count, slice.cases->count());
    held.count += slice.count;
  }
  EXPECT_LE(held.count, options_.dispatch_cases_max);
  for (std::uint32_t i = 0; i < held.count; ++i) held.open.insert(i);
  EXPECT_TRUE(worker.leases.emplace(m.lease.value, held).second);
}

void World::tell(ModelWorker& worker, const message::Stored& m) {
  const auto it = worker.leases.find(m.lease.value);
  if (it == worker.leases.end()) return;
  it->second.unstored.erase(m.part);
  if (it->second.unstored.empty() && it->second.open.empty()) worker.leases.erase(it);
}

void World::tell(ModelWorker& worker, const message::Stale& m) {
  ++met_.stale;
  worker.leases.erase(m.lease.value);
}

void World::tell(ModelWorker& worker, const message::Revoke& m) {
  met_.revoked += m.leases.size();
  for (const LeaseId lease : m.leases) worker.leases.erase(lease.value);
}

void World::tell(ModelWorker& worker, const message::Refused& m) {
  ADD_FAILURE() << "a worker was refused: " << m.text;
  worker.dead = true;
}

void World::send_part(ModelWorker& worker, std::uint64_t lease, std::uint32_t part) {
  const ModelWorker::Held& held = worker.leases.at(lease);
  step(event::WorkerResults{PeerId{worker.peer}, worker.boot, LeaseId{lease}, held.attempt, part,
                            make_results(held.unstored.at(part)), random_.below(10'000),
                            worker.capacity});
}

void World::beat(ModelWorker& worker) {
  event::WorkerHeartbeat e;
  e.peer = PeerId{worker.peer};
  e.boot = worker.boot;
  e.capacity = worker.capacity;
  for (const auto& [id, held] : worker.leases) {
    e.leases.push_back(LeaseId{id});
    if (!held.open.empty()) e.slots.push_back({LeaseId{id}, *held.open.begin(), ++worker.progress});
  }
  step(std::move(e));
}

void World::work(ModelWorker& worker) {
  if (worker.leases.empty()) return;
  auto it = worker.leases.begin();
  std::advance(it, static_cast<std::ptrdiff_t>(random_.below(worker.leases.size())));
  const std::uint64_t lease = it->first;
  ModelWorker::Held& held = it->second;
  if (!held.unstored.empty() && random_.one_in(4)) {
    return send_part(worker, lease, held.unstored.begin()->first);
  }
  if (held.open.empty()) return;
  std::vector<std::uint32_t> some;
  while (!held.open.empty() && (some.empty() || !random_.one_in(20))) {
    some.push_back(*held.open.begin());
    held.open.erase(held.open.begin());
  }
  if (!calm_ && random_.one_in(6)) {
    event::WorkerReturn e{PeerId{worker.peer}, worker.boot, LeaseId{lease},
                          held.attempt,        {},          worker.capacity};
    for (const std::uint32_t position : some) e.positions.push_back({position, 1});
    if (held.open.empty() && held.unstored.empty()) worker.leases.erase(it);
    return step(std::move(e));
  }
  held.unstored[held.next_part] = std::move(some);
  send_part(worker, lease, held.next_part++);
}

void World::move_worker() {
  ModelWorker& worker = workers_[random_.below(workers_.size())];
  if (worker.dead) return;
  if (worker.peer == 0 || worker.wants_ready) return say_ready(worker);
  random_.one_in(3) ? beat(worker) : work(worker);
}

}  // namespace puzzled
