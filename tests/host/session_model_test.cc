// A Session against a model of broker, network and slots, with random losses and restarts: every
// case of every lease ends with one stored result or is given back, and when the faults stop, all
// is done within a bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "workers/host/session.h"

namespace puzzled::host {
namespace {

constexpr std::uint32_t kSlots = 3;
constexpr std::uint32_t kCasesWanted = 400;

// Cases are numbers; results carry them as text, so that the model broker can read them.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed), session_(make_options(seed), 0) {
    for (std::uint32_t i = 0; i < kCasesWanted; ++i) open_.insert(i);
  }

  void run(std::int64_t faults_until_ms, std::int64_t end_ms) {
    for (now_ = 0; now_ < end_ms && !(open_.empty() && now_ > faults_until_ms); ++now_) {
      faulty_ = now_ < faults_until_ms;
      if (faulty_ && chance(400)) restart_broker();
      if (faulty_ && chance(300)) cut();
      deliver();
      work();
      if (now_ >= session_.next_deadline()) step(event::Tick{});
      broker_time();
    }
  }

  [[nodiscard]] bool all_done() const { return open_.empty() && leased_.empty(); }
  [[nodiscard]] const Session& session() const { return session_; }

 private:
  struct Lease {
    std::set<std::uint32_t> cases;  // still without a result
    std::vector<std::uint32_t> all;
  };
  struct Running {
    DispatchPtr dispatch;
    std::uint32_t next = 0;
    std::uint32_t end = 0;
    bool late = false;
  };

  static SessionOptions make_options(std::uint64_t seed) {
    SessionOptions options;
    options.slots = kSlots;
    options.seed = seed;
    options.heartbeat_interval_ms = 20;
    options.liveness_ms = 60;
    options.backoff_first_ms = 5;
    options.backoff_max_ms = 50;
    return options;
  }

  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  bool chance(std::uint64_t one_in) { return draw(one_in) == 0; }

  void step(const Event& event) {
    Effects effects;
    session_.step(now_, event, effects);
    session_.check_invariants();
    if (effects.close) disconnect();
    if (effects.open) {
      disconnect();
      opening_ = true;
    }
    for (const Message& m : effects.messages) {
      if (connected_) to_broker_.push_back(m);
    }
    for (const Command& c : effects.commands) {
      if (const auto* start = std::get_if<command::Start>(&c)) {
        ASSERT_EQ(slots_[start->slot].dispatch, nullptr);
        slots_[start->slot] = {start->dispatch, 0, start->dispatch->case_count, false};
      } else if (const auto* trim = std::get_if<command::Trim>(&c)) {
        trims_.push_back(trim->slot);
      } else if (const auto* kill = std::get_if<command::Kill>(&c)) {
        slots_[kill->slot] = {};
      }
    }
    ASSERT_FALSE(effects.exit);
    while (!trims_.empty()) {
      const SlotNo slot = trims_.front();
      trims_.pop_front();
      trim(slot);
    }
  }

  void disconnect() {
    connected_ = opening_ = false;
    to_broker_.clear();
    to_worker_.clear();
  }
  void cut() { disconnect(); }  // the session finds out by the silence

  void restart_broker() {
    ++boot_;
    for (auto& [id, lease] : leased_) open_.insert(lease.cases.begin(), lease.cases.end());
    leased_.clear();
    known_ = false;
    capacity_ = 0;
    if (chance(2)) disconnect();  // else the same socket leads to the new broker
    to_broker_.clear();
    to_worker_.clear();
  }

  // ---- Network

  void deliver() {
    if (opening_ && !chance(3)) {
      opening_ = false;
      connected_ = true;
      step(event::Connected{});
    }
    for (int i = 0; i < 4 && !to_broker_.empty(); ++i) {
      const Message m = to_broker_.front();
      to_broker_.pop_front();
      std::visit([this](const auto& body) { receive(body); }, m);
    }
    for (int i = 0; i < 4 && !to_worker_.empty(); ++i) {
      const Event e = to_worker_.front();
      to_worker_.pop_front();
      step(e);
    }
  }

  // ---- Slots

  void trim(SlotNo number) {
    Running& slot = slots_[number];
    if (slot.dispatch == nullptr) return;
    const std::uint32_t keep = std::min(slot.next + 1, slot.end);
    const Range rest{keep, slot.end - keep};
    slot.end = keep;
    if (rest.count > 0) step(event::SlotReturned{number, slot.dispatch->lease, {rest}});
  }

  void work() {
    for (SlotNo i = 0; i < kSlots; ++i) {
      if (slots_[i].dispatch == nullptr || chance(3)) continue;
      Running& slot = slots_[i];
      const LeaseId lease = slot.dispatch->lease;
      if (!slot.late && chance(40)) {
        slot.late = true;
        step(event::SlotLate{i, lease});
        continue;
      }
      std::string results;
      const std::uint32_t until =
          std::min<std::uint32_t>(slot.end, slot.next + 1 + static_cast<std::uint32_t>(draw(8)));
      for (; slot.next < until; ++slot.next) results += std::to_string(slot.next) + " ";
      const bool finished = slot.next == slot.end;
      if (finished) slot = {};
      step(event::SlotResults{i, lease, std::make_shared<const std::string>(results), 1, finished});
    }
  }

