// Limits and intervals of the network side, units in the names.
#pragma once

#include <cstdint>

#include "proto/wire.h"

namespace puzzled {

// What the codec lets pass.
struct CodecOptions {
  std::uint64_t message_bytes_max = wire::kMessageBytesMax;
  std::uint64_t case_bytes_max = wire::kCaseBytesMax;
  std::uint64_t answer_bytes_max = wire::kAnswerBytesMax;
  std::uint64_t time_limit_us_max = 3'600'000'000ULL;   // that a job may ask for
  std::uint64_t memory_limit_bytes_max = 64ULL << 30U;  // that a job may ask for
  std::uint32_t page_rows = 1'000;                      // of a query that names no limit
  std::uint32_t page_rows_max = 10'000;                 // of one that does
};

struct NetOptions {
  CodecOptions codec;
  std::uint32_t burst_messages_max = 256;  // read from a socket before its effects are carried out
  std::uint64_t burst_bytes_max = 8ULL << 20U;  // likewise
  // Above it clients are not read, and soon told that the disk is slow.
  std::uint64_t store_queue_bytes_max = 64ULL << 20U;
  std::uint64_t peer_queue_bytes_max = 64ULL << 20U;  // unsent to one peer; over it, it is cut off
  // Unsent to all peers of an endpoint; over it, the one with most of it is cut off.
  std::uint64_t endpoint_queue_bytes_max = 256ULL << 20U;
  std::uint64_t unread_bytes_max = 4ULL << 20U;  // unsent to a client; over it, its queries wait
  std::uint32_t connections_max = 50'000;        // of an endpoint
  std::uint32_t socket_messages_max = 32;        // in ZeroMQ for one peer, each direction
  std::uint32_t retry_ms = 2;                    // between tries to send to a full peer
  std::uint32_t reads_max = 10'000;              // queries that wait for the reader
  std::uint32_t client_reads_max = 256;          // of them, of one client
  std::uint32_t reads_under_way_max = 8;         // handed to the reader's thread
  std::uint32_t client_idle_ms = 60'000;       // a silent client with nothing open is forgotten, as
                                               // is one that takes none of its replies
  std::uint32_t open_requests_max = 1'000;     // of one client, without a reply yet
  std::uint32_t refusals_log_ms = 1'000;       // between two log lines about refused messages
  std::uint32_t key_connections_max = 20'000;  // encrypted ones with the same key, per endpoint
  std::uint32_t authorized_keys_poll_ms = 0;   // between looks at the list of keys; 0: never
  std::uint32_t drain_timeout_ms = 30'000;     // from SIGTERM until the end, whatever still runs
  std::uint32_t upkeep_interval_ms = 1'000;    // between steps of sweeper and check; 0: never
  std::uint32_t linger_ms = 1'000;             // for unsent messages at the end
};

}  // namespace puzzled
