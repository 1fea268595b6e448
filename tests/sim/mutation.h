// Rules broken on purpose, one at a time, between the broker and its shell: what shows that the
// checks bite. The product knows nothing of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "tests/sim/oracle.h"
#include "tests/sim/tables.h"

namespace puzzled::sim {

enum class Mutation : std::uint8_t {
  kNone,
  kAcknowledgeEarly,
  kDuplicateEarly,
  kDoneEarly,
  kStoredEarly,
  kDispatchEarly,
  kBootNotRaised,
  kJobLost,
  kChunkLost,
  kIdForgotten,
  kCancelForgotten,
  kDoneReopened,
  kNoFence,
  kRequeueTwice,
  kCreditLost,
  kCreditExceeded,
  kListIgnored,
  kStaleLost,
  kResultsSwapped,
  kChargeInnocent,
  // Canaries.
  kCanaryOverlooked,
  kCanaryUnjust,
  kCanaryCounted,
  kBadWorkerKept,
  kReviseTooLittle,
  kNeverRevised,
  kProvenEarly,
  kUnprovenForgotten,
  kBarForgotten,
  kCanaryAnywhere,
  // Lost wake-ups, which the sweeper repairs.
  kLoadLost,
  kDurableLost,
  kOtherAccepted,
  kDrainIgnored,
  kLabelsIgnored,
  kVersionIgnored,
  // Reuse of answers.
  kAnswerOfOtherVersion,
  kAnswerUnproven,
};

struct MutationName {
  Mutation mutation;
  std::string_view name;
  std::string_view rule;  // what it breaks
};
inline constexpr auto kMutations = std::to_array<MutationName>({
    {Mutation::kAcknowledgeEarly, "acknowledge-early", "replies wait for the commit"},
    {Mutation::kDuplicateEarly, "duplicate-early", "so do replies to repeated requests"},
    {Mutation::kDoneEarly, "done-early", "JobDone waits for the commit of the results"},
    {Mutation::kStoredEarly, "stored-early", "so does Stored"},
    {Mutation::kDispatchEarly, "dispatch-early", "a case is dispatched when it is durable"},
    {Mutation::kBootNotRaised, "boot-not-raised", "each start has a boot number of its own"},
    {Mutation::kJobLost, "job-lost", "a restart finds every job"},
    {Mutation::kChunkLost, "chunk-lost", "a restart finds every chunk"},
    {Mutation::kIdForgotten, "id-forgotten", "a restart knows the request ids"},
    {Mutation::kCancelForgotten, "cancel-forgotten", "a cancelled job stays so"},
    {Mutation::kDoneReopened, "done-reopened", "done stays done"},
    {Mutation::kNoFence, "no-fence", "results of a lease that has ended do not count"},
    {Mutation::kRequeueTwice, "requeue-twice", "what is given back is queued once"},
    {Mutation::kCreditLost, "credit-lost", "an ended lease gives its room back"},
    {Mutation::kCreditExceeded, "credit-exceeded", "a worker gets no more than it has room for"},
    {Mutation::kListIgnored, "list-ignored", "a lease missing in a heartbeat is queued again"},
    {Mutation::kStaleLost, "stale-lost", "a worker hears that a lease is no longer its own"},
    {Mutation::kResultsSwapped, "results-swapped", "a result belongs to its position"},
    {Mutation::kChargeInnocent, "charge-innocent", "a death is charged to the case being solved"},
    {Mutation::kCanaryOverlooked, "canary-overlooked", "a worker that fails a canary is taken out"},
    {Mutation::kCanaryUnjust, "canary-unjust", "one that passes is not"},
    {Mutation::kCanaryCounted, "canary-counted", "a canary's result counts in no job"},
    {Mutation::kBadWorkerKept, "bad-worker-kept", "who was taken out gets no more cases"},
    {Mutation::kReviseTooLittle, "revise-too-little", "all that is not proven is taken back"},
    {Mutation::kNeverRevised, "never-revised", "so it is at all"},
    {Mutation::kProvenEarly, "proven-early", "only a good canary proves what was before it"},
    {Mutation::kUnprovenForgotten, "unproven-forgotten", "a restart knows what is not proven"},
    {Mutation::kBarForgotten, "bar-forgotten", "a restart knows who is barred"},
    {Mutation::kCanaryAnywhere, "canary-anywhere", "who gets a canary meets what its job requires"},
    {Mutation::kLoadLost, "load-lost", "the store answers every load"},
    {Mutation::kDurableLost, "durable-lost", "the broker hears what is on the disk"},
    {Mutation::kOtherAccepted, "other-accepted", "other content under a known number is refused"},
    {Mutation::kDrainIgnored, "drain-ignored", "a drained worker gets no leases"},
    {Mutation::kLabelsIgnored, "labels-ignored", "a worker meets what a job requires"},
    {Mutation::kVersionIgnored, "version-ignored", "a pinned job gets no other solver version"},
    {Mutation::kAnswerOfOtherVersion, "answer-of-other-version",
     "a known answer is of the version asked for"},
    {Mutation::kAnswerUnproven, "answer-unproven", "and of nobody who may be wrong"},
});

std::optional<Mutation> find_mutation(std::string_view name);

class Mutant {
 public:
  Mutant(Mutation mutation, const Oracle& oracle, const Disk& disk)
      : mutation_(mutation), oracle_(oracle), disk_(disk) {}

  [[nodiscard]] bool is(Mutation mutation) const { return mutation_ == mutation; }
  // Between what was committed and what the broker recovers.
  void change(Tables& tables) const;
  // Between the network and the broker.
  void change(Event& event) const;
  // Between the broker, which was told `event`, and its shell.
  void change(const Event& event, Effects& effects) const;
  // Whether the store's report is lost on its way to the broker: one of a few.
  bool loses(const Report& report);

 private:
  void hurry(Effects& effects) const;
  void answer_canary(event::WorkerResults& results) const;
  void find_answers(event::ChunkLoaded& loaded) const;
  void change_revision(const Event& event, Effects& effects) const;
  void let_through(const event::WorkerResults& results, Effects& effects) const;

  Mutation mutation_;
  std::uint64_t reports_ = 0;
  const Oracle& oracle_;
  const Disk& disk_;
};

}  // namespace puzzled::sim
