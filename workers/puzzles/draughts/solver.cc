// The `rays` solver: depth-first search over captures, where the nearest two pieces in a direction
// are two bit scans in the occupancy of a diagonal. README.md says why it is right.
#include <bit>
#include <cstddef>

#include "workers/puzzles/draughts/draughts.h"

namespace puzzled::draughts {
namespace {

// Squares within a border one square wide, so that a step off the board needs no test.
constexpr int kStride = kSide + 2;
constexpr int kPadded = kStride * kStride;

constexpr int padded(int row, int column) { return (row + 1) * kStride + column + 1; }

struct Tables {
  std::array<std::uint8_t, kSquares> padded_of{};
  // By padded square: its row, and the two diagonals it is on.
  std::array<std::uint8_t, kPadded> row{};
  std::array<std::uint8_t, kPadded> falling{};  // down to the right
  std::array<std::uint8_t, kPadded> rising{};   // down to the left
};
constexpr Tables make_tables() {
  Tables tables;
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      const int square = padded(row, column);
      tables.padded_of[row * kSide + column] = static_cast<std::uint8_t>(square);
      tables.row[square] = static_cast<std::uint8_t>(row);
      tables.falling[square] = static_cast<std::uint8_t>(kSide - 1 + column - row);
      tables.rising[square] = static_cast<std::uint8_t>(row + column);
    }
  }
  return tables;
}
constexpr Tables kTables = make_tables();

// A diagonal's occupancy has the square in row r at bit kMargin + r; all other bits are set, so
// that scans end at the edge of the board.
constexpr int kMargin = 10;

using Diagonals = std::array<std::uint32_t, 2 * kSide - 1>;

constexpr void flip(Diagonals& falling, Diagonals& rising, int square) {
  const std::uint32_t bit = 1U << (kMargin + kTables.row[square]);
  falling[kTables.falling[square]] ^= bit;
  rising[kTables.rising[square]] ^= bit;
}

struct EmptyBoard {
  Diagonals falling{};
  Diagonals rising{};
};
constexpr EmptyBoard make_empty_board() {
  EmptyBoard board;
  for (std::uint32_t& line : board.falling) line = ~0U;
  for (std::uint32_t& line : board.rising) line = ~0U;
  for (const int square : kTables.padded_of) flip(board.falling, board.rising, square);
  return board;
}
constexpr EmptyBoard kEmptyBoard = make_empty_board();

constexpr int kDownRight = kStride + 1;
constexpr int kDownLeft = kStride - 1;

class Search {
 public:
  explicit Search(const Instance& instance, Answer& answer)
      : falling_(kEmptyBoard.falling), rising_(kEmptyBoard.rising), answer_(answer) {
    answer.origins.clear();
    for (int square = 0; square < kSquares; ++square) {
      const Piece piece = instance.squares[square];
      if (piece == Piece::kEmpty) continue;
      const int at = kTables.padded_of[square];
      flip(falling_, rising_, at);
      if (is_enemy(piece)) {
        victims_[at] = 1;
      } else {
        own_[own_count_++] = static_cast<std::uint8_t>(square);
      }
    }
  }

  void list_operations(const Instance& instance) {
    for (int i = 0; i < own_count_; ++i) {
      const int square = own_[i];
      const int at = kTables.padded_of[square];
      count_ = 0;
      flip(falling_, rising_, at);  // the origin is vacated for the whole chain.
      if (instance.squares[square] == Piece::kMan) {
        capture_man(at, 0);
      } else {
        capture_king(at, 0);
      }
      flip(falling_, rising_, at);
      answer_.origins.insert(answer_.origins.end(), count_, static_cast<std::uint8_t>(square));
    }
    if (most_ > 0) return;
    for (int i = 0; i < own_count_; ++i) {
      const int square = own_[i];
      const bool is_king = instance.squares[square] == Piece::kKing;
      answer_.origins.insert(answer_.origins.end(), count_quiet(kTables.padded_of[square], is_king),
                             static_cast<std::uint8_t>(square));
    }
  }

