#include "workers/host/solver_child.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <unordered_map>

#include "proto/base/units.h"
#include "proto/case_view.h"
#include "proto/worker.pb.h"
#include "workers/host/budget.h"
#include "workers/host/clocks.h"
#include "workers/host/shared_area.h"
#include "workers/puzzles/key.h"
#include "workers/puzzles/registry.h"
#include "workers/puzzles/text.h"

namespace puzzled::host {
namespace {

constexpr std::size_t kMessageBytesMax = 1000;  // proto/worker.proto
// A CPU clock reading costs a system call, so cases that end within this time of the last one are
// measured by the monotonic clock. They can only be measured too long, and by less than this.
constexpr std::int64_t kCpuReadingAge = 1'000'000;
// An answer's buffer is kept for the next case unless it is larger.
constexpr std::size_t kAnswerBytesKept = 1U << 20U;
// Answers of a dispatch that are remembered for equal instances in it.
constexpr std::size_t kSolvedBytesMax = 4U << 20U;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitAddressSpace = false;  // the sanitizer reserves terabytes of it
#else
constexpr bool kLimitAddressSpace = true;
#endif

// What the process needs beside the solver's memory: its code, the shared area, the allocator's
// waste. Generous, since the allocation counter is what decides.
std::uint64_t address_space_now() {
  std::uint64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    unsigned long value = 0;
    if (std::fscanf(file, "%lu", &value) == 1) pages = value;
    std::fclose(file);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class SolverChild {
 public:
  SolverChild(SharedHeader* header, char* output, const char* input)
      : header_(header), output_(output), input_(input), address_space_(address_space_now()) {}

  // Until the host is gone.
  void serve() {
    budget::install(header_);
    while (wait_for(kRun)) {
      run();
      if (!tell(kFinished)) return;
    }
  }

 private:
  // False if something else comes, or the end of the host.
  static bool wait_for(char expected) {
    char byte = 0;
    ssize_t got = 0;
    do {
      got = ::recv(kChildSocketFd, &byte, 1, 0);
    } while (got < 0 && errno == EINTR);
    return got == 1 && byte == expected;
  }
  static bool tell(char byte) { return ::send(kChildSocketFd, &byte, 1, MSG_NOSIGNAL) == 1; }

  void open_dispatch() {
    dispatch_no_ = header_->dispatch_no;
    walker_ = wire::CaseWalker({input_, header_->cases_bytes});
    const Puzzle* puzzle = find_puzzle(header_->puzzle);
    puzzle_ = puzzle;
    solver_ = puzzle == nullptr ? nullptr : find_solver(*puzzle, header_->solver);
    solved_.clear();
    solved_bytes_ = 0;
    result_.mutable_key()->reserve(kAnswerKeyBytes);  // none of a case's memory
    if (kLimitAddressSpace) {
      const std::uint64_t limit = std::min<std::uint64_t>(header_->memory_limit_bytes, 1ULL << 45U);
      rlimit space{};
      ::getrlimit(RLIMIT_AS, &space);
      space.rlim_cur = std::min<rlim_t>(space.rlim_max, address_space_ + 2 * limit + (256U << 20U));
      ::setrlimit(RLIMIT_AS, &space);
    }
  }

  bool claim(std::uint32_t& position) {
    std::uint64_t cursor = header_->cursor.load(std::memory_order_acquire);
    do {
      position = low_of(cursor);
      if (position >= high_of(cursor)) return false;
    } while (!header_->cursor.compare_exchange_weak(cursor, cursor + 1, std::memory_order_acq_rel,
                                                    std::memory_order_acquire));
    return true;
  }

  void run() {
    if (dispatch_no_ != header_->dispatch_no) open_dispatch();
    read_clocks();
    header_->run_mono_ns.store(mono_ns_, std::memory_order_release);
    for (std::uint32_t position = 0; claim(position);) {
      const std::int64_t start_mono = mono_ns_;
      const std::int64_t start_cpu = cpu_ns_ + (mono_ns_ - reading_ns_);
      header_->start_mono_ns.store(start_mono, std::memory_order_release);
      header_->start_cpu_ns.store(start_cpu, std::memory_order_release);
      header_->start_position.store(position, std::memory_order_release);

      result_.set_position(position);
      budget::begin_case(header_->memory_limit_bytes);
      try {
        grade(walker_.at(position));
      } catch (const std::bad_alloc&) {
        budget::exceed();
      }
      result_.set_memory_bytes(budget::end_case());
      measure(start_mono, start_cpu);
      if (header_->keys_wanted != 0) merge();
      write_result();
      header_->finish_mono_ns.store(mono_ns_, std::memory_order_release);
    }
  }

  void read_clocks() {
    mono_ns_ = reading_ns_ = monotonic_ns();
    cpu_ns_ = process_cpu_ns();
  }

  void measure(std::int64_t start_mono, std::int64_t start_cpu) {
    mono_ns_ = monotonic_ns();
    std::int64_t used = mono_ns_ - start_mono;
    if (mono_ns_ - reading_ns_ >= kCpuReadingAge) {
      cpu_ns_ = process_cpu_ns();
      reading_ns_ = mono_ns_;
      used = std::max<std::int64_t>(0, cpu_ns_ - start_cpu);
    }
    result_.set_time_us(static_cast<std::uint64_t>(used) / 1000);
    if (static_cast<std::uint64_t>(used) > header_->time_limit_us * 1000) {
      finish(proto::TIME_LIMIT, fmt::format("used more than {} of CPU time",
                                            format_duration_us(header_->time_limit_us)));
    }
  }

  // A verdict without an answer.
  void finish(proto::Verdict verdict, std::string_view message) {
    result_.set_verdict(verdict);
    result_.set_has_answer(false);
    result_.mutable_answer()->clear();
    result_.set_message(printable(message, kMessageBytesMax - 3));
  }

  // Solves and checks one case into result_. Exceptions other than those handled here are the
  // solver's death.
  void grade(std::string_view serialised) {
    result_.mutable_message()->clear();
    result_.clear_key();
    result_.clear_cached();
    same_ = nullptr;
    const auto view = wire::parse_case(serialised);
    if (!view) return finish(proto::INVALID_INSTANCE, "the case cannot be decoded");
    if (!view->invalid.empty()) return finish(proto::INVALID_INSTANCE, view->invalid);
    if (solver_ == nullptr) {
      return finish(proto::INTERNAL_ERROR, fmt::format("this worker has no solver {}/{}",
                                                       header_->puzzle, header_->solver));
    }
    std::string& answer = *result_.mutable_answer();
    if (answer.capacity() > kAnswerBytesKept) std::string().swap(answer);
    try {
      if (header_->keys_wanted != 0) find_same(view->instance);
      if (same_ == nullptr) {
        solver_->solve(view->instance, answer);
      } else {
        answer = same_->answer;
      }
    } catch (const InvalidWire& e) {
      return finish(proto::INVALID_INSTANCE, e.what());
    }
    if (answer.size() > header_->answer_bytes_max) {
      return finish(proto::OUTPUT_LIMIT, fmt::format("the answer has {} bytes, at most {} may be",
                                                     answer.size(), header_->answer_bytes_max));
    }
    result_.set_has_answer(true);
    compare(*view, answer);
  }

  // Sets the result's key, and same_ if an equal instance of the dispatch was solved.
  void find_same(std::string_view instance) {
    const AnswerKey key = answer_key(*puzzle_, solver_->name, instance);
    result_.set_key(key.data(), key.size());
    const auto it = solved_.find(result_.key());
    if (it != solved_.end()) same_ = &it->second;
  }

  // After the case was measured: what it costs is what its equal did. What is remembered for those
  // that come counts for no case.
  void merge() {
    if (same_ != nullptr) {
      if (!result_.has_answer()) return;
      result_.set_cached(true);
      result_.set_time_us(same_->time_us);
      result_.set_memory_bytes(same_->memory_bytes);
      return;
    }
    if (result_.key().empty() || !result_.has_answer() ||
        result_.answer().size() > kSolvedBytesMax - solved_bytes_) {
      return;
    }
    try {
      solved_.try_emplace(result_.key(), Solved{.answer = result_.answer(),
                                                .time_us = result_.time_us(),
                                                .memory_bytes = result_.memory_bytes()});
      solved_bytes_ += result_.answer().size();
    } catch (const std::bad_alloc&) {  // then its equals are solved again
    }
  }

  void compare(const wire::CaseView& view, const std::string& answer) {
    if (view.expected_error) {
      result_.set_verdict(proto::INVALID_ANSWER);
      result_.set_message(printable(*view.expected_error, kMessageBytesMax - 3));
    } else if (view.expected) {
      try {
        const CheckResult check = puzzle_->check(view.instance, *view.expected, answer);
        result_.set_verdict(check.accepted ? proto::ACCEPTED : proto::WRONG_ANSWER);
        if (!check.accepted) result_.set_message(printable(check.message, kMessageBytesMax - 3));
      } catch (const InvalidWire& e) {
        result_.set_verdict(proto::INVALID_ANSWER);
        result_.set_message(printable(e.what(), kMessageBytesMax - 3));
      }
    } else {
      result_.set_verdict(proto::SOLVED);
    }
  }

  // Appends result_ to the output area as an entry of a CaseResultList.
  void write_result() {
    using google::protobuf::io::CodedOutputStream;
    const std::size_t length = result_.ByteSizeLong();
    const std::size_t entry = 1 + CodedOutputStream::VarintSize64(length) + length;
    std::uint64_t output = header_->output.load(std::memory_order_relaxed);
    const std::size_t used = low_of(output);
    if (used > 0 && used + entry > kOutputSoft) {
      if (!tell(kFull) || !wait_for(kGoOn)) ::_exit(0);
      output = header_->output.load(std::memory_order_acquire);
      read_clocks();
    }
    auto* at = reinterpret_cast<std::uint8_t*>(output_) + low_of(output);
    *at++ = 0x0a;  // field 1, length-delimited
    at = CodedOutputStream::WriteVarint64ToArray(length, at);
    result_.SerializeWithCachedSizesToArray(at);
    header_->output.store(
        pack(high_of(output) + 1, low_of(output) + static_cast<std::uint32_t>(entry)),
        std::memory_order_release);
  }

  struct Solved {
    std::string answer;
    std::uint64_t time_us = 0;
    std::uint64_t memory_bytes = 0;
  };

  SharedHeader* header_;
  char* output_;
  const char* input_;
  std::uint64_t address_space_;

  std::uint64_t dispatch_no_ = 0;
  wire::CaseWalker walker_;
  const Puzzle* puzzle_ = nullptr;
  const Solver* solver_ = nullptr;
  proto::CaseResult result_;
  std::unordered_map<std::string, Solved> solved_;  // of the dispatch, by key
  std::size_t solved_bytes_ = 0;                    // of their answers
  const Solved* same_ = nullptr;                    // as the case being solved; nullptr: none

  std::int64_t mono_ns_ = 0;     // end of the last case
  std::int64_t reading_ns_ = 0;  // when cpu_ns_ was read
  std::int64_t cpu_ns_ = 0;
};

void* map_shared(int protection, std::size_t bytes, std::size_t at) {
  void* memory =
      ::mmap(nullptr, bytes, protection, MAP_SHARED, kChildMemoryFd, static_cast<off_t>(at));
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

std::optional<int> run_as_solver_child(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], kChildArgument) != 0) return std::nullopt;
  // Die with the host, even if it is gone already.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != std::atoi(argv[2])) return 0;
  ::syscall(SYS_close_range, kChildSocketFd + 1, ~0U, 0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  auto* writable = static_cast<char*>(map_shared(PROT_READ | PROT_WRITE, kInputAt, 0));
  const auto* input = static_cast<const char*>(map_shared(PROT_READ, kInputArea, kInputAt));
  if (writable == nullptr || input == nullptr) return 1;
  SolverChild child(reinterpret_cast<SharedHeader*>(writable), writable + kOutputAt, input);
  child.serve();
  return 0;
}

}  // namespace puzzled::host
