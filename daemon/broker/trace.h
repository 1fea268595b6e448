// Events and effects as text, one line each: for golden tests, the simulator and people.
#pragma once

#include <string>

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"

namespace puzzled {

// One line without a line break, e.g. "WorkerReturn peer=2 boot=1 lease=3 attempt=1 positions=0-3".
std::string describe(const Event& event);

// One line each, indented, in the order of the contract: records, when_durable, now, loads.
// Empty if there are none.
std::string describe(const Effects& effects);

}  // namespace puzzled
