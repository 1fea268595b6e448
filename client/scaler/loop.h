// The shell around the Scaler: asks daemon and engine, carries out, says what it did.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "client/connection.h"
#include "client/scaler/demand.h"
#include "client/scaler/engine.h"
#include "client/scaler/options.h"
#include "client/scaler/scaler.h"

namespace puzzled::scaler {

inline constexpr int kExitEngine = 5;  // of --once: the engine cannot be asked, or refused

class Loop {
 public:
  // Both must outlive the loop.
  Loop(const Options& options, Engine& engine)
      : options_(options),
        engine_(engine),
        scaler_(options.scaler),
        offers_(offers_of_this_release()) {}

  // Until a signal, or once. Throws client::Failure if the daemon refuses us before it has ever
  // answered: that is a wrong setting. Later it passes, as when a key was missing for a moment.
  int run();

 private:
  // One look, and what follows; the exit code that --once ends with.
  int turn();
  // Until the next one is due.
  void pause();
  void ask_daemon(Observation& seen);
  void ask_engine(Observation& seen);
  bool carry_out(const Decision& decision);
  bool submit(std::uint32_t count);
  bool end(const std::vector<End>& ends, How how);
  void note_unserved(const std::set<std::string>& unserved);
  void tell_status();

  const Options& options_;
  Engine& engine_;
  Scaler scaler_;
  std::optional<client::Connection> connection_;
  bool ever_heard_ = false;  // the daemon
  Offers offers_;
  std::set<std::string> told_unserved_;
  std::string told_status_;
  std::string told_plan_;  // of a dry run
};

}  // namespace puzzled::scaler
