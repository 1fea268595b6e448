// The daemon's loop: the only ZeroMQ, one thread. It steps the Broker with what comes in, and
// carries out what the broker asks for:
//   records, loads, comparisons  → the store's thread
//   now                          → sent at once
//   when_durable                 → held until the store reports the step's records durable
// Queries go to the reader's thread (read_queue.h); their answers are completed with live facts and
// sent.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "daemon/broker/broker.h"
#include "daemon/net/access.h"
#include "daemon/net/codec.h"
#include "daemon/net/local_workers.h"
#include "daemon/net/metrics_request.h"
#include "daemon/net/options.h"
#include "daemon/net/read_queue.h"
#include "daemon/net/refusal_log.h"
#include "daemon/net/router.h"
#include "daemon/net/upkeep.h"
#include "daemon/net/waker.h"
#include "daemon/store/store_thread.h"
#include "proto/curve.h"

namespace puzzled {

class Reactor {
 public:
  struct Parts {  // all outlive the reactor
    Broker& broker;
    StoreThread& store;
    ReadThread& reads;
    const Waker& waker;  // woken by both threads
    int signals;         // descriptor that gives signalfd_siginfo; SIGTERM and SIGINT drain, SIGHUP
                         // reads the list of keys again
    Access* access = nullptr;           // of encrypted endpoints; nullptr: there are none
    MetricsRequest* metrics = nullptr;  // nullptr: nobody asks
  };

  Reactor(zmq::context_t& context, NetOptions options, Parts parts, codec::DaemonFacts facts);
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // To bind before run().
  [[nodiscard]] zmq::socket_t& client_socket() { return clients_.socket(); }
  [[nodiscard]] zmq::socket_t& worker_socket() { return workers_.socket(); }
  // Before run(); outlives it.
  void set_local_workers(LocalWorkers& workers) { local_workers_ = &workers; }

  // Until drained, cut short by a second signal, or the store has failed. Returns the exit code.
  int run();

 private:
  enum class Phase : std::uint8_t { kRunning, kDraining, kEnded };
  struct Held {  // sent once the records of `step` are durable
    std::uint64_t step = 0;
    Send send;
  };
  struct Submitted {
    std::uint64_t sequence = 0;  // of the store's work
    std::uint64_t step = 0;      // of the broker that gave its records
  };
  void wait();
  [[nodiscard]] std::int64_t next_deadline() const;
  void read_signals();
  void read_handshakes();
  void reload_access(Access::Reload when);
  void poll_access(std::int64_t at);
  void answer_metrics();
  // Why a message of this peer is not taken; empty: it is.
  [[nodiscard]] std::string refusal_of(const Router::Peer& peer, Role role,
                                       message::ErrorCode& code);
  bool read_workers();  // true: perhaps there is more
  void read_clients();
  void read_store();
  void read_answers();
  void keep_time();
  void watch_store_queue(std::int64_t at);
  void log_refusal(RefusalLog::Kind kind, std::string_view why);

  void handle_client(PeerId peer, codec::ClientInput input);
  void handle(PeerId peer, const message::Error& error);
  void handle(PeerId peer, Event event);
  void handle(PeerId peer, codec::Query query);
  void handle(PeerId peer, const codec::ListWorkers& list);
  void handle(PeerId peer, const codec::GetVersion& version);
  void handle(PeerId peer, const codec::GetDemand& get);
  void handle(PeerId peer, const codec::CheckBroker& check);
  void handle(PeerId peer, const codec::Backup& backup);
  void handle(const StoreThread::Durable& durable);
  void handle(const StoreThread::Failed& failed);
  void handle(event::ChunkLoaded loaded);
  void handle(event::ChunkCompared compared);
  void handle(event::CanariesLoaded loaded);
  void handle(event::IntakePaused paused);
  void handle(event::IntakeResumed resumed);
  void handle(const Backups::Ended& ended);
  void send_reply(const Upkeep::Reply& of_backup);

  // Steps the broker and takes over its effects.
  void step(Event event);
  void carry_out();
  void send(const Send& send);
  void reply(PeerId peer, std::uint64_t request, std::string frame);
  void start_reads();
  void client_gone(PeerId peer);
  // Tells the broker why nothing new is taken, if that has changed.
  void update_intake();
  [[nodiscard]] codec::DaemonLoad load() const;
  [[nodiscard]] codec::DaemonFacts facts() const;
  void start_drain();
  void end_if_drained();
  [[nodiscard]] bool clients_may_speak() const;

  NetOptions options_;
  Parts parts_;
  codec::DaemonFacts facts_;
  LocalWorkers* local_workers_ = nullptr;
  Upkeep upkeep_;
  std::uint64_t last_peer_ = 0;
  Router clients_;
  Router workers_;
  SocketEvents client_events_;
  SocketEvents worker_events_;
  RefusalLog refusals_;

  Phase phase_ = Phase::kRunning;
  int exit_code_ = 0;
  std::int64_t drain_deadline_ms_ = 0;  // steady; while draining
  std::int64_t alive_ms_ = kNever;      // steady; when a watchdog is told that the loop turns
  std::int64_t keys_ms_ = kNever;       // steady; when the list of keys is looked at next
  std::int64_t sweep_ms_ = 0;           // steady; when idle peers are looked for next
  std::uint64_t told_refused_ = 0;      // connections, in the log

  Effects effects_;
  std::vector<Send> to_send_;
  std::vector<StoreThread::Work> to_store_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t durable_step_ = 0;
  std::deque<Submitted> submitted_;  // works with records that are not durable yet
  std::deque<Held> held_;
  ReadQueue reads_;

  std::uint32_t worker_rounds_ = 0;    // in which clients were not read, one after the other
  std::int64_t queue_over_since_ = 0;  // steady; the store's queue is over its limit; 0: it is not
  std::string store_pause_;            // why the store takes nothing; empty: it does
  std::string queue_pause_;            // likewise, because its queue is too long
  // Why a worker whose key may no longer work is out at once, and at no cost: it did not fall
  // silent, which would be waited for and charged.
  static constexpr const char* kMayNotWork = "its key may not work";
  std::uint64_t over_limit_messages_ = 0;       // of connections beyond the limit
  std::uint64_t told_over_limit_messages_ = 0;  // those in the log
};

}  // namespace puzzled
