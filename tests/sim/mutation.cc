#include "tests/sim/mutation.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "proto/base/digest.h"

namespace puzzled::sim {
namespace {

template <class Message, class Side>
bool holds(const Send& send) {
  const auto* side = std::get_if<Side>(&send.what);
  return side != nullptr && std::holds_alternative<Message>(*side);
}

void drop_last_chunk(JobRow& job) {
  job.case_count -= job.chunks.back().cases->count();
  job.done_count -= job.chunks.back().done_count;
  job.chunks.pop_back();
  job.digest = wire::kEmptyDigest;
  for (const ChunkRow& chunk : job.chunks) job.digest = wire::fold_digest(job.digest, chunk.hash);
}

}  // namespace

std::optional<Mutation> find_mutation(std::string_view name) {
  for (const MutationName& known : kMutations) {
    if (known.name == name) return known.mutation;
  }
  return std::nullopt;
}

void Mutant::change(Tables& tables) const {
  if (is(Mutation::kJobLost) && !tables.jobs.empty()) {
    tables.jobs.erase(std::prev(tables.jobs.end()));
    return;
  }
  if (is(Mutation::kUnprovenForgotten)) tables.unproven.clear();
  if (is(Mutation::kBarForgotten)) tables.barred.clear();
  for (auto& [id, job] : tables.jobs) {
    const bool open = !job.cancelled && !job.finished;
    if (is(Mutation::kChunkLost) && open && !job.sealed && !job.chunks.empty()) {
      drop_last_chunk(job);
    } else if (is(Mutation::kIdForgotten) && open) {
      job.request_id[0] ^= 0xffU;
    } else if (is(Mutation::kCancelForgotten)) {
      job.cancelled = false;
    } else if (is(Mutation::kCanaryAnywhere) && job.finished && job.canary) {
      JobSpec spec = *job.spec;
      spec.require.clear();
      spec.solver_version.clear();
      job.spec = std::make_shared<const JobSpec>(std::move(spec));
    } else if (is(Mutation::kDoneReopened) && open) {
      for (ChunkRow& chunk : job.chunks) {
        job.done_count -= std::exchange(chunk.done_count, 0);
        chunk.done.assign(chunk.done.size(), false);
      }
    }
  }
}

void Mutant::change(Event& event) const {
  if (auto* e = std::get_if<event::WorkerResults>(&event)) {
    std::vector<CaseResult>& results = e->results.results;
    if (is(Mutation::kCreditLost)) e->capacity = 0;
    if (is(Mutation::kCreditExceeded)) e->capacity += 2;
    answer_canary(*e);
    if (is(Mutation::kResultsSwapped) && results.size() >= 2) {
      std::swap(results[0].position, results[1].position);
    }
  } else if (auto* ready = std::get_if<event::WorkerReady>(&event)) {
    // Who is barred passes for somebody else.
    const bool is_barred = std::ranges::any_of(
        disk_.submitted().barred, [&](const Barred& one) { return one.host == ready->host; });
    if (is_barred && is(Mutation::kBadWorkerKept)) ready->host += "'";
    if (is(Mutation::kLabelsIgnored)) ready->labels = {{"zone", "a"}};
    if (is(Mutation::kVersionIgnored)) {
      for (SolverOffer& offer : ready->offers) offer.version = "v1";
    }
  } else if (auto* control = std::get_if<event::ControlWorkers>(&event)) {
    const bool drains = control->action == event::WorkerAction::kDrain;
    if (is(Mutation::kDrainIgnored) && drains) control->action = event::WorkerAction::kResume;
  } else if (auto* compared = std::get_if<event::ChunkCompared>(&event)) {
    compared->same = compared->same || is(Mutation::kOtherAccepted);
  } else if (auto* loaded = std::get_if<event::ChunkLoaded>(&event)) {
    find_answers(*loaded);
  } else if (auto* beat = std::get_if<event::WorkerHeartbeat>(&event)) {
    if (is(Mutation::kCreditLost)) beat->capacity = 0;
    if (is(Mutation::kCreditExceeded)) beat->capacity += 2;
    if (is(Mutation::kListIgnored)) {
      for (const LeaseId id : oracle_.unanswered_leases(beat->peer)) beat->leases.push_back(id);
    }
    if (is(Mutation::kChargeInnocent)) {
      for (event::BusySlot& slot : beat->slots) slot.position = slot.position > 0 ? 0 : 1;
    }
  }
}

bool Mutant::loses(const Report& report) {
  constexpr std::uint64_t kOneOf = 3;
  // Each of these costs as long as the sweeper waits before it asks again: only a few.
  constexpr std::uint64_t kLoadsMax = 12;
  if (is(Mutation::kLoadLost) && std::holds_alternative<event::ChunkLoaded>(report)) {
    return ++reports_ % kOneOf == 0 && reports_ <= kLoadsMax;
  }
  return is(Mutation::kDurableLost) && std::holds_alternative<Committed>(report) &&
         ++reports_ % kOneOf == 0;
}

void Mutant::change(const Event& event, Effects& effects) const {
  hurry(effects);
  change_revision(event, effects);
  if (is(Mutation::kStaleLost)) {
    std::erase_if(effects.now, holds<message::Stale, WorkerMessage>);
  }
  if (is(Mutation::kRequeueTwice) && std::holds_alternative<event::WorkerReturn>(event)) {
    const std::vector<Send> sends = effects.now;
    for (Send twice : sends) {
      if (!holds<message::Dispatch, WorkerMessage>(twice)) continue;
      std::get<message::Dispatch>(std::get<WorkerMessage>(twice.what)).lease.value += 1ULL << 40U;
      effects.now.push_back(std::move(twice));
    }
  }
  if (const auto* e = std::get_if<event::WorkerResults>(&event); e && is(Mutation::kNoFence)) {
    let_through(*e, effects);
  }
}

// What the worker says of the canary in these results becomes the known answer, or another.
void Mutant::answer_canary(event::WorkerResults& results) const {
  const LeaseFacts* lease = oracle_.lease(results.lease);
  if (lease == nullptr || !lease->canary) return;
  for (CaseResult& result : results.results.results) {
    if (result.position != lease->canary->position) continue;
    if (is(Mutation::kCanaryOverlooked)) {
      result.verdict = lease->canary->known.verdict;
      result.answer = lease->canary->known.answer;
    } else if (is(Mutation::kCanaryUnjust)) {
      result.answer = "another";
    }
  }
}

// Answers that the store would not have given.
void Mutant::find_answers(event::ChunkLoaded& loaded) const {
  if (!loaded.look_up) return;
  LookUp look_up = *loaded.look_up;
  if (is(Mutation::kAnswerOfOtherVersion)) {
    look_up.solver_version = look_up.solver_version == "v1" ? "v2" : "v1";
  } else if (!is(Mutation::kAnswerUnproven)) {
    return;
  }
  loaded.known.clear();
  for (const KnownAnswer& known : disk_.committed().known_answers(
           loaded.job, loaded.chunk_no, look_up, is(Mutation::kAnswerUnproven))) {
    const bool is_done = std::ranges::binary_search(loaded.done, known.index);
    if (!is_done) loaded.known.push_back(known);
  }
}

void Mutant::change_revision(const Event& event, Effects& effects) const {
  const auto is_revision = [](const Record& record) {
    return std::holds_alternative<record::ReviseResults>(record);
  };
  if (is(Mutation::kNeverRevised)) std::erase_if(effects.records, is_revision);
  if (is(Mutation::kReviseTooLittle)) {
    const auto first = std::ranges::find_if(effects.records, is_revision);
    if (first != effects.records.end()) effects.records.erase(first);
  }
  const auto* e = std::get_if<event::WorkerResults>(&event);
  for (std::size_t i = 0; i < effects.records.size(); ++i) {
    auto* results = std::get_if<record::InsertResults>(&effects.records[i]);
    if (e == nullptr || results == nullptr) continue;
    if (is(Mutation::kProvenEarly) && results->stretch > 0) {
      effects.records.emplace_back(record::ForgetStretch{results->stretch});
      return;
    }
    const LeaseFacts* lease = oracle_.lease(e->lease);
    if (!is(Mutation::kCanaryCounted) || lease == nullptr || !lease->canary) continue;
    for (std::uint32_t k = 0; k < results->results.results.size(); ++k) {
      if (results->results.results[k].position != lease->canary->position) continue;
      results->rows.push_back({lease->canary->key.second, 0, k});
      return;
    }
  }
}

// Sends at once what should wait.
void Mutant::hurry(Effects& effects) const {
  std::erase_if(effects.when_durable, [&](Send& send) {
    bool early = false;
    if (holds<message::Stored, WorkerMessage>(send)) {
      early = is(Mutation::kStoredEarly);
    } else if (holds<message::JobDone, ClientMessage>(send)) {
      early = is(Mutation::kDoneEarly);
    } else {
      early = is(effects.records.empty() ? Mutation::kDuplicateEarly : Mutation::kAcknowledgeEarly);
    }
    if (early) effects.now.push_back(std::move(send));
    return early;
  });
}

// Records results that the broker has refused.
void Mutant::let_through(const event::WorkerResults& results, Effects& effects) const {
  const LeaseFacts* lease = oracle_.lease(results.lease);
  const Tables& tables = disk_.submitted();
  if (!effects.records.empty() || lease == nullptr || tables.workers.empty()) return;
  if (std::ranges::none_of(effects.now, holds<message::Stale, WorkerMessage>)) return;
  record::InsertResults record{.job = lease->job,
                               .worker = tables.workers.begin()->first,
                               .solver_version = "v1",
                               .attempt = results.attempt,
                               .graded_ms = 0,
                               .results = results.results,
                               .rows = {}};
  for (std::uint32_t i = 0; i < results.results.results.size(); ++i) {
    const CaseNo case_no = lease->cases.at(results.results.results[i].position).second;
    if (case_no == CaseNo{}) continue;  // the canary
    const JobRow* job = tables.find(record.job);
    const ChunkRow* chunk = job->chunk_of(case_no);
    record.rows.push_back({case_no, static_cast<ChunkNo>(chunk - job->chunks.data()), i});
  }
  if (!record.rows.empty()) effects.records.emplace_back(std::move(record));
}

}  // namespace puzzled::sim
