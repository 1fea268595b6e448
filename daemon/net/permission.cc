#include "daemon/net/permission.h"

#include <type_traits>
#include <variant>

namespace puzzled {
namespace {

template <class T, class... Kinds>
constexpr bool kIsOneOf = (std::is_same_v<T, Kinds> || ...);

Role role_for(const Event& event) {
  return std::visit(
      [](const auto& e) {
        using T = std::decay_t<decltype(e)>;
        if (kIsOneOf<T, event::WaitJob>) return Role::kRead;
        if (kIsOneOf<T, event::OpenJob, event::AddChunk, event::SealJob, event::CancelJob>) {
          return Role::kSubmit;
        }
        return Role::kOperate;  // what is new is the operator's until it is said here
      },
      event);
}

}  // namespace

std::optional<Role> role_for(const codec::ClientInput& input) {
  return std::visit(
      [](const auto& what) -> std::optional<Role> {
        using T = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<T, message::Error>) {
          return std::nullopt;
        } else if constexpr (std::is_same_v<T, Event>) {
          return role_for(what);
        } else if (kIsOneOf<T, codec::Query, codec::ListWorkers, codec::GetVersion,
                            codec::GetDemand>) {
          return Role::kRead;
        }
        return Role::kOperate;
      },
      input);
}

}  // namespace puzzled
