// What puzzlectl shows of bytes of others: the input is a name, a label, a message.
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/console.h"
#include "client/output.h"
#include "daemon/net/fields.h"
#include "tests/fuzz/target.h"

namespace puzzled {
namespace {

using client::OutputFormat;

bool is_shown_safely(std::string text) {
  std::erase(text, '\n');
  return codec::is_printable(text);
}

std::string written(OutputFormat format, bool terminal, bool single, const std::string& text) {
  std::ostringstream out;
  std::ostringstream err;
  client::Console console(out, err, {.out_terminal = terminal});
  const std::vector<client::Column> columns = {{"label", "LABEL", false, 20},
                                               {"message", "MESSAGE"}};
  const client::Record record = {{"label", client::text_value(text)},
                                 {"message", client::text_value(text)}};
  if (single) {
    client::write_single(format, columns, record, console);
  } else {
    const auto writer = client::record_writer(format, columns, console);
    writer->write(record);
    writer->finish();
  }
  console.note(text);
  console.error(text, text);
  ASSERT(is_shown_safely(err.str()));
  return out.str();
}

void check_output(const std::string& text, bool single) {
  ASSERT(is_shown_safely(written(OutputFormat::kTable, false, single, text)));
  for (const bool terminal : {false, true}) {
    for (const OutputFormat format : {OutputFormat::kJson, OutputFormat::kJsonl}) {
      const std::string json = written(format, terminal, single, text);
      ASSERT(nlohmann::json::accept(json));
      ASSERT(!terminal || is_shown_safely(json));
    }
  }
  std::string csv = written(OutputFormat::kCsv, true, single, text);
  std::erase(csv, '\r');  // of the line ends
  ASSERT(is_shown_safely(csv));
}

}  // namespace
}  // namespace puzzled

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace puzzled;
  const std::string text(fuzz::input(data, size));
  const std::string line = printable_line(text);
  ASSERT(codec::is_printable(line) && printable_line(line) == line);
  ASSERT(is_shown_safely(printable_lines(text)));
  const std::string cut = client::shortened(line, 7);
  ASSERT(codec::is_printable(cut) && client::display_width(cut) <= 7);
  check_output(text, false);
  check_output(text, true);
  return 0;
}
