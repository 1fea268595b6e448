// The sweeper: looks again at what every step should have left in order. It finds nothing unless
// this program has a bug or an answer of the store was lost; then it says so, and goes on.
#pragma once

#include "daemon/broker/core.h"

namespace puzzled::broker {

// As event::Sweep says. The work of a step is bounded, but a job is always looked at whole.
void sweep(Core& core, const event::Sweep& sweep);

}  // namespace puzzled::broker
