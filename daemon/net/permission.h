// Which role a client's request needs.
#pragma once

#include <optional>

#include "daemon/net/codec.h"
#include "proto/base/keys.h"

namespace puzzled {

// nullopt: none, the request is refused anyway.
std::optional<Role> role_for(const codec::ClientInput& input);

}  // namespace puzzled
