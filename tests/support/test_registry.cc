// Another definition of the registry's list, linked instead of workers/puzzles/registry.cc.
#include "tests/support/test_registry.h"

#include <fcntl.h>
#include <gmpxx.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "workers/puzzles/bishops/bishops.h"
#if __has_include("workers/puzzles/chinese_checkers/chinese_checkers.h")
#include "workers/puzzles/chinese_checkers/chinese_checkers.h"
#endif
#include "workers/puzzles/registry.h"
#if __has_include("workers/puzzles/draughts/draughts.h")
#include "workers/puzzles/draughts/draughts.h"
#endif
#if __has_include("workers/puzzles/duel/duel.h")
#include "workers/puzzles/duel/duel.h"
#endif
#if __has_include("workers/puzzles/shuttle/shuttle.h")
#include "workers/puzzles/shuttle/shuttle.h"
#endif

namespace puzzled {
namespace {

constexpr std::size_t kBigAnswerBytes = 17U << 20U;  // over the default answer_bytes_max
volatile int sink = 0;                               // what the optimiser must not see through

bool is_trouble(std::string_view instance) {
  return bishops::decode_instance(instance).k == kTroubleBishops;
}

// A solver that is right unless the instance is trouble.
template <void (*kTrouble)(std::string& answer)>
void solve(std::string_view instance, std::string& answer) {
  bishops::solve_staircase(instance, answer);
  if (is_trouble(instance)) kTrouble(answer);
}

void nap(std::int64_t ns) {
  const timespec pause{ns / 1'000'000'000, ns % 1'000'000'000};
  ::nanosleep(&pause, nullptr);
}

void crash(std::string&) {
  std::signal(SIGSEGV, SIG_DFL);  // not a sanitizer's report
  std::raise(SIGSEGV);
}
void crash_abort(std::string&) { std::abort(); }
void crash_exit(std::string&) { std::exit(0); }
void crash_throw(std::string&) { throw std::logic_error("a solver's bug"); }

// Recursion that cannot be turned into a loop.
int dig(int depth) {  // NOLINT(misc-no-recursion)
  volatile char room[4096] = {};
  room[depth % 4096] = 1;
  return sink == 0 ? dig(depth + 1) + room[0] : depth;
}
void crash_stack(std::string&) {
  std::signal(SIGSEGV, SIG_DFL);
  sink = dig(sink);
}

// Only if the marker file does not exist yet, which it makes.
void crash_once(std::string&) {
  const char* path = std::getenv(kMarkerVariable);
  if (path == nullptr) return;
  const int fd = ::open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return;
  ::close(fd);
  std::abort();
}

void spin(std::string&) {
  while (sink == 0) {
  }
}

void sleep_forever(std::string&) {
  while (sink == 0) nap(1'000'000'000);
}

void eat_memory(std::string&) {
  std::vector<std::unique_ptr<std::string>> blocks;
  while (sink == 0) blocks.push_back(std::make_unique<std::string>(1U << 20U, 'x'));
}

void eat_memory_gmp(std::string&) {
  mpz_class number = 3;
  while (sink == 0) number *= number;
}

void eat_memory_at_once(std::string&) {
  const std::string block(1ULL << 40U, 'x');
  sink = block.back();
}

void answer_big(std::string& answer) { answer.assign(kBigAnswerBytes, 'x'); }

void answer_wrong(std::string& answer) { bishops::encode_answer("\x01\x02\x03", answer); }

void kill_host(std::string&) {
  ::kill(::getppid(), SIGKILL);
  spin(*std::make_unique<std::string>());
}

// Once the marker file exists: a machine that has begun to calculate wrong.
void solve_or_lie(std::string_view instance, std::string& answer) {
  bishops::solve_staircase(instance, answer);
  const char* path = std::getenv(kMarkerVariable);
  if (path != nullptr && ::access(path, F_OK) == 0) answer_wrong(answer);
}

void solve_slowly(std::string_view instance, std::string& answer) {
  bishops::solve_staircase(instance, answer);
  nap(5'000'000);
}

void solve_busily(std::string_view instance, std::string& answer) {
  bishops::solve_staircase(instance, answer);
  const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 500;
  while (std::clock() < end) {
  }
}

Puzzle make_test_bishops() {
  Puzzle puzzle = bishops::puzzle();
  const char* given = std::getenv(kVersionVariable);
  const std::string_view version = given != nullptr ? given : "test";
  const auto add = [&](std::string_view name, std::string_view summary, auto* function) {
    puzzle.solvers.push_back({name, version, summary, function});
  };
  add("crash", "raises SIGSEGV", solve<crash>);
  add("crash-abort", "calls abort()", solve<crash_abort>);
  add("crash-exit", "calls exit(0)", solve<crash_exit>);
  add("crash-throw", "throws std::logic_error", solve<crash_throw>);
  add("crash-stack", "overflows the stack", solve<crash_stack>);
  add("crash-once", "aborts unless the marker file exists, and makes it", solve<crash_once>);
  add("spin", "never ends, on the CPU", solve<spin>);
  add("sleep", "never ends, off the CPU", solve<sleep_forever>);
  add("eat-memory", "allocates with operator new until it dies", solve<eat_memory>);
  add("eat-memory-gmp", "allocates with GMP until it dies", solve<eat_memory_gmp>);
  add("eat-memory-at-once", "asks for a terabyte", solve<eat_memory_at_once>);
  add("big-answer", "gives an answer of 17 MiB", solve<answer_big>);
  add("wrong", "gives a wrong answer", solve<answer_wrong>);
  add("kill-host", "kills the worker with SIGKILL", solve<kill_host>);
  add("liar", "right, until the marker file exists: then always wrong", solve_or_lie);
  add("slow", "right, but every case takes 5 ms off the CPU", solve_slowly);
  add("busy", "right, but every case takes 2 ms of CPU time", solve_busily);
  return puzzle;
}

}  // namespace

const std::vector<const Puzzle*>& all_puzzles() {
  static const Puzzle test_bishops = make_test_bishops();
  static const std::vector<const Puzzle*> puzzles = {
#if __has_include("workers/puzzles/chinese_checkers/chinese_checkers.h")
    &chinese_checkers::puzzle(),
#endif
#if __has_include("workers/puzzles/shuttle/shuttle.h")
    &shuttle::puzzle(),
#endif
#if __has_include("workers/puzzles/duel/duel.h")
    &duel::puzzle(),
#endif
#if __has_include("workers/puzzles/draughts/draughts.h")
    &draughts::puzzle(),
#endif
    &test_bishops,
  };
  return puzzles;
}

}  // namespace puzzled
