// The default solver: counts come from a table that all queries of one n share.
#include <array>
#include <memory>
#include <optional>

#include "workers/puzzles/bishops/bishops.h"
#include "workers/puzzles/bishops/rook_numbers.h"

namespace puzzled::bishops {
namespace {

// Replaces `answer` by the serialised Answer. REQUIRES: count > 0.
void encode_count(const mpz_class& count, std::string& answer) {
  CountBytes bytes((mpz_sizeinbase(count.get_mpz_t(), 2) + 7) / 8, '\0');
  mpz_export(bytes.data(), nullptr, 1, 1, 1, 0, count.get_mpz_t());
  encode_answer(bytes, answer);
}

// Serialised answers for all k of one n, back to back.
class Table {
 public:
  explicit Table(const std::vector<mpz_class>& counts) : begins_{0} {
    std::string answer;
    for (const mpz_class& count : counts) {
      encode_count(count, answer);
      answers_ += answer;
      begins_.push_back(answers_.size());
    }
    answers_.shrink_to_fit();
  }

  [[nodiscard]] std::string_view answer(std::uint32_t k) const {
    return std::string_view(answers_).substr(begins_[k], begins_[k + 1] - begins_[k]);
  }
  [[nodiscard]] std::size_t bytes() const {
    return answers_.capacity() + begins_.capacity() * sizeof(begins_[0]);
  }

 private:
  std::string answers_;
  std::vector<std::size_t> begins_;
};

// What is known about one n. Once the rook numbers are there, the whole table costs about n / 12
// times as much as one count (measured, n = 100..1000): it is made when that many were asked for.
class Side {
 public:
  explicit Side(std::uint32_t n) : n_(n), colours_(rook_numbers(n)) {
    if (n <= kTableAtOnceMax) {
      make_table();
    } else {
      bytes_ = bytes_of(colours_.corner) + bytes_of(colours_.other);
    }
  }

  // REQUIRES: some placement of k bishops exists.
  void solve(std::uint32_t k, std::string& answer) {
    if (!table_ && ++singles_ * kTablePerSingle > n_) make_table();
    if (table_) {
      answer = table_->answer(k);
    } else {
      encode_count(placements(colours_, k), answer);
    }
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  std::uint64_t last_used = 0;

 private:
  static constexpr std::uint32_t kTableAtOnceMax = 32;
  static constexpr std::uint32_t kTablePerSingle = 12;

  void make_table() {
    table_.emplace(all_placements(colours_));
    colours_ = {};
    bytes_ = table_->bytes();
  }
  static std::size_t bytes_of(const RookNumbers& numbers) {
    std::size_t bytes = 0;
    for (const mpz_class& number : numbers) {
      bytes += sizeof number + mpz_size(number.get_mpz_t()) * sizeof(mp_limb_t);
    }
    return bytes;
  }

  std::uint32_t n_;
  Colours colours_;  // until the table is there.
  std::optional<Table> table_;
  std::uint32_t singles_ = 0;
  std::size_t bytes_ = 0;
};

// The sides used last, within a bound in bytes.
class Cache {
 public:
  void solve(std::uint32_t n, std::uint32_t k, std::string& answer) {
    std::unique_ptr<Side>& side = sides_[n];
    if (!side) {
      side = std::make_unique<Side>(n);
      bytes_ += side->bytes();
    }
    side->last_used = ++clock_;
    const std::size_t before = side->bytes();
    side->solve(k, answer);  // may turn the rook numbers into a table.
    bytes_ += side->bytes() - before;
    while (bytes_ > kBytesMax) evict_oldest();
  }

 private:
  // Several tables of the largest boards (4 MB each), and little beside a case's memory limit.
  static constexpr std::size_t kBytesMax = 32U << 20U;

  void evict_oldest() {
    std::unique_ptr<Side>* oldest = nullptr;
    for (std::unique_ptr<Side>& side : sides_) {
      if (side && (!oldest || side->last_used < (*oldest)->last_used)) oldest = &side;
    }
    bytes_ -= (*oldest)->bytes();
    oldest->reset();
  }

  std::array<std::unique_ptr<Side>, kSideMax + 1> sides_;
  std::size_t bytes_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace

void solve_staircase(std::string_view instance, std::string& answer) {
  thread_local Cache cache;
  const auto [n, k] = decode_instance(instance);
  if (n > 1 && k > 2 * n - 2) {
    answer.clear();  // the serialised form of 0.
  } else {
    cache.solve(n, k, answer);
  }
}

}  // namespace puzzled::bishops
