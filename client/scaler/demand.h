// What a daemon says, as the scaler sees it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "client/scaler/engine.h"
#include "client/scaler/types.h"
#include "proto/client.pb.h"

namespace puzzled::scaler {

// "puzzle/solver", as workers offer them.
using Offers = std::set<std::string>;

// Slots that the lanes in `offers` want. Clients may invent puzzles, and no worker of ours could
// ever serve them: these are added to `unserved`.
std::uint64_t slots_wanted(const proto::Demand& demand, const Offers& offers, Offers& unserved);

Worker worker_of(const proto::WorkerRow& row, const Engine& engine);

// What the solver processes of this release can do.
Offers offers_of_this_release();

}  // namespace puzzled::scaler
