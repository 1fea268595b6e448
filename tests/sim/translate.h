// What the codecs do to workers' messages, without bytes.
#pragma once

#include "daemon/broker/effect.h"
#include "daemon/broker/event.h"
#include "workers/host/session_types.h"

namespace puzzled::sim {

// `peer`, and what never changes in a process (start id, name, offers), are filled in by others.
event::WorkerReady to_broker(const host::message::Ready& m);
event::WorkerResults to_broker(const host::message::Results& m);
event::WorkerReturn to_broker(const host::message::Return& m);
event::WorkerHeartbeat to_broker(const host::message::Heartbeat& m);
event::WorkerGoodbye to_broker(const host::message::Goodbye& m);

host::Event to_session(const message::Welcome& m);
host::Event to_session(const message::Dispatch& m);
host::Event to_session(const message::Stored& m);
host::Event to_session(const message::Stale& m);
host::Event to_session(const message::Revoke& m);
host::Event to_session(const message::Drain& m);
host::Event to_session(const message::Heartbeat& m);
host::Event to_session(const message::Refused& m);

}  // namespace puzzled::sim
