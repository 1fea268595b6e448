#include "daemon/broker/suspects.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/window.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

// Workers remembered after they went; of older ones the charges stand.
constexpr std::size_t kGoneMax = 10'000;
constexpr std::uint32_t kLostParts = 4;         // what was lost again is cut into so many
constexpr std::size_t kLostMax = 64;            // ranges remembered for a job
constexpr std::size_t kMessageBytesMax = 1000;  // CaseResult.message of proto/worker.proto

}  // namespace

void Suspects::recover(Job& job, const std::vector<RecoveredAttempt>& attempts) {
  for (const RecoveredAttempt& from : attempts) {
    Suspect& suspect = job.suspects[from.case_no];
    suspect.last_attempt = std::max(suspect.last_attempt, from.attempt);
    const bool known = std::ranges::any_of(
        suspect.charges, [&](const Charge& c) { return c.start_id == from.start_id; });
    if (known) continue;
    suspect.charges.push_back({.start_id = from.start_id, .what = {}});
    gone(from.start_id).charged.emplace_back(job.id, from.case_no);
  }
}

std::uint32_t Suspects::next_attempt(const Job& job, CaseNo case_no) {
  const auto it = job.suspects.find(case_no);
  return it == job.suspects.end() ? 1 : it->second.last_attempt + 1;
}

void Suspects::isolate(Job& job, OpenChunk& chunk, std::uint32_t index) {
  job.suspects[CaseNo{chunk.first_case.value + index}];
  core_.window->requeue_alone(job, chunk, index);
}

void Suspects::charge(Lease& lease, OpenChunk& chunk, std::uint32_t index) {
  Job& job = *lease.job;
  Session& session = *lease.session;
  const CaseNo case_no{chunk.first_case.value + index};
  Suspect& suspect = job.suspects[case_no];
  suspect.last_attempt = std::max(suspect.last_attempt, lease.attempt);
  suspect.charges.push_back(
      {.start_id = session.start_id,
       .what = session.name + " (" + session.host + ", pid " + std::to_string(session.pid) + ")"});
  core_.sessions->record_worker(session);
  core_.step.record(record::InsertAttempt{
      .job = job.id,
      .chunk_no = chunk.chunk_no,
      .case_no = case_no,
      .attempt = lease.attempt,
      .worker = session.worker,
      .start_id = session.start_id,
      .ended_ms = core_.step.wall_ms(),
      .message = "the worker " + suspect.charges.back().what + " fell silent on this case"});
  gone(session.start_id).charged.emplace_back(job.id, case_no);
  if (suspect.charges.size() >= core_.options.attempts_max) {
    quarantine(lease, chunk, index, suspect);
  } else {
    core_.window->requeue_alone(job, chunk, index);
  }
}

void Suspects::note_lost(Lease& lease) {
  const auto open_cases = [&](const auto& visit) {
    for (const Piece& piece : lease.pieces) {
      for (std::uint32_t i = 0; i < piece.count; ++i) {
        if (lease.is_open[piece.position + i]) visit(piece, i);
      }
    }
  };
  Job& job = *lease.job;
  if (lease.open_count == 1) {
    open_cases([&](const Piece& piece, std::uint32_t i) {
      lease.is_open[piece.position + i] = false;
      lease.open_count = 0;
      lease.alone ? charge(lease, *piece.chunk, piece.first + i)
                  : isolate(job, *piece.chunk, piece.first + i);
    });
    return;
  }
  LostCases lost{.first = CaseNo{UINT64_MAX}, .last = {}, .together = lease.open_count};
  open_cases([&](const Piece& piece, std::uint32_t i) {
    const CaseNo case_no{piece.chunk->first_case.value + piece.first + i};
    lost.first = std::min(lost.first, case_no);
    lost.last = std::max(lost.last, case_no);
  });
  // The first time says nothing: most workers die of something else.
  const auto again = std::ranges::find_if(job.lost, [&](const LostCases& before) {
    return before.first <= lost.last && lost.first <= before.last;
  });
  if (again != job.lost.end()) {
    lost.together = std::max(1U, std::min(again->together, lost.together) / kLostParts);
  }
  job.lost.push_front(lost);
  if (job.lost.size() > kLostMax) job.lost.pop_back();
}

