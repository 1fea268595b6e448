// Who may do what over encrypted endpoints: answers ZeroMQ's questions about keys (ZAP,
// rfc.zeromq.org/spec/27), judges messages by the role of their sender's key, and counts what was
// refused. One thread, that of the reactor.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <zmq.hpp>

#include "daemon/net/access_list.h"

namespace puzzled {

class Access {
 public:
  enum class Judgement : std::uint8_t { kAllowed, kRevoked, kForbidden };
  struct Counts {
    std::uint64_t handshakes = 0;  // refused or failed
    std::uint64_t messages = 0;    // refused: of revoked keys, or without the role
  };

  // Reads both files. Throws Fatal (configuration).
  Access(const std::string& key_file, std::string authorized_keys_file);

  [[nodiscard]] const KeyPair& keys() const { return keys_; }
  [[nodiscard]] std::size_t key_count() const { return list_.size(); }
  [[nodiscard]] const Counts& counts() const { return counts_; }

  // Answers handshakes in this context from now on. Before the first secure endpoint is bound.
  void open(zmq::context_t& context);
  void close() { questions_.close(); }  // before the context ends
  // To poll; readable when serve() has something to do.
  [[nodiscard]] void* handle() { return questions_.handle(); }
  void serve();

  // What a message of the holder of this key may do; an empty key is a connection that is not
  // encrypted (a local socket), which may all.
  Judgement judge(const std::string& public_key, Role role);
  // The same of a message that has not come: uncounted.
  [[nodiscard]] Judgement judgement_of(const std::string& public_key, Role role) const;
  // Whether the key is still on the list.
  [[nodiscard]] bool is_listed(const std::string& public_key) const;
  // The name of the key's holder, or the key itself.
  [[nodiscard]] std::string name_of(const std::string& public_key) const;

  enum class Reload : std::uint8_t { kAlways, kIfChanged };
  enum class Reloaded : std::uint8_t { kDone, kSame, kFailed };
  // Reads the list again. If that fails the old one stays, and error() says why. kSame: the file,
  // or what is wrong with it, is what it was the last time; only for kIfChanged.
  Reloaded reload(Reload when);
  [[nodiscard]] const std::string& error() const { return error_; }

  // A handshake that ended without a question about its key.
  void handshake_failed(const std::string& text, const std::string& address);

 private:
  // At most one line a second and kind in the log, with how many were left out.
  struct Quiet {
    std::int64_t next_ms = 0;  // steady
    std::uint64_t left_out = 0;
  };
  void warn(Quiet& quiet, const std::string& text);

  std::string file_;
  std::string text_;   // of the list that holds
  std::string error_;  // of the last reload; empty: it went well
  KeyPair keys_;
  AccessList list_;
  Counts counts_;
  Quiet refused_keys_;
  Quiet failed_handshakes_;
  Quiet refused_messages_;
  zmq::socket_t questions_;
};

}  // namespace puzzled
