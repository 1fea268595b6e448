#include "tests/bench/support.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/process.h"

namespace puzzled::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string digits(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  return fmt::format("{:.3g}", value);
}

}  // namespace

Options parse_options(int argc, char** argv, const char* purpose) {
  Options options;
  CLI::App app(purpose);
  app.add_flag("--quick", options.quick, "A tenth of the work");
  app.add_option("--figures", options.figures, "Append the figures to this file");
  app.add_option("--published", options.published, "Folder with the outside programs, built");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

double wall_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double waited_children_cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double tree_cpu_s(pid_t root) {  // NOLINT(misc-no-recursion)
  std::ifstream file(fmt::format("/proc/{}/stat", root));
  std::string stat;
  std::getline(file, stat);
  const std::size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos) give_up(fmt::format("process {} is gone", root));
  std::istringstream fields(stat.substr(after_name + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // up to the fields utime and stime
  double ticks = 0;
  for (int i = 0; i < 4; ++i) {  // utime, stime, and those of children that have ended
    double field = 0;
    fields >> field;
    ticks += field;
  }
  double sum = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  for (const pid_t child : testing::children_of(root)) sum += tree_cpu_s(child);
  return sum;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Report::Report(const Options& options, std::string title)
    : options_(options), title_(std::move(title)) {}

Report::~Report() {
  fmt::print("\n### {}\n\n| what | measured | target | |\n|---|---|---|---|\n", title_);
  for (const std::string& line : lines_) fmt::print("{}\n", line);
  std::fflush(stdout);
}

void Report::add(const std::string& figure, const std::string& what, std::optional<double> value,
                 const std::string& unit, std::optional<Target> target, const std::string& note) {
  std::string wanted;
  std::string met;
  if (target) {
    const bool higher = target->better == Better::kHigher;
    wanted = fmt::format("{} {} {}", higher ? "≥" : "≤", digits(target->value), unit);
    if (value) met = (higher ? *value >= target->value : *value <= target->value) ? "" : "missed";
  }
  const std::string measured =
      value ? fmt::format("{} {}", digits(*value), unit) : std::string("not measured");
  const std::string name = figure.empty() ? "" : fmt::format(" (`{}`)", figure);
  const std::string remark = met.empty() || note.empty() ? met + note : met + "; " + note;
  lines_.push_back(fmt::format("| {}{} | {} | {} | {} |", what, name, measured, wanted, remark));
  std::fprintf(stderr, "%s\n", lines_.back().c_str());
  if (figure.empty() || !value || options_.figures.empty()) return;
  std::ofstream(options_.figures, std::ios::app) << fmt::format("{} {}\n", figure, *value);
}

void give_up(const std::string& text) {
  std::fprintf(stderr, "bench: %s\n", text.c_str());
  std::exit(1);
}

}  // namespace puzzled::bench
