#include "tests/client/support.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "client/run.h"

namespace puzzled::client {

std::string make_folder() {
  std::string name = "/tmp/puzzlectl-test-XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name;
}

void write_file(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Outcome run_puzzlectl(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  Outcome outcome;
  outcome.exit_code = run(arguments, out, err, false, false);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(PUZZLED_SOURCE_DIR "/tests/golden/client/") + name + ".txt";
  if (std::getenv("PUZZLED_UPDATE_GOLDEN") != nullptr) {
    write_file(path, text);
    return;
  }
  EXPECT_EQ(read_file(path), text)
      << "golden text " << path << "; PUZZLED_UPDATE_GOLDEN=1 rewrites it";
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

}  // namespace puzzled::client
