#include "tests/sim/cases.h"

#include <cstring>

#include "proto/base/assert.h"

namespace puzzled::sim {
namespace {

constexpr std::size_t kHeadBytes = 1 + 4 + 4 + 1 + 2;
constexpr std::size_t kResultBytes = 4 + 1 + 8;

template <class Number>
void put(std::string& to, Number number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class Number>
Number get(std::string_view from, std::size_t at) {
  ASSERT(at + sizeof(Number) <= from.size());
  Number number{};
  std::memcpy(&number, from.data() + at, sizeof number);
  return number;
}

}  // namespace

std::string make_case(const CaseFacts& facts, std::size_t padding) {
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(kHeadBytes + padding));
  put(bytes, facts.job_tag);
  put(bytes, facts.number);
  put(bytes, static_cast<std::uint8_t>(facts.kind));
  put(bytes, facts.work_ms);
  return bytes.append(padding, '.');
}

CaseFacts read_case(std::string_view bytes) {
  return {.job_tag = get<std::uint32_t>(bytes, 1),
          .number = get<std::uint32_t>(bytes, 5),
          .kind = static_cast<Kind>(get<std::uint8_t>(bytes, 9)),
          .work_ms = get<std::uint16_t>(bytes, 10)};
}

std::vector<std::string_view> split(std::string_view cases) {
  std::vector<std::string_view> all;
  while (!cases.empty()) {
    const std::size_t size = get<std::uint8_t>(cases, 0);
    ASSERT(size >= kHeadBytes && size <= cases.size());
    all.push_back(cases.substr(0, size));
    cases.remove_prefix(size);
  }
  return all;
}

Verdict right_verdict(std::string_view case_bytes) {
  const CaseFacts facts = read_case(case_bytes);
  if (facts.kind == Kind::kCrash) return Verdict::kCrashed;
  return facts.number % 3 == 0 ? Verdict::kWrongAnswer : Verdict::kSolved;
}

std::uint64_t right_answer(std::string_view case_bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : case_bytes) {
    hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

std::uint64_t lie_about(std::string_view case_bytes) { return ~right_answer(case_bytes); }

bool is_lie(std::string_view answer, std::string_view case_bytes) {
  std::uint64_t number = 0;
  if (answer.size() != sizeof number) return false;
  std::memcpy(&number, answer.data(), sizeof number);
  return number == lie_about(case_bytes);
}

void append_result(std::string& body, std::uint32_t position, std::string_view case_bytes,
                   bool lies) {
  put(body, position);
  put(body, static_cast<std::uint8_t>(right_verdict(case_bytes)));
  put(body, lies ? lie_about(case_bytes) : right_answer(case_bytes));
}

ResultSet read_results(const std::shared_ptr<const std::string>& body) {
  ResultSet set{.body = body, .results = {}};
  ASSERT(body->size() % kResultBytes == 0);
  for (std::size_t at = 0; at < body->size(); at += kResultBytes) {
    CaseResult result;
    result.position = get<std::uint32_t>(*body, at);
    result.verdict = static_cast<Verdict>(get<std::uint8_t>(*body, at + 4));
    result.has_answer = true;
    result.answer = std::string_view(*body).substr(at + 5, 8);
    set.results.push_back(result);
  }
  return set;
}

}  // namespace puzzled::sim
