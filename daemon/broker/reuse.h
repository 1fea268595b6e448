// Reuse of answers: whose cases are looked up among those that are known, for which version of the
// solver, and what becomes of those that are found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/broker/core.h"
#include "daemon/broker/job.h"
#include "proto/base/natural_order.h"

namespace puzzled::broker {

class Reuse {
 public:
  explicit Reuse(Core& core) : core_(core) {}

  void recover(const Recovery& recovery);

  // Whether the answers of its cases are worth keeping: then workers send keys.
  [[nodiscard]] bool keeps_answers(const Job& job) const;
  // Whether some of its cases may be known.
  [[nodiscard]] bool looks_up(const Job& job) const { return version_for(job) != nullptr; }
  // And whether its next chunk should come with keys. While nobody knows what its cases cost, that
  // is for the first chunks, and as long as most cases are found.
  [[nodiscard]] bool wants_keys(const Job& job) const;
  // What to ask when a chunk with keys is loaded.
  [[nodiscard]] std::optional<LookUp> look_up(const Job& job) const;
  // A mark or a conviction came between: what was found may count no more, or more may be known.
  [[nodiscard]] bool is_outdated(const event::ChunkLoaded& loaded) const;
  // REQUIRES: not is_outdated(). Records what was found as results; `loaded.done` has these cases,
  // too.
  void take(Job& job, OpenChunk& chunk, event::ChunkLoaded& loaded);

  // A worker offers this version of a lane's solver, or no more. Of Lane::plain.
  void offered(LaneNo lane, const std::string& version);
  void withdrawn(LaneNo lane, const std::string& version);
  void answers_kept() { has_answers_ = true; }

 private:
  struct Older {
    bool operator()(std::string_view a, std::string_view b) const { return natural_less(a, b); }
  };
  struct Versions {
    std::map<std::string, std::uint32_t, Older> offered;  // by so many workers
    // While there is no worker: what the last one had, or what gave the last results.
    std::string last;
  };
  // Whose answers may stand for those of the job; nullptr: it looks up none.
  [[nodiscard]] const std::string* version_for(const Job& job) const;

  Core& core_;
  bool has_answers_ = false;  // some are kept, or were
  std::map<LaneNo, Versions> versions_;
};

}  // namespace puzzled::broker
