#include "daemon/broker/cost.h"

namespace puzzled::broker {
namespace {

// A report of this many cases or more moves the mean by the largest weight, smaller ones by less:
// one slow case must not make all later dispatches tiny.
constexpr double kFullWeightCases = 64;
constexpr double kWeightMin = 1.0 / 16;
constexpr double kWeightMax = 1.0 / 4;
// A peer's clock may be wrong; nothing a case can legally take comes near this.
constexpr std::uint64_t kBusyMaxUs = 24ULL * 3600 * 1'000'000;
// No case is free: a mean of zero would make dispatches of unlimited size.
constexpr double kCaseMinUs = 0.01;
// Below this part of a full dispatch, a share costs more in messages than it wins in balance.
constexpr double kShareMin = 1.0 / 16;

}  // namespace

void Cost::learn(std::uint64_t cases, std::uint64_t busy_us) {
  if (cases == 0) return;
  const double seen = std::max(
      kCaseMinUs, static_cast<double>(std::min(busy_us, kBusyMaxUs)) / static_cast<double>(cases));
  if (!known_) {
    known_ = true;
    case_us_ = seen;
    return;
  }
  const double weight =
      std::clamp(static_cast<double>(cases) / kFullWeightCases, kWeightMin, kWeightMax);
  case_us_ += weight * (seen - case_us_);
}

std::uint32_t DispatchSize::cases(const Cost& cost, std::uint64_t remaining,
                                  std::uint64_t free_leases) const {
  free_leases = std::max<std::uint64_t>(1, free_leases);
  const std::uint64_t share = (remaining + free_leases - 1) / free_leases;
  double full = cases_first;
  double smallest = 1;
  if (cost.known()) {
    full = target_us / cost.case_us();
    smallest = full * kShareMin;
  }
  const double wanted = std::min(full, std::max(smallest, static_cast<double>(share)));
  return static_cast<std::uint32_t>(std::clamp(wanted, 1.0, static_cast<double>(cases_max)));
}

}  // namespace puzzled::broker