  // ---- The model broker

  void receive(const message::Ready& m) {
    known_ = true;
    capacity_ = m.capacity;
    to_worker_.emplace_back(event::Welcome{Boot{boot_}, 20, 60});
    const bool same = m.boot == Boot{boot_};
    keep_only(same ? m.leases : std::vector<LeaseId>{}, true);
  }
  void receive(const message::Results& m) {
    if (!is_known()) return;
    capacity_ = m.capacity;
    const auto found = leased_.find(m.lease);
    if (m.boot != Boot{boot_} || found == leased_.end()) {
      to_worker_.emplace_back(event::Stale{m.boot, m.lease});
      return;
    }
    std::istringstream in(*m.results);
    for (std::uint32_t position = 0; in >> position;) {
      found->second.cases.erase(found->second.all.at(position));
    }
    if (found->second.cases.empty()) leased_.erase(found);
    if (!faulty_ || !chance(5)) {
      to_worker_.emplace_back(event::Stored{m.boot, m.lease, m.part});
    }
  }
  void receive(const message::Return& m) {
    if (!is_known()) return;
    capacity_ = m.capacity;
    const auto found = leased_.find(m.lease);
    if (m.boot != Boot{boot_} || found == leased_.end()) return;
    for (const Range& range : m.positions) {
      for (std::uint32_t p = range.first; p < range.first + range.count; ++p) {
        const std::uint32_t c = found->second.all.at(p);
        // A case given back has no result, and no result comes for it later.
        ASSERT_EQ(found->second.cases.erase(c), 1U);
        open_.insert(c);
      }
    }
    if (found->second.cases.empty()) leased_.erase(found);
  }
  void receive(const message::Heartbeat& m) {
    if (!is_known()) return;
    capacity_ = m.capacity;
    keep_only(m.leases, false);
  }
  void receive(const message::Goodbye&) { FAIL() << "nobody asked it to go"; }

  bool is_known() {
    if (!known_) to_worker_.emplace_back(event::Welcome{Boot{0}, 0, 0});
    return known_;
  }

  // Leases that the worker no longer has are open again; but not those on their way to it.
  void keep_only(const std::vector<LeaseId>& held, bool all_arrived) {
    if (!all_arrived && !to_worker_.empty()) return;
    for (auto it = leased_.begin(); it != leased_.end();) {
      if (std::ranges::find(held, it->first) != held.end()) {
        ++it;
        continue;
      }
      open_.insert(it->second.cases.begin(), it->second.cases.end());
      it = leased_.erase(it);
    }
  }

  void broker_time() {
    if (!connected_ || !known_) return;
    if (now_ % 20 == 0) to_worker_.emplace_back(event::BrokerHeartbeat{Boot{boot_}});
    while (!open_.empty() && leased_.size() < capacity_) {
      auto dispatch = std::make_shared<Dispatch>();
      dispatch->boot = Boot{boot_};
      dispatch->lease = LeaseId{++last_lease_};
      Lease lease;
      for (std::uint64_t n = 1 + draw(16); n > 0 && !open_.empty(); --n) {
        lease.all.push_back(*open_.begin());
        lease.cases.insert(*open_.begin());
        open_.erase(open_.begin());
      }
      dispatch->case_count = static_cast<std::uint32_t>(lease.all.size());
      leased_.emplace(dispatch->lease, std::move(lease));
      to_worker_.emplace_back(event::Dispatched{std::move(dispatch)});
    }
  }

  std::mt19937_64 random_;
  Session session_;
  std::int64_t now_ = 0;
  bool faulty_ = true;
  bool connected_ = false;
  bool opening_ = false;
  std::deque<Message> to_broker_;
  std::deque<Event> to_worker_;
  std::array<Running, kSlots> slots_;
  std::deque<SlotNo> trims_;

  std::uint64_t boot_ = 1;
  bool known_ = false;
  std::uint32_t capacity_ = 0;
  std::uint64_t last_lease_ = 0;
  std::set<std::uint32_t> open_;
  std::map<LeaseId, Lease> leased_;
};

TEST(SessionModel, AllCasesEndOnceTheFaultsStop) {
  const char* chosen = std::getenv("PUZZLED_SEED");
  const std::uint64_t first = chosen != nullptr ? std::stoull(chosen) : 1;
  const std::uint64_t last = chosen != nullptr ? first : 300;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("PUZZLED_SEED=" + std::to_string(seed));
    World world(seed);
    world.run(3'000, 8'000);
    ASSERT_TRUE(world.all_done());
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace puzzled::host
