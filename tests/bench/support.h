// What the benches share: their options, clocks, and the rows they report.
//
// Machines that run benches are noisy, so figures are ratios of things measured beside each other
// in one run, or medians. Whoever prints one says against what it was taken.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace puzzled::bench {

struct Options {
  bool quick = false;               // a tenth of the work: shows that all runs, figures are rough
  std::filesystem::path figures;    // empty: nowhere; lines "name value" are appended
  std::filesystem::path published;  // folder with the outside programs as libraries, see README.md
  [[nodiscard]] std::uint64_t scaled(std::uint64_t full) const { return quick ? full / 10 : full; }
};
// Ends the program if it is misused.
Options parse_options(int argc, char** argv, const char* purpose);

// Seconds, from an arbitrary start.
double wall_s();
double thread_cpu_s();
// CPU time of the children that this process has waited for.
double waited_children_cpu_s();
// CPU time of these processes, which must be alive, and all they have started.
double tree_cpu_s(pid_t root);

// REQUIRES: not empty.
double median(std::vector<double> values);
double quantile(std::vector<double> values, double q);  // nearest rank
double geometric_mean(const std::vector<double>& values);

// Collects the rows of one bench and prints them as a Markdown table.
class Report {
 public:
  Report(const Options& options, std::string title);
  ~Report();  // prints
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  enum class Better { kHigher, kLower };
  struct Target {
    Better better;
    double value;
  };
  // `figure`: the name under which run.sh writes it to the JSON file; empty: only in the table.
  void add(const std::string& figure, const std::string& what, std::optional<double> value,
           const std::string& unit, std::optional<Target> target = {},
           const std::string& note = "");

 private:
  Options options_;
  std::string title_;
  std::vector<std::string> lines_;
};

// Ends the program with a message: a bench that cannot measure must not look as if it had.
[[noreturn]] void give_up(const std::string& text);

}  // namespace puzzled::bench
