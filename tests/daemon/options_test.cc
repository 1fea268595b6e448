#include "daemon/options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "proto/base/fatal.h"

namespace puzzled {
namespace {

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    char path[] = "/tmp/puzzled_options_XXXXXX";
    folder_ = ::mkdtemp(path);
    environment_["XDG_CONFIG_HOME"] = folder_;
  }
  ~OptionsTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text, const std::string& name = "test.toml") {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  Command parse(std::vector<std::string> arguments) {
    return parse_command_line(std::move(arguments),
                              [this](const std::string& name) -> std::optional<std::string> {
                                const auto at = environment_.find(name);
                                if (at == environment_.end()) return std::nullopt;
                                return at->second;
                              });
  }
  // The text of the configuration error; "" if there is none.
  std::string error_of(std::vector<std::string> arguments) {
    try {
      parse(std::move(arguments));
      return "";
    } catch (const Fatal& error) {
      EXPECT_EQ(error.exit_code(), kExitConfiguration);
      return error.what();
    }
  }

  std::string folder_;
  std::map<std::string, std::string> environment_;
};

std::string key_of(const OptionRow& row) {
  std::string key(row.name);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

TEST_F(OptionsTest, FlagBeforeEnvironmentBeforeFileBeforeDefault) {
  EXPECT_EQ(parse({}).options.broker.liveness_ms, BrokerOptions{}.liveness_ms);
  const std::string path = write("[workers]\nliveness = \"4s\"\n");
  EXPECT_EQ(parse({"--config", path}).options.broker.liveness_ms, 4'000U);
  environment_["PUZZLED_LIVENESS"] = "5s";
  EXPECT_EQ(parse({"--config", path}).options.broker.liveness_ms, 5'000U);
  EXPECT_EQ(parse({"--config", path, "--liveness", "6s"}).options.broker.liveness_ms, 6'000U);
  EXPECT_EQ(parse({"--liveness=7s"}).options.broker.liveness_ms, 7'000U);
}

TEST_F(OptionsTest, FindsTheUsersFile) {
  EXPECT_EQ(parse({}).config_file, "");
  const std::string path = write("[workers]\nworkers = 3\n", "puzzled/puzzled.toml");
  EXPECT_EQ(parse({}).config_file, path);
  EXPECT_EQ(parse({}).options.supervisor.workers, 3U);
  environment_.erase("XDG_CONFIG_HOME");
  environment_["HOME"] = folder_;
  write("[workers]\nworkers = 4\n", ".config/puzzled/puzzled.toml");
  EXPECT_EQ(parse({}).options.supervisor.workers, 4U);
}

TEST_F(OptionsTest, ReadsEveryKind) {
  const std::string path = write(R"([listen]
endpoint = "tcp://127.0.0.1:5000"
insecure_tcp = true
[log]
log_format = "json"
[jobs]
time_limit_max = "90s"
window_bytes_max = "128MiB"
job_cases_max = 1000
)");
  const DaemonOptions options = parse({"--config", path}).options;
  EXPECT_EQ(options.endpoint, "tcp://127.0.0.1:5000");
  EXPECT_TRUE(options.insecure_tcp);
  EXPECT_EQ(options.log_format, "json");
  EXPECT_EQ(options.net.codec.time_limit_us_max, 90'000'000U);
  EXPECT_EQ(options.broker.window_bytes_max, 128U << 20U);
  EXPECT_EQ(options.broker.job_cases_max, 1'000U);
  EXPECT_TRUE(parse({"--insecure-tcp"}).options.insecure_tcp);
}

TEST_F(OptionsTest, FileErrorsNameThePlaceAndWhatWasMeant) {
  const auto error = [&](const std::string& text) {
    const std::string path = write(text);
    const std::string found = error_of({"--config", path});
    EXPECT_TRUE(found.starts_with(path + ":")) << found;
    return found.substr(std::min(found.size(), path.size()));
  };
  EXPECT_EQ(error("[workers]\n\nlivenes = \"3s\"\n"),
            ":3:1: unknown key livenes in [workers]; did you mean liveness in [workers]?");
  EXPECT_EQ(error("liveness = \"3s\"\n"),
            ":1:1: unknown key liveness outside of a section; did you mean liveness in [workers]?");
  EXPECT_EQ(error("[wrokers]\n"), ":1:2: unknown section [wrokers]; see puzzled --print-config");
  EXPECT_EQ(error("[workers]\nliveness = 3000\n"), ":2:12: liveness: expected a string in quotes");
  EXPECT_EQ(error("[workers]\nworkers = \"two\"\n"), ":2:11: workers: expected a whole number");
  EXPECT_EQ(error("[workers]\nworkers = -1\n"),
            ":2:11: workers: found \"-1\", expected a whole number from 0 to 4096");
  EXPECT_EQ(
      error("[workers]\nliveness = \"3\"\n"),
      ":2:12: liveness: found \"3\", expected a duration from 20ms to 1h, with its unit (e.g. "
      "1500ms, 10s)");
  EXPECT_EQ(error("[jobs]\ncase_bytes_max = \"17MiB\"\n"),
            ":2:18: case_bytes_max: found \"17MiB\", expected a size from 1KiB to 16MiB, with its "
            "unit (e.g. 64MiB)");
  EXPECT_EQ(error("[log]\nlog_level = \"loud\"\n"),
            ":2:13: log_level: found \"loud\", expected one of "
            "trace|debug|info|warn|error|critical|off");
  EXPECT_TRUE(error("[listen\n").starts_with(":1:8: ")) << error("[listen\n");
  EXPECT_NE(error_of({"--config", folder_ + "/none.toml"}).find("cannot be read"),
            std::string::npos);
}

TEST_F(OptionsTest, OtherErrorsNameTheirSource) {
  EXPECT_TRUE(error_of({"--liveness", "soon"}).starts_with("--liveness: found \"soon\""));
  EXPECT_NE(error_of({"--livenes", "3s"}).find("--help"), std::string::npos);
  EXPECT_NE(error_of({"extra"}).find("--help"), std::string::npos);
  environment_["PUZZLED_WORKERS"] = "many";
  EXPECT_TRUE(error_of({}).starts_with("PUZZLED_WORKERS: found \"many\""));
  environment_.erase("PUZZLED_WORKERS");
  EXPECT_NE(error_of({"--liveness", "1s"}).find("heartbeat-interval"), std::string::npos);
  EXPECT_NE(error_of({"--endpoint", "http://x"}).find("endpoint"), std::string::npos);
  EXPECT_NE(error_of({"--endpoint", ""}).find("endpoint"), std::string::npos);
  EXPECT_NE(error_of({"--case-bytes-max", "16MiB", "--message-bytes-max", "16MiB"}).find("half"),
            std::string::npos);
  EXPECT_NE(error_of({"--log-file", "a\nb"}).find("control"), std::string::npos);
  EXPECT_TRUE(error_of({"--authorized-keys-poll", "1s"}).starts_with("authorized-keys-poll: "));
}

TEST_F(OptionsTest, EveryOptionCanBeSetEverywhereAndIsDocumented) {
  const std::string help = parse({"--help"}).print;
  const std::string printed = parse({"--print-config"}).print;
  std::ifstream in(EXAMPLE_FILE);
  std::stringstream example;
  example << in.rdbuf();
  std::set<std::string_view> names;
  for (const OptionRow& row : option_rows()) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_TRUE(row.help.ends_with('.'));
    EXPECT_NE(help.find(fmt::format("--{}", row.name)), std::string::npos);
    EXPECT_NE(printed.find(fmt::format("\n{} = ", key_of(row))), std::string::npos);
    EXPECT_NE(example.str().find(fmt::format("# {}", row.help)), std::string::npos);
    EXPECT_NE(example.str().find(fmt::format("\n#{} = ", key_of(row))), std::string::npos);
    // Its default is in its range, and what is printed sets it.
    DaemonOptions options;
    const std::string text = option_text(row, options);
    EXPECT_EQ(set_option(row, text, options), std::nullopt);
    EXPECT_EQ(option_text(row, options), text);
  }
}

TEST_F(OptionsTest, ThePrintedConfigurationReadsBackTheSame) {
  const std::vector<std::string> flags = {
      "--liveness",         "4500ms", "--log-file",    "/tmp/a \"b\" \\c",
      "--window-bytes-max", "100MB",  "--insecure-tcp"};
  std::vector<std::string> arguments = flags;
  arguments.emplace_back("--print-config");
  const std::string printed = parse(arguments).print;
  EXPECT_NE(printed.find("liveness = \"4500ms\""), std::string::npos);
  EXPECT_EQ(parse({"--config", write(printed), "--print-config"}).print, printed);
}

// The example shows every default, each commented out.
TEST_F(OptionsTest, TheExampleFileIsUpToDate) {
  std::ifstream in(EXAMPLE_FILE);
  std::string enabled;
  for (std::string line; std::getline(in, line);) {
    const bool is_key = line.size() > 1 && line[0] == '#' && std::islower(line[1]) != 0;
    enabled += (is_key ? line.substr(1) : line) + '\n';
  }
  DaemonOptions read = parse({"--config", write(enabled)}).options;
  const DaemonOptions usual;
  const std::set<std::string_view> of_the_machine = {"endpoint", "database", "workers"};
  for (const OptionRow& row : option_rows()) {
    if (of_the_machine.contains(row.name)) continue;
    EXPECT_EQ(option_text(row, read), option_text(row, usual)) << row.name;
  }
}

TEST_F(OptionsTest, VersionAndHelpAreOneCommandEach) {
  EXPECT_EQ(parse({"--version"}).print, "puzzled " PUZZLED_VERSION "\n");
  EXPECT_NE(parse({"--help"}).print.find("\nlisten:\n"), std::string::npos);
}

}  // namespace
}  // namespace puzzled