std::uint32_t Suspects::together_max(const Job& job, CaseNo case_no) {
  std::uint64_t most = UINT32_MAX;
  for (const LostCases& lost : job.lost) {
    if (case_no >= lost.first && case_no <= lost.last) {
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, lost.together));
    }
    if (lost.first > case_no) most = std::min(most, lost.first.value - case_no.value);
  }
  return static_cast<std::uint32_t>(most);
}

void Suspects::quarantine(Lease& lease, OpenChunk& chunk, std::uint32_t index,
                          const Suspect& suspect) {
  std::string text =
      "quarantined: " + std::to_string(suspect.charges.size()) + " workers died on this case: ";
  for (std::size_t i = 0; i < suspect.charges.size(); ++i) {
    const std::string& what = suspect.charges[i].what;
    text += (i > 0 ? "; " : "") + (what.empty() ? "one before the daemon's restart" : what);
  }
  text.resize(std::min(text.size(), kMessageBytesMax));
  const auto body = std::make_shared<const std::string>(std::move(text));
  CaseResult result;
  result.verdict = Verdict::kInternalError;
  result.message = *body;
  core_.step.record(
      record::InsertResults{.job = lease.job->id,
                            .worker = lease.session->worker,
                            .solver_version = lease.session->solver_version(lease.job->place.lane),
                            .attempt = lease.attempt,
                            .graded_ms = core_.step.wall_ms(),
                            .results = {.body = body, .results = {result}},
                            .rows = {{.case_no = CaseNo{chunk.first_case.value + index},
                                      .chunk_no = chunk.chunk_no,
                                      .index = 0}}});
  // The verdict stands, and so does its history: whoever comes back now takes nothing of it away.
  const std::pair key{lease.job->id, CaseNo{chunk.first_case.value + index}};
  for (const Charge& charge : suspect.charges) {
    const auto it = gone_.find(charge.start_id);
    if (it != gone_.end()) std::erase(it->second.worker.charged, key);
  }
  core_.window->set_done(*lease.job, chunk, index);
}

GoneWorker& Suspects::gone(const Bytes16& start_id) {
  const auto [it, added] = gone_.try_emplace(start_id);
  if (!added) return it->second.worker;
  it->second.since = ++sequence_;
  order_.emplace_back(sequence_, start_id);
  while (gone_.size() > kGoneMax || order_.size() > 2 * kGoneMax) {
    const auto [since, oldest] = order_.front();
    order_.pop_front();
    const auto found = gone_.find(oldest);
    if (found != gone_.end() && found->second.since == since) gone_.erase(found);
  }
  return gone_.at(start_id).worker;
}

void Suspects::remember(const Session& session) {
  GoneWorker& worker = gone(session.start_id);
  worker.worker = session.worker;
  worker.recorded = session.recorded;
  worker.suspect = session.suspect;
  worker.removed = session.removed;
}

std::optional<GoneWorker> Suspects::welcome_back(const Bytes16& start_id) {
  const auto it = gone_.find(start_id);
  if (it == gone_.end()) return std::nullopt;
  GoneWorker worker = std::move(it->second.worker);
  gone_.erase(it);
  for (const auto& [job_id, case_no] : worker.charged) {
    // On the disk as well, and also if another worker has graded the case by now: after a restart
    // this process may be gone for good, and nobody died of the case.
    core_.step.record(
        record::RetractAttempt{.job = job_id, .case_no = case_no, .start_id = start_id});
    Job* job = core_.jobs->find_open(job_id);
    if (job == nullptr) continue;
    const auto suspect = job->suspects.find(case_no);
    if (suspect == job->suspects.end()) continue;
    std::erase_if(suspect->second.charges, [&](const Charge& c) { return c.start_id == start_id; });
  }
  worker.charged.clear();
  return worker;
}

void Suspects::check(const Job& job) const {
  for (const auto& [case_no, suspect] : job.suspects) {
    ASSERT(case_no.value >= 1 && case_no.value <= job.case_count);
    for (auto it = suspect.charges.begin(); it != suspect.charges.end(); ++it) {
      ASSERT(std::none_of(std::next(it), suspect.charges.end(),
                          [&](const Charge& c) { return c.start_id == it->start_id; }));
    }
  }
}

}  // namespace puzzled::broker
