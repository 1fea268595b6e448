#include "daemon/net/upkeep.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace puzzled {
namespace {

// Each finding is logged once, until there were that many.
constexpr std::size_t kLoggedMax = 1'000;

std::string place_of(const Finding& finding) {
  std::string place;
  if (finding.job.value > 0) place += fmt::format("job {}, ", finding.job.value);
  if (finding.chunk) place += fmt::format("chunk {}, ", *finding.chunk);
  if (finding.case_no.value > 0) place += fmt::format("case {}, ", finding.case_no.value);
  if (!place.empty()) place.replace(place.size() - 2, 2, ": ");
  return place;
}

}  // namespace

std::optional<event::Sweep> Upkeep::step(std::int64_t now_ms, std::uint64_t durable_steps) {
  if (now_ms < next_ms_) return std::nullopt;
  next_ms_ = now_ms + interval_ms_;
  if (!std::exchange(checking_, true)) reads_.submit(kTicket, query::Check{cursor_});
  return event::Sweep{.after = sweep_after_, .durable_steps = durable_steps};
}

void Upkeep::on_answer(const ReadThread::Answered& answered) {
  checking_ = false;
  if (!answered.error.empty()) {
    log({.rule = Rule::kFile, .text = answered.error});
    cursor_.clear();
    return;
  }
  const auto& page = std::get<query::CheckPage>(answered.answer);
  for (const Finding& finding : page.findings) log(finding);
  cursor_ = page.cursor;
}

void Upkeep::on_sweep(const Effects& effects) {
  found_ = effects.findings;
  swept_ = sweep_after_ = effects.swept;
  for (const Finding& finding : found_) log(finding);
}

void Upkeep::log(const Finding& finding) {
  const RuleText& rule = rule_text(finding.rule);
  const std::string text = fmt::format("{}{}", place_of(finding), finding.text);
  if (logged_.size() >= kLoggedMax) logged_.clear();
  if (!logged_.insert(text).second) return;
  spdlog::error("upkeep, rule {}: {} ({}; what to do: {})", rule.name, text, rule.meaning,
                rule.advice);
}

// ---- Backups.

std::optional<Upkeep::Reply> Upkeep::start(PeerId peer, const codec::Backup& backup) {
  Reply reply{.peer = peer, .request = backup.request, .bytes = 0, .error = ""};
  if (backup.token == backup_.token && last_backup_ > 0) {  // the request was repeated
    if (backing_up_) {
      waiting_.push_back(reply);
      return std::nullopt;
    }
    reply.bytes = ended_.bytes;
    reply.error = ended_.error;
    return reply;
  }
  if (backing_up_) {
    reply.error = fmt::format("another backup is being written, to {}", backup_.path);
    return reply;
  }
  backing_up_ = true;
  backup_ = backup;
  waiting_.push_back(reply);
  spdlog::info("backup: to {}", backup.path);
  store_.back_up({.ticket = ++last_backup_, .path = backup.path, .force = backup.force});
  return std::nullopt;
}

std::vector<Upkeep::Reply> Upkeep::on_ended(const Backups::Ended& ended) {
  backing_up_ = false;
  ended_ = ended;
  if (ended.error.empty()) {
    spdlog::info("backup: {} bytes in {}", ended.bytes, backup_.path);
  } else {
    spdlog::warn("backup: {}", ended.error);
  }
  for (Reply& reply : waiting_) {
    reply.bytes = ended.bytes;
    reply.error = ended.error;
  }
  return std::exchange(waiting_, {});
}

}  // namespace puzzled
