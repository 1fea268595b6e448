#include "daemon/check_command.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/store/check_file.h"
#include "proto/base/fatal.h"

namespace puzzled {
namespace {

void write_line(const nlohmann::ordered_json& object, std::FILE* out) {
  using Json = nlohmann::ordered_json;
  const std::string line = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), out) != line.size() || std::fflush(out) != 0) {
    throw Fatal(kExitIo, "the findings cannot be written to standard output");
  }
}

nlohmann::ordered_json json_of(const Finding& finding) {
  const RuleText& rule = rule_text(finding.rule);
  nlohmann::ordered_json json;
  json["rule"] = rule.name;
  if (finding.job.value > 0) json["job"] = finding.job.value;
  if (finding.chunk) json["chunk"] = *finding.chunk;
  if (finding.case_no.value > 0) json["case"] = finding.case_no.value;
  json["text"] = finding.text;
  json["meaning"] = rule.meaning;
  json["advice"] = rule.advice;
  return json;
}

int check_file(const std::string& path, std::FILE* out) {
  FileCheck check(path);
  std::vector<std::uint64_t> cursor;
  bool clean = true;
  do {
    const query::CheckPage page = check.page(cursor);
    for (const Finding& finding : page.findings) {
      write_line({{"finding", json_of(finding)}}, out);
      clean = false;
    }
    write_line({{"progress", {{"done", page.chunks_done}, {"total", page.chunk_count}}}}, out);
    cursor = page.cursor;
  } while (!cursor.empty());
  return clean ? 0 : kExitFindings;
}

}  // namespace

int check_command(const std::string& path, std::FILE* out) {
  try {
    return check_file(path, out);
  } catch (const Fatal& error) {
    write_line({{"error", {{"text", error.what()}}}}, out);
    return error.exit_code();
  }
}

}  // namespace puzzled
