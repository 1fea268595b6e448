// Reactor: who may speak.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "daemon/net/reactor.h"
#include "proto/base/assert.h"

namespace puzzled {
namespace {

using message::ErrorCode;

constexpr const char* kRevoked = "REVOKED: this key is no longer on the list of authorized keys";

}  // namespace

void Reactor::read_handshakes() {
  if (parts_.access == nullptr) return;
  parts_.access->serve();
  for (SocketEvents* events : {&client_events_, &worker_events_}) {
    while (const auto event = events->next()) {
      // Refused keys are counted where they are refused.
      if (event->kind == SocketEvent::Kind::kHandshakeFailed) {
        parts_.access->handshake_failed(event->text, event->address);
      }
    }
  }
}

void Reactor::poll_access(std::int64_t at) {
  if (at < keys_ms_) return;
  keys_ms_ = at + options_.authorized_keys_poll_ms;
  reload_access(Access::Reload::kIfChanged);
}

void Reactor::reload_access(Access::Reload when) {
  ASSERT(parts_.access != nullptr);  // else SIGHUP is not ours
  switch (parts_.access->reload(when)) {
    case Access::Reloaded::kSame:
      return;
    case Access::Reloaded::kFailed:
      spdlog::error("the list of authorized keys stays as it was: {}", parts_.access->error());
      return;
    case Access::Reloaded::kDone:
      break;
  }
  // Their connections linger until they speak again, and are then refused.
  const auto may_not_work = [this](const std::string& key) {
    return parts_.access->judgement_of(key, Role::kWork) != Access::Judgement::kAllowed;
  };
  const auto unlisted = [this](const std::string& key) { return !parts_.access->is_listed(key); };
  std::size_t ended = 0;
  for (const PeerId peer : workers_.peers_by_key(may_not_work)) {
    step(event::WorkerGoodbye{.peer = peer, .reason = kMayNotWork});
    ++ended;
    const Router::Peer* known = workers_.find(peer);
    if (known == nullptr) continue;  // cut off by what was sent to one before it
    ErrorCode code{};
    std::string why = refusal_of(*known, Role::kWork, code);
    static_cast<void>(
        workers_.send(peer, codec::encode(WorkerMessage(message::Refused{std::move(why)}))));
    if (workers_.find(peer) != nullptr) workers_.forget(peer);
  }
  for (const PeerId peer : clients_.peers_by_key(unlisted)) {
    client_gone(peer);
    clients_.forget(peer);
    ++ended;
  }
  spdlog::info(
      "{} authorized keys; {} connections ended, of keys that were revoked or may no longer work",
      parts_.access->key_count(), ended);
}

std::string Reactor::refusal_of(const Router::Peer& peer, Role role, ErrorCode& code) {
  if (parts_.access == nullptr || peer.key.empty()) return "";
  switch (parts_.access->judge(peer.key, role)) {
    case Access::Judgement::kRevoked:
      code = ErrorCode::kRevoked;
      return kRevoked;
    case Access::Judgement::kForbidden:
      code = ErrorCode::kForbidden;
      return fmt::format(
          "FORBIDDEN: the key of {} lacks the role {}; the daemon's operator gives "
          "roles in the list of authorized keys",
          parts_.access->name_of(peer.key), name_of(role));
    case Access::Judgement::kAllowed:
      break;
  }
  if (!peer.over_limit) return "";
  code = ErrorCode::kUnavailable;
  return fmt::format("the key of {} has more than {} connections (key-connections-max)",
                     parts_.access->name_of(peer.key), options_.key_connections_max);
}

}  // namespace puzzled
