// Golden traces: every file of tests/golden/session is a list of events ("> TIME EVENT") with what
// the Session answered to each. PUZZLED_UPDATE_GOLDEN=1 writes the answers anew; read the diff.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/host/session_support.h"

namespace puzzled::host {
namespace {

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(PUZZLED_GOLDEN_DIR)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The same file with the answers as they are now.
std::string replay(const std::string& golden) {
  std::istringstream in(golden);
  std::ostringstream out;
  std::unique_ptr<TextSession> session;
  std::string state;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("options")) session = std::make_unique<TextSession>(line);
    if (!line.starts_with(">")) {
      if (line.empty() || line[0] != ' ') out << line << '\n';
      continue;
    }
    out << line << '\n';
    for (const std::string& effect : session->step(line.substr(2))) out << "    " << effect << '\n';
    const std::string now = print_state(session->session);
    if (now != state) out << "    (" << now << ")\n";
    state = now;
  }
  return out.str();
}

class SessionGolden : public testing::TestWithParam<std::filesystem::path> {};
TEST_P(SessionGolden, AnswersAsRecorded) {
  const std::string golden = read(GetParam());
  const std::string now = replay(golden);
  const char* update = std::getenv("PUZZLED_UPDATE_GOLDEN");
  if (update != nullptr && *update != '\0') std::ofstream(GetParam()) << now;
  EXPECT_EQ(now, golden) << "if that is right: PUZZLED_UPDATE_GOLDEN=1, then read the diff";
}
INSTANTIATE_TEST_SUITE_P(Files, SessionGolden, testing::ValuesIn(golden_files()),
                         [](const auto& file) { return file.param.stem().string(); });

}  // namespace
}  // namespace puzzled::host
