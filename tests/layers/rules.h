// Who may include whom. The table reads like the one in ARCHITECTURE.md, and is what holds.
//
// A row says what the files of `who` may include besides the C++ standard library; the first row
// that matches a file is its row, and a source file without a row is an error. `who` is a pattern
// as in fnmatch in which '*' does not match '/'. Words of `may`:
//   a path ending in '/'   the headers of that folder (not of those below it)
//   another path           that header, '*' as above
//   ./                     the headers of the file's own folder
//   structs                the header named as the file's own folder: workers/puzzles/duel/duel.h
//   messages               generated client, worker and common messages
//   puzzle-messages        the generated messages of the file's own puzzle
//   posix                  system headers that are not the C++ standard library
//   protobuf zmq sqlite spdlog fmt cli11 toml json xxhash gmp microhttpd sodium   that library
#pragma once

#include <array>
#include <string_view>

namespace puzzled::layers {

struct Rule {
  std::string_view who;
  std::string_view may;
};

// The daemon's two sockets and what binds them.
inline constexpr std::string_view kSocketRow =
    "daemon/net/ daemon/broker/ daemon/store/ proto/wire.h proto/curve.h proto/base/ posix zmq "
    "spdlog fmt";

inline constexpr auto kRules = std::to_array<Rule>({
    // The contract between the programs.
    {"proto/base/*", "proto/base/ posix fmt"},
    {"proto/curve.*", "proto/curve.h proto/base/ zmq fmt"},
    {"proto/case_view.*", "proto/case_view.h"},
    {"proto/log_format.*", "proto/log_format.h proto/base/ spdlog"},
    {"proto/raw_fields.h", "protobuf"},
    {"proto/wire.*",
     "proto/wire.h proto/case_view.h proto/raw_fields.h proto/base/ messages protobuf xxhash"},

    // The daemon. The broker is pure; the store sees the broker's types; net/ ties both to the
    // sockets, its codec being the only one to see protobuf, and few files to see ZeroMQ.
    {"daemon/broker/*", "daemon/broker/ proto/base/"},
    {"daemon/store/*_thread.*", "daemon/store/ daemon/broker/ proto/base/ posix spdlog fmt"},
    {"daemon/store/*",
     "daemon/store/ daemon/broker/ proto/base/ proto/case_view.h proto/wire.h posix sqlite spdlog "
     "fmt"},
    {"daemon/net/codec*",
     "daemon/net/ daemon/broker/ daemon/store/query.h proto/raw_fields.h proto/wire.h proto/base/ "
     "messages protobuf fmt"},
    {"daemon/net/reactor*", kSocketRow},
    {"daemon/net/router*", kSocketRow},
    {"daemon/net/access.*", kSocketRow},
    {"daemon/net/listen*", kSocketRow},
    {"daemon/net/metrics_endpoint.*", "daemon/net/ proto/base/ posix fmt microhttpd"},
    {"daemon/net/*",
     "daemon/net/ daemon/broker/ daemon/store/ proto/wire.h proto/base/ posix spdlog fmt"},
    {"daemon/*",
     "daemon/ daemon/broker/ daemon/store/ daemon/net/ proto/base/ proto/log_format.h proto/wire.h "
     "posix spdlog fmt cli11 toml json"},

    // Puzzles are leaves: their interface, their own folder, their own messages, big integers.
    // What judges an answer, and the brute force, share only the structs with what found it.
    {"workers/puzzles/*/validator.*", "structs workers/puzzles/ gmp fmt"},
    {"workers/puzzles/*/checker.*", "structs workers/puzzles/ gmp fmt"},
    {"workers/puzzles/*/brute_force.*", "structs workers/puzzles/ gmp fmt"},
    {"workers/puzzles/*/*", "./ workers/puzzles/ proto/base/ gmp fmt puzzle-messages protobuf"},
    {"workers/puzzles/registry.cc", "workers/puzzles/ workers/puzzles/*/*.h"},
    {"workers/puzzles/key.*", "workers/puzzles/ proto/base/ sodium"},
    {"workers/puzzles/*", "workers/puzzles/ proto/base/ posix gmp fmt protobuf"},

    // The worker. The session is pure; the host owns the socket; the child runs the puzzles.
    {"workers/host/session*", "workers/host/session*.h proto/base/"},
    {"workers/host/host*",
     "workers/host/ workers/puzzles/ proto/wire.h proto/curve.h proto/base/ posix zmq spdlog fmt"},
    {"workers/host/codec*",
     "workers/host/ workers/puzzles/ proto/wire.h proto/base/ messages protobuf fmt"},
    {"workers/host/solver_child*",
     "workers/host/ workers/puzzles/ proto/case_view.h proto/wire.h proto/base/ messages protobuf "
     "posix fmt"},
    {"workers/host/slot*",
     "workers/host/ proto/wire.h proto/base/ messages protobuf posix spdlog fmt"},
    {"workers/host/budget*", "workers/host/ posix gmp"},
    {"workers/host/options*",
     "workers/host/ workers/puzzles/ proto/wire.h proto/base/ posix spdlog fmt cli11 toml"},
    {"workers/host/*",
     "workers/host/ workers/puzzles/ proto/log_format.h proto/wire.h proto/base/ posix spdlog fmt"},

    // The client: one connection, typed calls over it, commands that also know the puzzles.
    {"client/connection*",
     "client/ proto/wire.h proto/curve.h proto/base/ messages protobuf posix zmq fmt"},
    {"client/cmd_keygen.cc", "client/ proto/curve.h proto/base/ posix fmt"},
    // What starts and ends workers: its decisions are pure, the rest is a client like the others.
    {"client/scaler/scaler.*", "client/scaler/scaler.h client/scaler/types.h"},
    {"client/scaler/types.h", ""},
    {"client/scaler/*",
     "client/scaler/ client/ workers/puzzles/ proto/log_format.h proto/base/ messages posix spdlog "
     "fmt cli11 json"},
    {"client/*",
     "client/ workers/puzzles/ proto/case_view.h proto/wire.h proto/base/ messages protobuf posix "
     "spdlog fmt cli11 "
     "toml json xxhash"},
});

}  // namespace puzzled::layers