 private:
  // The pieces downwards (bit 0 is adjacent) and upwards (bit 31 is adjacent) on a diagonal.
  static std::uint32_t down(std::uint32_t line, int row) { return line >> (kMargin + 1 + row); }
  static std::uint32_t up(std::uint32_t line, int row) { return line << (32 - kMargin - row); }

  // Counts an operation of `captures` captures, of which there may be more to come.
  void count_chain(int captures) {
    if (captures < most_) return;
    if (captures > most_) {
      most_ = captures;
      count_ = 0;
      answer_.origins.clear();
    }
    ++count_;
  }

  void capture_man(int at, int captures) {
    const int row = kTables.row[at];
    const std::uint32_t falling = falling_[kTables.falling[at]];
    const std::uint32_t rising = rising_[kTables.rising[at]];
    if ((down(falling, row) & 3U) == 1) jump(at, kDownRight, captures);
    if ((down(rising, row) & 3U) == 1) jump(at, kDownLeft, captures);
    if (up(falling, row) >> 30U == 2) jump(at, -kDownRight, captures);
    if (up(rising, row) >> 30U == 2) jump(at, -kDownLeft, captures);
  }
  void jump(int at, int step, int captures) {
    const int victim = at + step;
    if (victims_[victim] == 0) return;
    victims_[victim] = 0;
    count_chain(captures + 1);
    capture_man(victim + step, captures + 1);
    victims_[victim] = 1;
  }

  void capture_king(int at, int captures) {
    const int row = kTables.row[at];
    const std::uint32_t falling = falling_[kTables.falling[at]];
    const std::uint32_t rising = rising_[kTables.rising[at]];
    fly_down(at, down(falling, row), kDownRight, captures);
    fly_down(at, down(rising, row), kDownLeft, captures);
    fly_up(at, up(falling, row), -kDownRight, captures);
    fly_up(at, up(rising, row), -kDownLeft, captures);
  }
  void fly_down(int at, std::uint32_t pieces, int step, int captures) {
    const int nearest = std::countr_zero(pieces);
    fly(at, nearest, std::countr_zero(pieces & (pieces - 1)), step, captures);
  }
  void fly_up(int at, std::uint32_t pieces, int step, int captures) {
    const int nearest = std::countl_zero(pieces);
    fly(at, nearest, std::countl_zero(pieces & (0x7fffffffU >> nearest)), step, captures);
  }
  // `nearest` and `second`: free squares before the nearest two pieces ahead.
  void fly(int at, int nearest, int second, int step, int captures) {
    const int victim = at + step * (nearest + 1);
    if (second == nearest + 1 || victims_[victim] == 0) return;
    victims_[victim] = 0;
    int landing = victim;
    for (int free = second - nearest - 1; free > 0; --free) {
      landing += step;
      count_chain(captures + 1);
      capture_king(landing, captures + 1);
    }
    victims_[victim] = 1;
  }

  std::size_t count_quiet(int at, bool is_king) const {
    const int row = kTables.row[at];
    const std::uint32_t falling = falling_[kTables.falling[at]];
    const std::uint32_t rising = rising_[kTables.rising[at]];
    const int up_left = std::countl_zero(up(falling, row));
    const int up_right = std::countl_zero(up(rising, row));
    if (!is_king) return static_cast<std::size_t>((up_left > 0) + (up_right > 0));
    return static_cast<std::size_t>(up_left + up_right + std::countr_zero(down(falling, row)) +
                                    std::countr_zero(down(rising, row)));
  }

  Diagonals falling_;
  Diagonals rising_;
  std::array<std::uint8_t, kPadded> victims_{};  // 1: an enemy that is not captured
  std::array<std::uint8_t, kSquares> own_;
  int own_count_ = 0;
  int most_ = 0;           // captures of the operations counted so far
  std::size_t count_ = 0;  // those of the piece being moved
  Answer& answer_;
};

}  // namespace

void solve_rays(const Instance& instance, Answer& answer) {
  Search(instance, answer).list_operations(instance);
}

}  // namespace puzzled::draughts
