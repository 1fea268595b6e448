// What a daemon says, as the scaler sees it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/scaler/engine.h"
#include "client/scaler/types.h"
#include "proto/base/labels.h"
#include "proto/client.pb.h"

namespace puzzled::scaler {

// Versions of "puzzle/solver", as workers offer them.
using Offers = std::map<std::string, std::set<std::string>>;

// What workers with these offers and labels are wanted for. Clients may invent puzzles, and require
// what no worker of ours has: such work starts none.
class Wants {
 public:
  struct Lane {
    std::string offer;    // "puzzle/solver"
    std::string version;  // the only one that may solve it; empty: any
    Labels require;
    std::uint64_t slots = 0;
  };

  Wants(const proto::Demand& demand, const Offers& offers, const Labels& labels);

  // Of the work that they can do.
  [[nodiscard]] std::uint64_t slots() const { return slots_; }
  // The other work, as text.
  [[nodiscard]] const std::set<std::string>& unserved() const { return unserved_; }
  // How many slots of that work a worker of others takes over, beside those asked about before.
  std::uint32_t take(const proto::WorkerRow& row);

 private:
  std::uint64_t slots_ = 0;
  std::set<std::string> unserved_;
  std::vector<Lane> left_;  // what nobody has taken
};

Worker worker_of(const proto::WorkerRow& row, const Engine& engine);
// What this one can do, added to what others can.
void add_offers(const proto::WorkerRow& row, Offers& offers);

// What the solver processes of this release can do.
Offers offers_of_this_release();

}  // namespace puzzled::scaler
