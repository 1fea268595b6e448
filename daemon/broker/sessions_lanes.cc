// Sessions: which lanes a worker serves.
#include <algorithm>
#include <utility>

#include "daemon/broker/jobs.h"
#include "daemon/broker/leases.h"
#include "daemon/broker/reuse.h"
#include "daemon/broker/sessions.h"
#include "daemon/broker/window.h"
#include "proto/base/assert.h"

namespace puzzled::broker {
namespace {

// "staircase@2, gpu=a100"
std::string describe_requirements(const Lane& lane) {
  const Requirements& required = lane.required;
  std::string text;
  if (!required.solver_version.empty()) text = lane.solver + "@" + required.solver_version;
  if (!text.empty() && !required.labels.empty()) text += ", ";
  return text + describe(required.labels);
}

}  // namespace

// ---- A worker's lanes.

void Sessions::set_offers(Session& session, const std::vector<SolverOffer>& offers) {
  std::map<LaneNo, std::string> lanes;
  for (const SolverOffer& offer : offers) {
    lanes[core_.queue.lane_of(offer.puzzle, offer.solver)] = offer.version;
  }
  for (const LaneNo no : core_.queue.special()) {
    const Lane& lane = core_.queue.lane(no);
    const auto plain = lanes.find(lane.plain);
    if (plain != lanes.end() && meets(lane.required, plain->second, session.labels)) {
      lanes[no] = plain->second;
    }
  }
  std::vector<LaneNo> numbers;
  std::vector<std::string> versions;
  for (auto& [lane, version] : lanes) {
    numbers.push_back(lane);
    versions.push_back(std::move(version));
  }
  place(session, std::move(numbers), std::move(versions));
}

bool Sessions::meets(const Requirements& required, const std::string& version,
                     const Labels& labels) {
  return (required.solver_version.empty() || required.solver_version == version) &&
         std::ranges::includes(labels, required.labels);
}

void Sessions::place(Session& session, std::vector<LaneNo> lanes,
                     std::vector<std::string> versions) {
  const std::uint32_t capacity = session.capacity;
  const bool serves = !session.paused;
  if (serves) {
    for (const LaneNo lane : lanes) core_.queue.add_worker(lane);
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (core_.queue.lane(lanes[i]).plain == lanes[i]) core_.reuse->offered(lanes[i], versions[i]);
  }
  Profiles::value_type& place = *profiles_.try_emplace(std::move(lanes)).first;
  ++place.second.workers;
  const auto its_versions = place.second.versions.try_emplace(std::move(versions)).first;
  ++its_versions->second;
  // The new place before the old one is given up: nothing is put away that stays served.
  if (session.place != nullptr) leave_lanes(session);
  session.serves = serves;
  session.place = &place;
  session.versions = &its_versions->first;
  session.capacity = capacity;
  update_credit(session);
}

void Sessions::leave_lanes(Session& session) {
  ASSERT(session.place != nullptr);
  session.capacity = 0;
  update_credit(session);
  const std::vector<LaneNo> lanes = session.lanes();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (core_.queue.lane(lanes[i]).plain != lanes[i]) continue;
    core_.reuse->withdrawn(lanes[i], (*session.versions)[i]);
  }
  Profile& profile = session.place->second;
  const auto its_versions = profile.versions.find(*session.versions);
  if (--its_versions->second == 0) profile.versions.erase(its_versions);
  session.place = nullptr;
  session.versions = nullptr;
  if (--profile.workers == 0) profiles_.erase(lanes);
  if (!std::exchange(session.serves, false)) return;
  for (const LaneNo lane : lanes) {
    if (core_.queue.remove_worker(lane)) put_away(lane);
  }
}

// Nobody is left to solve these; what is in memory makes room for others.
void Sessions::put_away(LaneNo lane) {
  const std::set<Turn> turns = core_.queue.lane(lane).ready;
  for (const Turn& turn : turns) core_.window->put_away(core_.jobs->open(turn.job));
}

