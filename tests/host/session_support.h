// A Session driven by lines of text, and its effects printed, for golden traces and unit tests.
//
// Events, each after a time in milliseconds ("12 welcome boot=1"):
//   tick  connected  drain  terminate  refused text=T
//   welcome boot=B interval=MS liveness=MS   broker-heartbeat boot=B
//   dispatch lease=L cases=N [boot=B] [attempt=A] [alone]
//   stored lease=L part=P [boot=B]   stale lease=L [boot=B]   revoke leases=L,L [boot=B]
//   results slot=S lease=L bytes=N [finished]   returned slot=S lease=L first=P count=N
//   late slot=S lease=L   progress slot=S lease=L position=P value=V
// boot is 1 where it is not said.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workers/host/session.h"

namespace puzzled::host {

Event parse_event(const std::string& text);
// "options slots=2 idle=5000 give-up=9000 seed=7 kept=1000"
SessionOptions parse_options_line(const std::string& text);
// One line an effect, without indentation.
std::vector<std::string> print(const Effects& effects);
std::string print_state(const Session& session);

class TextSession {
 public:
  explicit TextSession(const std::string& options = "options slots=2");

  // Steps once and checks the invariants; "TIME EVENT". Returns the printed effects.
  std::vector<std::string> step(const std::string& line);
  // The first steps of a worker, up to a Welcome of boot 1 at 10 ms.
  void connect();

  Session session;
};

}  // namespace puzzled::host
