// A puzzle's wire decoders: the input's parts are an instance, a claimed and a right answer.
#include "tests/fuzz/puzzle.h"

namespace puzzled {
namespace {

using fuzz::puzzle;

// Reads what format_instances() wrote.
std::string reread(const std::string& text) {
  const auto reader = puzzle().read_instances(text);
  ParsedCase parsed;
  ASSERT(reader->next(parsed) && parsed.invalid.empty());
  std::string instance = parsed.instance;
  ASSERT(!reader->next(parsed) && reader->defects().empty());
  return instance;
}

// Whether the instance is valid. Everything that takes it agrees about that.
bool check_instance(const std::string& instance) {
  const auto defect = puzzle().validate(instance);
  const auto drawn = fuzz::unless_invalid([&] { return puzzle().draw(instance); });
  const auto text = fuzz::unless_invalid([&] { return puzzle().format_instances({instance}); });
  ASSERT(drawn.has_value() == !defect && text.has_value() == !defect);
  if (!defect) {
    ASSERT(fuzz::is_plain_text(*drawn) && fuzz::is_plain_text(*text));
    const std::string canonical = reread(*text);
    ASSERT(puzzle().format_instances({canonical}) == *text);
    return true;
  }
  ASSERT(fuzz::is_plain_line(*defect));
  // An invalid instance is refused before it is worked on.
  for (const Solver& solver : puzzle().solvers) {
    ASSERT(!fuzz::unless_invalid([&] {
      std::string answer;
      solver.solve(instance, answer);
      return true;
    }));
  }
  return false;
}

bool check_answer(std::string_view answer) {
  const auto text = fuzz::formatted(answer);
  ASSERT(text.has_value() == fuzz::summary_of(answer).has_value());
  ASSERT(!text || text->empty() || fuzz::is_plain_text(*text));
  return text.has_value();
}

}  // namespace
}  // namespace puzzled

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace puzzled;
  std::string_view in = fuzz::input(data, size);
  const std::string instance(fuzz::take_part(in));
  const std::string claimed(fuzz::take_part(in));
  const std::string right(fuzz::take_part(in));
  const bool valid = check_instance(instance);
  const bool readable = check_answer(claimed) && check_answer(right);
  const auto grade = [&](const std::string& claim) {
    return fuzz::unless_invalid([&] { return puzzle().check(instance, claim, right); });
  };
  const auto checked = grade(claimed);
  ASSERT(checked.has_value() == (valid && readable));
  if (!checked) return 0;
  ASSERT(checked->accepted ? checked->message.empty() : fuzz::is_plain_line(checked->message));
  ASSERT(checked->message.size() <= 500 && grade(right)->accepted);
  return 0;
}