void Sessions::set_paused(Session& session, bool paused) {
  if (session.paused == paused) return;
  session.paused = paused;
  update_credit(session);
  session.serves = !paused;
  for (const LaneNo lane : session.lanes()) {
    if (!paused) {
      core_.queue.add_worker(lane);
    } else if (core_.queue.remove_worker(lane)) {
      put_away(lane);
    }
  }
}

// ---- Lanes with requirements.

std::optional<LaneNo> Sessions::enter_lane(const JobSpec& spec, bool always) {
  const bool is_plain = spec.require.empty() && spec.solver_version.empty();
  std::optional<LaneNo> lane =
      is_plain ? core_.queue.lane_of(spec.puzzle, spec.solver) : core_.queue.find_special(spec);
  if (!lane) {
    // Those of the past stay as long as there is room: the next job may well ask for the same.
    while (!always && core_.queue.special().size() >= core_.options.requirement_sets_max) {
      const std::optional<LaneNo> idle = core_.queue.idle_special();
      if (!idle) return std::nullopt;
      retire_lane(*idle);
    }
    lane = core_.queue.add_special(spec);
    attach_lane(*lane);
  }
  core_.queue.add_job(*lane);
  return lane;
}

void Sessions::attach_lane(LaneNo no) {
  const Lane& lane = core_.queue.lane(no);
  std::vector<Session*> sessions;
  for (const auto& [worker, session] : by_worker_) {
    if (std::ranges::binary_search(session->lanes(), lane.plain) &&
        meets(lane.required, session->solver_version(lane.plain), session->labels)) {
      sessions.push_back(session);
    }
  }
  std::ranges::sort(sessions, {}, &Session::worker);
  for (Session* session : sessions) {
    std::vector<LaneNo> lanes = session->lanes();
    std::vector<std::string> versions = *session->versions;
    const auto at = std::ranges::lower_bound(lanes, no) - lanes.begin();
    versions.insert(versions.begin() + at, session->solver_version(core_.queue.lane(no).plain));
    lanes.insert(lanes.begin() + at, no);
    place(*session, std::move(lanes), std::move(versions));
  }
}

void Sessions::retire_lane(LaneNo no) {
  std::vector<Session*> sessions;
  for (const auto& [worker, session] : by_worker_) {
    if (std::ranges::binary_search(session->lanes(), no)) sessions.push_back(session);
  }
  std::ranges::sort(sessions, {}, &Session::worker);
  for (Session* session : sessions) {
    std::vector<LaneNo> lanes = session->lanes();
    std::vector<std::string> versions = *session->versions;
    const auto at = std::ranges::lower_bound(lanes, no) - lanes.begin();
    versions.erase(versions.begin() + at);
    lanes.erase(lanes.begin() + at);
    place(*session, std::move(lanes), std::move(versions));
  }
  core_.queue.remove_special(no);
}

std::string Sessions::missing(const Lane& lane) const {
  bool is_offered = false;
  std::set<std::string> versions;
  for (const auto& [worker, session] : by_worker_) {
    if (!std::ranges::binary_search(session->lanes(), lane.plain)) continue;
    is_offered = true;
    const std::string& version = session->solver_version(lane.plain);
    // Whoever meets it and does not serve it is paused.
    if (meets(lane.required, version, session->labels)) {
      return "every worker that could solve it is drained (puzzlectl workers resume)";
    }
    constexpr std::size_t kVersionsMax = 5;
    if (versions.size() < kVersionsMax) versions.insert(version);
  }
  if (!is_offered) return "no connected worker offers " + lane.solver + " for " + lane.puzzle;
  std::string text = "no connected worker has " + describe_requirements(lane);
  const std::string& wanted = lane.required.solver_version;
  if (wanted.empty() || versions.contains(wanted)) return text;
  text += "; there are";
  for (const std::string& version : versions) text += " " + lane.solver + "@" + version;
  return text;
}

}  // namespace puzzled::broker
