#include "tests/sim/cases.h"

#include <cstring>

#include "proto/base/assert.h"

namespace puzzled::sim {
namespace {

constexpr std::size_t kTwinAt = 1 + 4 + 4 + 1 + 2;
constexpr std::size_t kHeadBytes = kTwinAt + 1;
constexpr std::size_t kResultBytes = 4 + 1 + 8 + kAnswerKeyBytes;

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

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

std::string make_case(const CaseFacts& facts, std::size_t padding) {
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(kHeadBytes + padding));
  put(bytes, facts.job_tag);
  put(bytes, facts.number);
  put(bytes, static_cast<std::uint8_t>(facts.kind));
  put(bytes, facts.work_ms);
  put(bytes, facts.twin);
  return bytes.append(padding, '.');
}

CaseFacts read_case(std::string_view bytes) {
  return {.job_tag = get<std::uint32_t>(bytes, 1),
          .number = get<std::uint32_t>(bytes, 5),
          .kind = static_cast<Kind>(get<std::uint8_t>(bytes, 9)),
          .work_ms = get<std::uint16_t>(bytes, 10),
          .twin = get<std::uint8_t>(bytes, kTwinAt)};
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
  return has_wrong_claim(case_bytes) ? Verdict::kWrongAnswer : Verdict::kSolved;
}

bool has_wrong_claim(std::string_view case_bytes) { return read_case(case_bytes).number % 3 == 0; }

std::string_view instance_of(std::string_view case_bytes) {
  return read_case(case_bytes).twin == 0 ? case_bytes : case_bytes.substr(kTwinAt, 1);
}

std::string key_of(std::string_view puzzle, std::string_view case_bytes) {
  std::string key;
  const std::string instance(instance_of(case_bytes));
  put(key, std::uint64_t{hash_of(instance + std::string(puzzle))});
  put(key, std::uint64_t{hash_of(std::string(puzzle) + instance)});
  return key;
}

std::uint64_t right_answer(std::string_view case_bytes) { return hash_of(instance_of(case_bytes)); }

std::uint64_t lie_about(std::string_view case_bytes) { return ~right_answer(case_bytes); }

bool is_lie(std::string_view answer, std::string_view case_bytes) {
  std::uint64_t number = 0;
  if (answer.size() != sizeof number) return false;
  std::memcpy(&number, answer.data(), sizeof number);
  return number == lie_about(case_bytes);
}

void append_result(std::string& body, std::uint32_t position, std::string_view case_bytes,
                   bool lies, const std::string& key) {
  put(body, position);
  put(body, static_cast<std::uint8_t>(right_verdict(case_bytes)));
  put(body, lies ? lie_about(case_bytes) : right_answer(case_bytes));
  // A crash is no answer.
  const bool has_key = !key.empty() && right_verdict(case_bytes) != Verdict::kCrashed;
  body += has_key ? key : std::string(kAnswerKeyBytes, '\0');
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
    const std::string_view key = std::string_view(*body).substr(at + 13, kAnswerKeyBytes);
    if (key.find_first_not_of('\0') != std::string_view::npos) result.key = key;
    set.results.push_back(result);
  }
  return set;
}

}  // namespace puzzled::sim
