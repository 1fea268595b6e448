#include "tests/sim/client.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "proto/base/digest.h"
#include "tests/sim/cases.h"

namespace puzzled::sim {
namespace {

using message::ErrorCode;

constexpr std::int64_t kRetryMaxMs = 4'000;
constexpr int kDoublingsMax = 12;

}  // namespace

Plan Plan::draw(Sim& sim, const Params& params, std::uint32_t tag, std::int64_t& poison) {
  Random& random = sim.random;
  Plan plan;
  plan.tag = tag;
  plan.request_id[0] = static_cast<std::uint8_t>(tag);
  plan.request_id[15] = static_cast<std::uint8_t>(random.bits());
  plan.spec.name = "job";
  plan.spec.puzzle = random.one_in(2) ? "bishops" : "duel";
  plan.spec.solver = "fast";
  plan.spec.priority = static_cast<std::int32_t>(random.from_to(-1, 1));
  plan.spec.limits.time_limit_us = 1'000 * static_cast<std::uint64_t>(params.time_limit_ms);
  if (params.mixed_fleet && sim.fleet.one_in(3)) plan.spec.require = {{"zone", "a"}};
  if (params.mixed_fleet && sim.fleet.one_in(3)) plan.spec.solver_version = "v1";
  plan.spec.no_cache = params.twins && sim.fleet.one_in(10);
  plan.digest = wire::kEmptyDigest;
  const bool with_files = random.one_in(2);
  const auto cases = static_cast<std::uint64_t>(random.from_to(0, params.cases_max));
  while (plan.case_count < cases) {
    const auto in_chunk = std::min<std::uint64_t>(
        cases - plan.case_count,
        static_cast<std::uint64_t>(random.from_to(1, params.chunk_cases_max)));
    auto list = std::make_shared<ChunkCases>();
    Plan::Chunk chunk;
    if (with_files) {
      chunk.files.push_back({.path = "f" + std::to_string(plan.file_count),
                             .first_case = plan.case_count + 1,
                             .case_count = in_chunk});
      ++plan.file_count;
    }
    list->offsets.push_back(0);
    for (std::uint64_t i = 0; i < in_chunk; ++i) {
      CaseFacts facts{.job_tag = tag,
                      .number = static_cast<std::uint32_t>(++plan.case_count),
                      .kind = Kind::kNormal,
                      .work_ms = static_cast<std::uint16_t>(random.from_to(0, params.work_ms))};
      if (params.crashing > 0 && random.one_in(static_cast<std::uint64_t>(params.crashing))) {
        facts.kind = Kind::kCrash;
      }
      if (poison > 0 && random.one_in(cases)) {
        --poison;
        facts.kind = Kind::kPoison;
        facts.work_ms = static_cast<std::uint16_t>(random.from_to(0, params.poison_ms));
      }
      constexpr std::uint64_t kTwins = 8;
      if (params.twins && facts.kind == Kind::kNormal && sim.fleet.one_in(2)) {
        facts.twin = static_cast<std::uint8_t>(1 + sim.fleet.below(kTwins));
      }
      const std::string bytes = make_case(facts, random.below(20));
      chunk.keys += key_of(plan.spec.puzzle, bytes);
      list->bytes += bytes;
      list->offsets.push_back(static_cast<std::uint32_t>(list->bytes.size()));
    }
    chunk.hash = random.bits();
    chunk.cases = std::move(list);
    plan.digest = wire::fold_digest(plan.digest, chunk.hash);
    plan.chunks.push_back(std::move(chunk));
  }
  return plan;
}

void Client::start() {
  if (up() || ended_) return;
  ++life_;
  line_ = network_.open(*this);
  drive();
}

void Client::stop() {
  ++life_;
  network_.close(line_, false);
  line_ = nullptr;
  asked_.clear();
  opened_ = sealed_ = paused_ = false;
  next_ = accepted_ = 0;
}

void Client::cancel() {
  cancels_ = true;
  drive();
}

// ---- Asking.

std::int64_t Client::count(Want want) const {
  return std::ranges::count_if(asked_, [&](const auto& entry) {
    return entry.second.want == want && entry.second.tries > 0;
  });
}

// Asks for whatever is lacking.
void Client::drive() {
  if (!up() || ended_ || paused_) return;
  if (!opened_) {
    if (count(Want::kOpen) == 0) ask(Want::kOpen);
    return;
  }
  harm();
  if (cancels_ && count(Want::kCancel) == 0) ask(Want::kCancel);
  while (next_ < plan_.chunks.size() && next_ < accepted_ + depth_) {
    ask(Want::kChunk, next_++);
  }
  if (accepted_ < plan_.chunks.size()) return;
  if (!sealed_ && count(Want::kSeal) == 0) ask(Want::kSeal);
  if (sealed_ && count(Want::kWait) == 0) ask(Want::kWait);
}

// Other content under a known id: to be refused.
void Client::harm() {
  if (sim_.random.one_in(20)) ask(Want::kOtherSpec);
  if (accepted_ > 0 && sim_.random.one_in(20)) ask(Want::kOtherChunk);
}

void Client::ask(Want want, ChunkNo chunk_no, int tries) {
  const std::uint64_t request = ++last_request_;
  const Asked& asked = asked_[request] = {want, chunk_no, tries};
  sim_.note(20, plan_.tag * 10 + static_cast<std::uint64_t>(want), [&] {
    return "client of " + std::to_string(plan_.tag) + ": asks " +
           std::to_string(static_cast<int>(want)) + " as request " + std::to_string(request);
  });
  network_.send(line_, event_of(asked, request));
  const std::int64_t wait_ms = params_.client_retry_ms << std::min(tries - 1, kDoublingsMax);
  sim_.after(std::min(wait_ms, kRetryMaxMs), [this, request, life = life_] {
    if (life == life_) again_later(request);
  });
}

// No answer in time: the same again, under a number of its own. The first may still be answered.
void Client::again_later(std::uint64_t request) {
  const auto it = asked_.find(request);
  if (it == asked_.end() || it->second.tries == 0 || ended_) return;
  const Asked asked = it->second;
  it->second.tries = 0;
  if (asked.want < Want::kOtherSpec) ask(asked.want, asked.chunk_no, asked.tries + 1);
}

Event Client::event_of(const Asked& asked, std::uint64_t request) const {
  const auto chunk_of = [&](ChunkNo no) {
    const Plan::Chunk& chunk = plan_.chunks.at(no);
    return event::AddChunk{
        {},          request,     plan_.request_id, no,
        chunk.files, chunk.cases, chunk.hash,       keys_wanted_ ? chunk.keys : std::string()};
  };
  switch (asked.want) {
    case Want::kOpen:
      return event::OpenJob{{}, request, plan_.request_id, plan_.spec};
    case Want::kChunk:
      return chunk_of(asked.chunk_no);
    case Want::kSeal:
      return event::SealJob{.peer = {},
                            .request = request,
                            .request_id = plan_.request_id,
                            .chunk_count = static_cast<std::uint32_t>(plan_.chunks.size()),
                            .case_count = plan_.case_count,
                            .file_count = plan_.file_count,
                            .digest = plan_.digest};
    case Want::kWait:
      return event::WaitJob{{}, request, job_};
    case Want::kCancel:
      return event::CancelJob{{}, request, job_, "enough"};
    case Want::kOtherSpec: {
      event::OpenJob other{{}, request, plan_.request_id, plan_.spec};
      other.spec.name = "another";
      return other;
    }
    case Want::kOtherChunk:
      break;
  }
  event::AddChunk other = chunk_of(0);
  other.hash ^= 1U;
  return other;
}

// ---- Answers.

void Client::receive(const FromDaemon& message) {
  std::visit(
      [&](const auto& m) {
        const auto it = asked_.find(m.request);
        if (it == asked_.end()) return;
        const Asked asked = it->second;
        asked_.erase(it);
        on(asked, m);
      },
      std::get<ClientMessage>(message));
  drive();
}

void Client::on(const Asked&, const message::JobOpened& m) {
  job_ = m.job;
  keys_wanted_ = m.keys_wanted;
  if (!opened_) next_ = m.next_chunk;
  opened_ = true;
  accepted_ = std::max(accepted_, m.next_chunk);
  sealed_ = sealed_ || m.sealed;
}

void Client::on(const Asked&, const message::ChunkAccepted& m) {
  accepted_ = std::max(accepted_, m.chunk_no + 1);
  keys_wanted_ = m.keys_wanted;
}

void Client::on(const Asked&, const message::JobSealed&) { sealed_ = true; }
void Client::on(const Asked&, const message::JobCancelled&) { ended_ = true; }
void Client::on(const Asked&, const message::JobDone&) { ended_ = true; }

void Client::on(const Asked& asked, const message::Error& m) {
  if (asked.want >= Want::kOtherSpec) return;
  switch (m.code) {
    case ErrorCode::kJobCancelled:
    case ErrorCode::kJobFinished:
      ended_ = true;
      return;
    case ErrorCode::kUnavailable:
      depth_ = std::max<std::int64_t>(1, depth_ / 2);
      return pause();
    case ErrorCode::kUnknownJob:  // allowed where nothing was promised: Oracle
    case ErrorCode::kOutOfOrder:
      return pause();
    default:
      throw Violation{7, "an honest client is refused: " + m.text};
  }
}

// What is on its way does not count any more: after a while it finds out how far the job has come.
void Client::pause() {
  if (std::exchange(paused_, true)) return;
  for (auto& [request, asked] : asked_) asked.tries = 0;
  sim_.after(params_.client_retry_ms, [this, life = life_] {
    if (life != life_) return;
    paused_ = opened_ = false;
    drive();
  });
}

}  // namespace puzzled::sim
