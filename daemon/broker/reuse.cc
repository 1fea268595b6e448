#include "daemon/broker/reuse.h"

#include <algorithm>
#include <utility>

#include "daemon/broker/canaries.h"
#include "daemon/broker/leases.h"
#include "proto/base/assert.h"
#include "proto/base/natural_order.h"

namespace puzzled::broker {
namespace {

// What such a result takes in the store beside the answer, which is copied there.
constexpr std::uint64_t kRowBytes = 64;
// Chunks with keys of a job whose cases may be cheap: enough that the first ones are looked up
// before the last ones are accepted (a client has 16 on the way).
constexpr std::uint32_t kChunksTried = 64;

}  // namespace

void Reuse::recover(const Recovery& recovery) {
  has_answers_ = recovery.has_answers;
  std::map<LaneNo, JobId> last_jobs;
  for (const RecoveredVersion& it : recovery.versions) {
    const LaneNo lane = core_.queue.lane_of(it.puzzle, it.solver);
    std::string& last = versions_[lane].last;
    JobId& last_job = last_jobs[lane];
    if (it.last_job < last_job) continue;
    if (it.last_job == last_job && natural_less(it.version, last)) continue;
    last = it.version;
    last_job = it.last_job;
  }
}

void Reuse::offered(LaneNo lane, const std::string& version) { ++versions_[lane].offered[version]; }

void Reuse::withdrawn(LaneNo lane, const std::string& version) {
  Versions& versions = versions_.at(lane);
  const auto it = versions.offered.find(version);
  ASSERT(it != versions.offered.end());
  if (--it->second > 0) return;
  versions.offered.erase(it);
  if (versions.offered.empty()) versions.last = version;
}

bool Reuse::keeps_answers(const Job& job) const {
  if (!core_.options.answer_cache || job.spec->no_cache) return false;
  const Cost& cost = cost_of(job, core_.queue);
  return !cost.known() || cost.case_us() >= core_.options.answer_cache_cost_us;
}

bool Reuse::wants_keys(const Job& job) const {
  if (!looks_up(job)) return false;
  return cost_of(job, core_.queue).known() || job.chunk_count < kChunksTried ||
         (job.known_count > 0 && job.known_count >= job.looked_up_count / 2);
}

const std::string* Reuse::version_for(const Job& job) const {
  if (!has_answers_ || !keeps_answers(job)) return nullptr;
  if (!job.spec->solver_version.empty()) return &job.spec->solver_version;
  const auto it = versions_.find(core_.queue.lane(job.place.lane).plain);
  if (it == versions_.end()) return nullptr;
  const Versions& versions = it->second;
  const std::string& newest =
      versions.offered.empty() ? versions.last : versions.offered.rbegin()->first;
  return newest.empty() ? nullptr : &newest;
}

std::optional<LookUp> Reuse::look_up(const Job& job) const {
  const std::string* version = version_for(job);
  if (version == nullptr) return std::nullopt;
  const LaneNo lane = core_.queue.lane(job.place.lane).plain;
  return LookUp{.solver_version = *version,
                .limits = job.spec->limits,
                .proven_only = core_.canaries->is_watched(lane),
                .trust = core_.canaries->trust()};
}

bool Reuse::is_outdated(const event::ChunkLoaded& loaded) const {
  return loaded.look_up && loaded.look_up->trust != core_.canaries->trust();
}

void Reuse::take(Job& job, OpenChunk& chunk, event::ChunkLoaded& loaded) {
  if (loaded.look_up) {
    job.looked_up_count += loaded.more_known ? loaded.known.size() : chunk.open_count;
  }
  if (loaded.known.empty()) return;
  const auto count = static_cast<std::uint32_t>(loaded.known.size());
  std::uint64_t bytes = count * kRowBytes;
  ASSERT(count <= chunk.open_count);
  for (const KnownAnswer& known : loaded.known) {
    ASSERT(known.index < chunk.case_count);
    bytes += known.answer_bytes;
    loaded.done.push_back(known.index);
    if (!job.suspects.empty()) job.suspects.erase(CaseNo{chunk.first_case.value + known.index});
  }
  chunk.open_count -= count;
  job.done_count += count;
  job.known_count += count;
  core_.leases->note_undurable(bytes);
  core_.step.record(record::InsertCached{.job = job.id,
                                         .chunk_no = chunk.chunk_no,
                                         .first_case = chunk.first_case,
                                         .solver_version = loaded.look_up->solver_version,
                                         .graded_ms = core_.step.wall_ms(),
                                         .answers = std::move(loaded.known)});
}

}  // namespace puzzled::broker
