#include <fmt/format.h>

#include <charconv>

#include "workers/puzzles/instance_reader.h"
#include "workers/puzzles/shuttle/shuttle.h"

namespace puzzled::shuttle {
namespace {

constexpr std::size_t kMovesPerLine = 20;

class Reader : public InstanceReaderBase {
 public:
  using InstanceReaderBase::InstanceReaderBase;

 private:
  bool read_one(std::string& instance) override {
    if (read_) return false;
    const auto n = in().read_int(1, kMarblesMax, "N");
    in().expect_end("the end of the file after N");
    read_ = true;
    if (n) encode_instance({static_cast<std::uint32_t>(*n)}, instance);
    return true;
  }

  bool read_ = false;
};

// The whole file is the one case's claim, whatever its line breaks.
class Claims : public ClaimReader {
 public:
  explicit Claims(std::string_view text) : in_(text) {}

  void next(ParsedClaim& out) override {
    out.answer.clear();
    out.unreadable.clear();
    try {
      Moves moves;
      do {
        moves.push_back(static_cast<std::uint16_t>(in_.require_int(1, kPositionMax, "a position")));
      } while (!in_.at_end());
      encode_answer(moves, out.answer);
    } catch (const ParseError& error) {
      out.unreadable = describe(error.defect());
    }
    read_ = true;
  }

  std::optional<Defect> finish() override {
    if (read_ || in_.at_end()) return std::nullopt;
    return Defect{in_.position(), "found moves, expected the end of the file: there is no case"};
  }

 private:
  TextReader in_;
  bool read_ = false;
};

}  // namespace

std::unique_ptr<InstanceReader> read_instances(std::string_view text) {
  return std::make_unique<Reader>(text);
}

std::unique_ptr<ClaimReader> read_claims(std::string_view text) {
  return std::make_unique<Claims>(text);
}

void format_answer(std::string_view answer, std::string& out) {
  const Moves moves = decode_answer(answer);
  constexpr std::size_t kBytesPerMove = 5;  // "2001" and what separates it.
  const std::size_t start = out.size();
  out.resize(start + moves.size() * kBytesPerMove);
  char* const end_max = out.data() + out.size();
  char* end = out.data() + start;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    end = std::to_chars(end, end_max, moves[i]).ptr;
    *end++ = (i + 1) % kMovesPerLine == 0 || i + 1 == moves.size() ? '\n' : ' ';
  }
  out.resize(static_cast<std::size_t>(end - out.data()));
}

std::string format_instances(const std::vector<std::string>& instances) {
  if (instances.size() != 1) {
    throw InvalidWire(
        fmt::format("found {} instances, expected 1: the format of shuttle holds one "
                    "case a file",
                    instances.size()));
  }
  return fmt::format("{}\n", decode_instance(instances.front()).n);
}

std::string draw(std::string_view instance) {
  constexpr std::uint32_t kDrawnMax = 30;
  const std::uint32_t n = decode_instance(instance).n;
  std::string out = fmt::format("{} white (W) and {} black (B) marbles\n", n, n);
  if (n > kDrawnMax) return out + "WW...WW . BB...BB\n";
  return out + std::string(n, 'W') + "." + std::string(n, 'B') + "\n";
}

std::string summarize(std::string_view answer) {
  constexpr std::size_t kShownMax = 6;
  const Moves moves = decode_answer(answer);
  std::string out = fmt::format("{} moves:", moves.size());
  for (std::size_t i = 0; i < std::min(moves.size(), kShownMax); ++i) {
    fmt::format_to(std::back_inserter(out), " {}", moves[i]);
  }
  return moves.size() > kShownMax ? out + " ..." : out;
}

}  // namespace puzzled::shuttle
