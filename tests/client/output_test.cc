#include "client/output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/client/support.h"

namespace puzzled::client {
namespace {

const std::vector<Column> kColumns = {{"case", "CASE", true},
                                      {"label", "LABEL", false, 12},
                                      {"verdict", "VERDICT"},
                                      {"hidden", ""},
                                      {"answer", "ANSWER"}};

std::vector<Record> hostile_records() {
  return {{{"case", {std::uint64_t{1}}},
           {"label", text_value("plain")},
           {"verdict", {std::string("ACCEPTED"), "AC", Colour::kGood}},
           {"hidden", {}},
           {"answer", {std::string("123456789012345678901234567890")}}},
          {{"case", {std::uint64_t{20}}},
           {"label", text_value("a,\"b\"\x1b[2J\xff and more")},
           {"verdict", {std::string("WRONG_ANSWER"), "WA", Colour::kBad}},
           {"hidden", {true}},
           {"answer", {std::string("1 2\n3"), "1 2 3"}}}};
}

std::string written(OutputFormat format, bool terminal, bool colour = false) {
  std::ostringstream out;
  std::ostringstream err;
  Console console(out, err, {.out_terminal = terminal, .colour = colour});
  const auto writer = record_writer(format, kColumns, console);
  for (const Record& record : hostile_records()) writer->write(record);
  writer->finish();
  return out.str();
}

TEST(RecordWriter, Table) {
  EXPECT_EQ(written(OutputFormat::kTable, false),
            "CASE  LABEL         VERDICT  ANSWER\n"
            "   1  plain         AC       123456789012345678901234567890\n"
            "  20  a,\"b\"\\x1b...  WA       1 2 3\n");
}

TEST(RecordWriter, ColouredTable) {
  const std::string text = written(OutputFormat::kTable, true, true);
  EXPECT_NE(text.find("\x1b[32mAC\x1b[0m"), std::string::npos);
  EXPECT_NE(text.find("\x1b[31mWA\x1b[0m"), std::string::npos);
  EXPECT_EQ(text.find("\x1b[2J"), std::string::npos);
}

TEST(RecordWriter, CsvIsRfc4180) {
  EXPECT_EQ(written(OutputFormat::kCsv, false),
            "case,label,verdict,hidden,answer\r\n"
            "1,plain,ACCEPTED,,123456789012345678901234567890\r\n"
            "20,\"a,\"\"b\"\"\x1b[2J\xff and more\",WRONG_ANSWER,true,\"1 2\n3\"\r\n");
}

TEST(RecordWriter, CsvOnATerminalHasNoControlCharacters) {
  const std::string text = written(OutputFormat::kCsv, true);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(RecordWriter, JsonIsValidWhateverTheBytes) {
  EXPECT_EQ(written(OutputFormat::kJson, false),
            "[\n"
            "{\"case\":1,\"label\":\"plain\",\"verdict\":\"ACCEPTED\",\"hidden\":null,"
            "\"answer\":\"123456789012345678901234567890\"},\n"
            "{\"case\":20,\"label\":\"a,\\\"b\\\"\\u001b[2J\xef\xbf\xbd and more\","
            "\"verdict\":\"WRONG_ANSWER\",\"hidden\":true,\"answer\":\"1 2\\n3\"}\n"
            "]\n");
  const std::string lines = written(OutputFormat::kJsonl, true);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
  for (const char c : lines) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f));
}

TEST(RecordWriter, NothingIsAnEmptyListWithItsHeading) {
  const auto empty = [](OutputFormat format) {
    std::ostringstream out;
    Console console(out, out, {});
    record_writer(format, kColumns, console)->finish();
    return out.str();
  };
  EXPECT_EQ(empty(OutputFormat::kTable), "CASE  LABEL  VERDICT  ANSWER\n");
  EXPECT_EQ(empty(OutputFormat::kCsv), "case,label,verdict,hidden,answer\r\n");
  EXPECT_EQ(empty(OutputFormat::kJson), "[]\n");
  EXPECT_EQ(empty(OutputFormat::kJsonl), "");
}

TEST(WriteSingle, NestedRecords) {
  const Record record = {{"job", {std::uint64_t{17}}},
                         {"name", text_value("")},
                         {"verdicts", {Record{{"SOLVED", {std::uint64_t{2}}}}, "2 OK"}},
                         {"solvers", {std::vector<std::string>{"a", "b"}}}};
  const std::vector<Column> columns = {
      {"job", "job"}, {"name", "name"}, {"verdicts", "verdicts"}, {"solvers", "solvers"}};
  const auto single = [&](OutputFormat format) {
    std::ostringstream out;
    Console console(out, out, {});
    write_single(format, columns, record, console);
    return out.str();
  };
  EXPECT_EQ(single(OutputFormat::kTable), "job       17\nverdicts  2 OK\nsolvers   a, b\n");
  EXPECT_EQ(single(OutputFormat::kJsonl),
            "{\"job\":17,\"name\":\"\",\"verdicts\":{\"SOLVED\":2},\"solvers\":[\"a\",\"b\"]}\n");
  EXPECT_EQ(
      single(OutputFormat::kCsv),
      "job,name,verdicts,solvers\r\n17,,\"{\"\"SOLVED\"\":2}\",\"[\"\"a\"\",\"\"b\"\"]\"\r\n");
}

TEST(IsoTime, UtcWithMilliseconds) {
  EXPECT_EQ(iso_time(1'767'225'600'789), "2026-01-01T00:00:00.789Z");
  EXPECT_EQ(iso_time(951'782'399'001), "2000-02-28T23:59:59.001Z");
  EXPECT_EQ(iso_time(0), "");
  EXPECT_EQ(iso_time(-5), "");
  EXPECT_EQ(iso_time(INT64_MAX), "");
}

}  // namespace
}  // namespace puzzled::client
