// The cases and results of the model. A result is a function of its case's bytes, so that a result
// that ends up with another case is noticed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/broker/types.h"

namespace puzzled::sim {

enum class Kind : std::uint8_t {
  kNormal,
  kCrash,   // kills its solver process each time: CRASHED
  kPoison,  // kills the worker that solves it: ends in quarantine
};

struct CaseFacts {
  std::uint32_t job_tag = 0;  // of the plan, not the job's id
  std::uint32_t number = 0;   // in its job, from 1
  Kind kind = Kind::kNormal;
  std::uint16_t work_ms = 0;
  std::uint8_t twin = 0;  // cases with the same one have the same instance; 0: unlike any other
};

// A case as it travels; it says how long it is, so a list of cases can be cut.
std::string make_case(const CaseFacts& facts, std::size_t padding);
CaseFacts read_case(std::string_view bytes);
std::vector<std::string_view> split(std::string_view cases);

Verdict right_verdict(std::string_view case_bytes);
// What is to be solved: cases of the same instance have the same answer.
std::string_view instance_of(std::string_view case_bytes);
// By which its answer is found again.
std::string key_of(std::string_view puzzle, std::string_view case_bytes);
// Nobody can tell whether its claimed answer is right but a worker.
bool has_wrong_claim(std::string_view case_bytes);
std::uint64_t right_answer(std::string_view case_bytes);
std::uint64_t lie_about(std::string_view case_bytes);  // what a broken solver answers

[[nodiscard]] bool is_lie(std::string_view answer, std::string_view case_bytes);

// Results as the Session carries them. `key`: empty for none.
void append_result(std::string& body, std::uint32_t position, std::string_view case_bytes,
                   bool lies, const std::string& key);
ResultSet read_results(const std::shared_ptr<const std::string>& body);

}  // namespace puzzled::sim
