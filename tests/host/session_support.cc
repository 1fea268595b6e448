#include "tests/host/session_support.h"

#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>

namespace puzzled::host {
namespace {

// "name key=value flag key=value" as a name and a map; flags map to "1".
struct Words {
  std::string name;
  std::map<std::string, std::string> values;

  explicit Words(const std::string& text) {
    std::istringstream in(text);
    in >> name;
    for (std::string word; in >> word;) {
      const std::size_t equals = word.find('=');
      values[word.substr(0, equals)] = equals == std::string::npos ? "1" : word.substr(equals + 1);
    }
  }
  [[nodiscard]] std::uint64_t number(const std::string& key, std::uint64_t otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : std::stoull(found->second);
  }
  [[nodiscard]] std::uint32_t small(const std::string& key, std::uint32_t otherwise = 0) const {
    return static_cast<std::uint32_t>(number(key, otherwise));
  }
  [[nodiscard]] Boot boot() const { return Boot{number("boot", 1)}; }
  [[nodiscard]] LeaseId lease() const { return LeaseId{number("lease", 0)}; }
};

Event parse_dispatch(const Words& words) {
  auto dispatch = std::make_shared<Dispatch>();
  dispatch->boot = words.boot();
  dispatch->lease = words.lease();
  dispatch->attempt = words.small("attempt", 1);
  dispatch->case_count = words.small("cases", 1);
  dispatch->alone = words.values.contains("alone");
  return event::Dispatched{std::move(dispatch)};
}

Event parse_revoke(const Words& words) {
  event::Revoke revoke{words.boot(), {}};
  std::istringstream in(words.values.at("leases"));
  for (std::string lease; std::getline(in, lease, ',');) {
    revoke.leases.push_back(LeaseId{std::stoull(lease)});
  }
  return revoke;
}

std::string text(LeaseId lease) { return std::to_string(static_cast<std::uint64_t>(lease)); }
std::string text(Boot boot) { return std::to_string(static_cast<std::uint64_t>(boot)); }

std::string text(const std::vector<LeaseId>& leases) {
  std::string out;
  for (const LeaseId lease : leases) out += (out.empty() ? "" : ",") + text(lease);
  return "[" + out + "]";
}

struct Printer {
  std::string operator()(const message::Ready& m) const {
    return "send Ready boot=" + text(m.boot) + " leases=" + text(m.leases) +
           " capacity=" + std::to_string(m.capacity);
  }
  std::string operator()(const message::Results& m) const {
    return "send Results boot=" + text(m.boot) + " lease=" + text(m.lease) +
           " attempt=" + std::to_string(m.attempt) + " part=" + std::to_string(m.part) +
           " bytes=" + std::to_string(m.results->size()) +
           " capacity=" + std::to_string(m.capacity);
  }
  std::string operator()(const message::Return& m) const {
    std::string out = "send Return boot=" + text(m.boot) + " lease=" + text(m.lease) +
                      " attempt=" + std::to_string(m.attempt);
    for (const Range& range : m.positions) {
      out += " [" + std::to_string(range.first) + "+" + std::to_string(range.count) + "]";
    }
    return out + " capacity=" + std::to_string(m.capacity);
  }
  std::string operator()(const message::Heartbeat& m) const {
    std::string out = "send Heartbeat boot=" + text(m.boot) + " leases=" + text(m.leases);
    for (const message::BusySlot& slot : m.slots) {
      out += " slot(" + text(slot.lease) + " at " + std::to_string(slot.position) + ", " +
             std::to_string(slot.progress) + ")";
    }
    return out + " capacity=" + std::to_string(m.capacity);
  }
  std::string operator()(const message::Goodbye& m) const {
    return "send Goodbye \"" + m.reason + "\"";
  }
  std::string operator()(const command::Start& c) const {
    return "start slot=" + std::to_string(c.slot) + " lease=" + text(c.dispatch->lease);
  }
  std::string operator()(const command::Trim& c) const {
    return "trim slot=" + std::to_string(c.slot);
  }
  std::string operator()(const command::Abort& c) const {
    return "abort slot=" + std::to_string(c.slot);
  }
  std::string operator()(const command::Kill& c) const {
    return "kill slot=" + std::to_string(c.slot);
  }
};

}  // namespace

Event parse_event(const std::string& line) {
  const Words w(line);
  if (w.name == "tick") return event::Tick{};
  if (w.name == "connected") return event::Connected{};
  if (w.name == "drain") return event::Drain{};
  if (w.name == "terminate") return event::Terminate{};
  if (w.name == "refused") return event::Refused{w.values.at("text")};
  if (w.name == "welcome") {
    return event::Welcome{w.boot(), w.small("interval", 1000), w.small("liveness", 3000)};
  }
  if (w.name == "broker-heartbeat") return event::BrokerHeartbeat{w.boot()};
  if (w.name == "dispatch") return parse_dispatch(w);
  if (w.name == "stored") return event::Stored{w.boot(), w.lease(), w.small("part")};
  if (w.name == "stale") return event::Stale{w.boot(), w.lease()};
  if (w.name == "revoke") return parse_revoke(w);
  if (w.name == "results") {
    auto bytes = std::make_shared<const std::string>(w.number("bytes", 0), 'r');
    return event::SlotResults{w.small("slot"), w.lease(), std::move(bytes), 100,
                              w.values.contains("finished")};
  }
  if (w.name == "returned") {
    return event::SlotReturned{w.small("slot"), w.lease(), {{w.small("first"), w.small("count")}}};
  }
  if (w.name == "late") return event::SlotLate{w.small("slot"), w.lease()};
  if (w.name == "progress") {
    return event::SlotProgress{w.small("slot"), w.lease(), w.small("position"),
                               w.number("value", 0)};
  }
  throw std::invalid_argument("no such event: " + line);
}

SessionOptions parse_options_line(const std::string& line) {
  const Words w(line);
  SessionOptions options;
  options.slots = w.small("slots", 2);
  options.seed = w.number("seed", 1);
  options.idle_timeout_ms = static_cast<std::int64_t>(w.number("idle", 0));
  options.give_up_after_ms = static_cast<std::int64_t>(w.number("give-up", 0));
  options.kept_bytes_max = w.number("kept", options.kept_bytes_max);
  return options;
}

std::vector<std::string> print(const Effects& effects) {
  std::vector<std::string> lines;
  if (effects.close) lines.emplace_back("close");
  if (effects.open) lines.emplace_back("open");
  for (const Message& m : effects.messages) lines.push_back(std::visit(Printer{}, m));
  for (const Command& c : effects.commands) lines.push_back(std::visit(Printer{}, c));
  if (effects.exit) {
    lines.push_back("exit " + std::to_string(effects.exit->code) + " \"" + effects.exit->text +
                    "\"");
  }
  return lines;
}

std::string print_state(const Session& session) {
  switch (session.state()) {
    case Session::State::kConnecting:
      return "connecting";
    case Session::State::kWorking:
      return "working";
    case Session::State::kDraining:
      return "draining";
    case Session::State::kStopped:
      return "stopped";
  }
  return "?";
}

TextSession::TextSession(const std::string& options) : session(parse_options_line(options), 0) {}

std::vector<std::string> TextSession::step(const std::string& line) {
  const std::size_t space = line.find(' ');
  Effects effects;
  session.step(std::stoll(line.substr(0, space)), parse_event(line.substr(space + 1)), effects);
  session.check_invariants();
  return print(effects);
}

void TextSession::connect() {
  step("0 tick");
  step("5 connected");
  step("10 welcome");
}

}  // namespace puzzled::host
