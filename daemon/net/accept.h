// Keeps the daemon alive when connections use up its file descriptors. ZeroMQ ends the process when
// accept() on a Unix socket fails for want of one, so this file defines the accept4() that it
// calls: a connection that would take one of the last kSpareDescriptors is closed at once instead.
// Its peer sees a connection that breaks, and comes again.
#pragma once

#include <cstdint>

namespace puzzled {

// For the database, for workers that are started, and for the connections that exist.
inline constexpr int kSpareDescriptors = 32;

// Connections refused so since the start.
std::uint64_t refused_connections();

}  // namespace puzzled
