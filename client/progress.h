// How fast something advances and how long the rest will take.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace puzzled::client {

// The rate over the last seconds, so that it follows what happens without jumping.
class RateMeter {
 public:
  // `done` never falls; times are milliseconds of a steady clock.
  void add(std::int64_t now_ms, std::uint64_t done);
  // Per second; 0 while unknown.
  [[nodiscard]] double per_second() const;

 private:
  static constexpr std::int64_t kWindowMs = 10'000;
  struct Sample {
    std::int64_t at_ms;
    std::uint64_t done;
  };
  std::deque<Sample> samples_;
};

// "WHAT [====>   ]  42.0%  420/1000 cases  1.2k/s  9s left". The rate and what follows from it only
// if it is known. The bar takes what is left of `columns`, within reason.
std::string progress_text(const std::string& what, std::uint64_t done, std::uint64_t total,
                          double per_second, int columns);
// "0.3", "12", "4.5k", "1.2M".
std::string short_number(double value);

}  // namespace puzzled::client
