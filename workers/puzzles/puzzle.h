// What a puzzle is to the rest of the system: a table of plain functions over serialised
// Instance and Answer messages (proto/puzzles/*.proto). Everything here is offline and
// single-threaded; the worker calls `solve`, the client all the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "workers/puzzles/key.h"
#include "workers/puzzles/rng.h"
#include "workers/puzzles/text.h"

namespace puzzled {

// Thrown by the functions below that take a serialised instance or answer which cannot be decoded
// or breaks the puzzle's rules. what() is one printable line: what was found, what was allowed.
class InvalidWire : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One instance read from a test file.
struct ParsedCase {
  std::string instance;  // serialised; empty if `invalid` is set.
  std::string invalid;   // not empty: the case is to be skipped, this is why ("LINE:COLUMN: …").
};

// Reads the instances of one test file in order.
class InstanceReader {
 public:
  virtual ~InstanceReader() = default;
  // The next case; false at the end (of the file, or after a syntax error that drops the rest).
  // `out` is reused: its strings are overwritten. Defects met so far are in defects().
  virtual bool next(ParsedCase& out) = 0;
  // All defects so far, in order of the text. After next() has returned false: of the whole file.
  // A file is valid iff there are none.
  [[nodiscard]] virtual const std::vector<Defect>& defects() const = 0;
  // True if a syntax error dropped cases, so that answers may be left over.
  [[nodiscard]] virtual bool dropped_rest() const = 0;
};

// One claimed answer read from an answer file.
struct ParsedClaim {
  std::string answer;      // serialised; empty if `unreadable` is set.
  std::string unreadable;  // not empty: why it cannot be read (graded as INVALID_ANSWER).
};

// Reads the claimed answers of one answer file, in the order of the cases.
class ClaimReader {
 public:
  virtual ~ClaimReader() = default;
  // The claim for the next case. A missing one is reported as unreadable; never fails.
  virtual void next(ParsedClaim& out) = 0;
  // After the last case: a defect if text that belongs to no case is left.
  virtual std::optional<Defect> finish() = 0;
};

struct CheckResult {
  bool accepted = false;
  std::string message;  // for WRONG_ANSWER: what differs, one printable line of at most 500 bytes.
};

struct Solver {
  std::string_view name;     // e.g. "staircase"
  std::string_view version;  // raised whenever an answer could change, e.g. "1"
  std::string_view summary;  // one line for `puzzlectl puzzles`
  // Appends nothing, replaces `answer` by the serialised Answer. Throws InvalidWire for a bad
  // instance (always validated: the bytes come from the network). May take for ever.
  void (*solve)(std::string_view instance, std::string& answer);
};

struct Puzzle {
  std::string_view name;        // routing name, e.g. "chinese-checkers"
  std::string_view title;       // one line: what is asked
  std::string_view source;      // where the puzzle comes from
  std::string_view limits;      // one line, e.g. "1 <= n <= 1000, 0 <= k <= n*n"
  std::vector<Solver> solvers;  // the first is the default; one is named "brute-force"

  // `text` must outlive the reader.
  std::unique_ptr<InstanceReader> (*read_instances)(std::string_view text);
  std::unique_ptr<ClaimReader> (*read_claims)(std::string_view text);

  // Appends the answer of one case in the contest's output format (whole lines).
  void (*format_answer)(std::string_view answer, std::string& out);
  // A whole test file in the contest's input format. Throws InvalidWire if the format cannot hold
  // them (formats of one case a file).
  std::string (*format_instances)(const std::vector<std::string>& instances);
  // For people: the instance drawn as a board with ASCII characters, whole lines.
  std::string (*draw)(std::string_view instance);
  // For people and tables: the answer on one line, at most 60 bytes.
  std::string (*summarize)(std::string_view answer);
  // Nothing if the instance is valid, else why not.
  std::optional<std::string> (*validate)(std::string_view instance);
  // Grades `claimed` given the right answer. Compares by value; uses no solver.
  CheckResult (*check)(std::string_view instance, std::string_view claimed, std::string_view right);
  // A random valid instance that brute force solves in about a millisecond; `size` 0..100 scales
  // it, 100 being the largest that is still quick.
  std::string (*generate)(Rng& rng, int size);
  // Adds the fields of the instance: equal ones in the same way, others in another. Throws
  // InvalidWire.
  void (*add_to_key)(std::string_view instance, KeyHash& key);
};

}  // namespace puzzled
