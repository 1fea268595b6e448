#include "daemon/net/access.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>
#include <vector>

#include "proto/base/fatal.h"
#include "proto/curve.h"

namespace puzzled {
namespace {

constexpr int kConfiguration = 2;
constexpr const char* kZapEndpoint = "inproc://zeromq.zap.01";
constexpr std::size_t kKeyBytes = 32;
constexpr int kQuestionsAtOnce = 256;  // before messages get their turn
constexpr std::int64_t kQuietMs = 1'000;

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Frames of a request, by spec 27; after the mechanism come its credentials.
enum Frame : std::uint8_t { kVersion, kRequest, kDomain, kAddress, kRoutingId, kMechanism, kKey };

std::string key_of(const std::vector<zmq::message_t>& frames) {
  if (frames.size() != kKey + 1 || frames[kMechanism].to_string_view() != "CURVE" ||
      frames[kKey].size() != kKeyBytes) {
    return "";
  }
  std::array<char, kKeyTextBytes + 1> text{};
  if (::zmq_z85_encode(text.data(), frames[kKey].data<std::uint8_t>(), kKeyBytes) == nullptr) {
    return "";
  }
  return text.data();
}

}  // namespace

Access::Access(const std::string& key_file, std::string authorized_keys_file)
    : file_(std::move(authorized_keys_file)) {
  auto keys = read_key_file(key_file);
  if (const auto* error = std::get_if<KeyError>(&keys)) throw Fatal(kConfiguration, error->text);
  keys_ = std::get<KeyPair>(std::move(keys));
  if (reload(Reload::kAlways) != Reloaded::kDone) throw Fatal(kConfiguration, error_);
}

void Access::open(zmq::context_t& context) {
  questions_ = zmq::socket_t(context, zmq::socket_type::rep);
  questions_.set(zmq::sockopt::linger, 0);
  questions_.bind(kZapEndpoint);
}

void Access::serve() {
  for (int i = 0; i < kQuestionsAtOnce; ++i) {
    std::vector<zmq::message_t> frames(1);
    if (!questions_.recv(frames[0], zmq::recv_flags::dontwait)) return;
    while (frames.back().more()) {
      zmq::message_t next;
      static_cast<void>(questions_.recv(next));
      frames.push_back(std::move(next));
    }
    const std::string key = key_of(frames);
    const bool known = !key.empty() && is_listed(key);
    if (!known) {
      ++counts_.handshakes;
      const std::string_view address =
          frames.size() > kAddress ? frames[kAddress].to_string_view() : "?";
      warn(refused_keys_, fmt::format("refused the key {} from {}: not in {}",
                                      key.empty() ? "(none)" : key, address, file_));
    }
    const std::string_view request =
        frames.size() > kRequest ? frames[kRequest].to_string_view() : "";
    const std::string_view user_id = known ? std::string_view(key) : "";
    const std::string_view reply[] = {
        "1.0", request, known ? "200" : "400", known ? "OK" : "no such key", user_id, ""};
    for (std::size_t part = 0; part < std::size(reply); ++part) {
      const bool last = part + 1 == std::size(reply);
      static_cast<void>(questions_.send(zmq::buffer(reply[part]),
                                        last ? zmq::send_flags::none : zmq::send_flags::sndmore));
    }
  }
}

Access::Judgement Access::judgement_of(const std::string& public_key, Role role) const {
  if (public_key.empty()) return Judgement::kAllowed;
  const AccessList::Grant* grant = list_.find(public_key);
  if (grant == nullptr) return Judgement::kRevoked;
  return has_role(grant->roles, role) ? Judgement::kAllowed : Judgement::kForbidden;
}

Access::Judgement Access::judge(const std::string& public_key, Role role) {
  const Judgement judgement = judgement_of(public_key, role);
  if (judgement == Judgement::kAllowed) return judgement;
  ++counts_.messages;
  warn(refused_messages_, judgement == Judgement::kRevoked
                              ? fmt::format("refused a message of the revoked key {}", public_key)
                              : fmt::format("refused a message of {}: its key has not that role",
                                            name_of(public_key)));
  return judgement;
}

bool Access::is_listed(const std::string& public_key) const {
  return public_key.empty() || list_.find(public_key) != nullptr;
}

std::string Access::name_of(const std::string& public_key) const {
  const AccessList::Grant* grant = list_.find(public_key);
  return grant == nullptr ? public_key : grant->name;
}

Access::Reloaded Access::reload(Reload when) {
  const auto fail = [&](const KeyError& why) {
    const bool is_same = std::exchange(error_, why.text) == why.text;
    return is_same && when == Reload::kIfChanged ? Reloaded::kSame : Reloaded::kFailed;
  };
  auto text = AccessList::read(file_);
  if (const auto* error = std::get_if<KeyError>(&text)) return fail(*error);
  std::string& content = std::get<std::string>(text);
  if (when == Reload::kIfChanged && error_.empty() && content == text_) return Reloaded::kSame;
  auto list = AccessList::parse(content, file_);
  if (const auto* error = std::get_if<KeyError>(&list)) return fail(*error);
  list_ = std::get<AccessList>(std::move(list));
  text_ = std::move(content);
  error_.clear();
  return Reloaded::kDone;
}

void Access::handshake_failed(const std::string& text, const std::string& address) {
  ++counts_.handshakes;
  warn(failed_handshakes_, fmt::format("a handshake failed at {}: {}", address, text));
}

void Access::warn(Quiet& quiet, const std::string& text) {
  const std::int64_t at = steady_ms();
  if (at < quiet.next_ms) {
    ++quiet.left_out;
    return;
  }
  quiet.next_ms = at + kQuietMs;
  const std::uint64_t left_out = std::exchange(quiet.left_out, 0);
  if (left_out == 0) {
    spdlog::warn("{}", text);
  } else {
    spdlog::warn("{} (and {} more since the last such line)", text, left_out);
  }
}

}  // namespace puzzled
