// What `puzzlectl doctor` and the sweeper report: a rule that does not hold, and where.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/broker/types.h"

namespace puzzled {

// A rule of the store or of the broker. The names are an interface (output of doctor).
enum class Rule : std::uint8_t {
  // Of a store.
  kFile,
  kSchema,
  kLedger,
  kFacts,
  kCases,
  kFiles,
  kResults,
  kStray,
  // Of a running broker.
  kQueue,
  kLease,
  kStore,
  kDone,
  kWorker,
  kStuck,
};

struct RuleText {
  std::string_view name;
  std::string_view meaning;  // what follows if it does not hold
  std::string_view advice;   // what to do
};
inline constexpr auto kRuleTexts = std::to_array<RuleText>({
    {"file", "the database file is damaged",
     "stop the daemon, keep the file, and restore a backup in its place"},
    {"schema", "this program does not know databases like this one",
     "start the daemon that belongs to it once, or use the doctor of its version"},
    {"ledger",
     "accepted cases are not those done and those open: counts are wrong, and a restart "
     "may grade cases again or leave some out",
     "keep a backup for a report of this bug, then cancel the job and submit it again"},
    {"facts", "what is stored of the job contradicts itself",
     "keep a backup for a report of this bug, then cancel the job and submit it again"},
    {"cases", "cases are not those that were submitted",
     "do not trust the job's results; check the disk, and submit it again"},
    {"files", "labels of cases are missing or name the wrong file",
     "find results by their case number; submit the job again for right labels"},
    {"results", "results cannot be shown, or name what does not exist",
     "keep a backup for a report of this bug, then submit the job again"},
    {"stray", "rows belong to nothing; they only take room",
     "nothing needs to be done; keep a backup for a report of this bug"},
    {"queue", "open cases were in no queue and with no worker",
     "nothing: they are queued again; report this bug with the daemon's log"},
    {"lease", "cases were held for a worker that has none of them",
     "nothing: they are queued again; report this bug with the daemon's log"},
    {"store", "an answer of the store did not come",
     "nothing: it is asked for again; report this bug with the daemon's log"},
    {"done", "a job was graded and its end was not announced",
     "nothing: it is announced now; report this bug with the daemon's log"},
    {"worker", "nobody watched over a worker's silence, or its room for cases was forgotten",
     "nothing: it is watched again; report this bug with the daemon's log"},
    {"stuck", "the job does not advance",
     "start a worker that offers its solver, or cancel the job"},
});
constexpr const RuleText& rule_text(Rule rule) {
  return kRuleTexts[static_cast<std::size_t>(rule)];
}

struct Finding {
  Rule rule = Rule::kFile;
  JobId job = {};                     // 0: about none
  std::optional<ChunkNo> chunk = {};  // of the job
  CaseNo case_no = {};                // of the job; 0: about none
  std::string text = {};              // what is wrong; one printable line
};

}  // namespace puzzled
