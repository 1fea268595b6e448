// Runs a target without libFuzzer: PROGRAM PATH… runs the files, those in folders too, each as it
// is and then spoilt at random a few times (PUZZLED_SEED replays). Paths that do not exist count as
// empty folders; exits with 2 if there was no file at all.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <vector>

#include "tests/fuzz/target.h"

namespace puzzled::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kSpoiltCopies = 20;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> read_all(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (fs::is_regular_file(path)) files.emplace_back(path);
    if (!fs::is_directory(path)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);  // a seed replays whatever the order of the folder
  std::vector<std::string> inputs;
  for (const fs::path& file : files) inputs.push_back(read(file));
  return inputs;
}

void run(const std::string& input) {
  // A copy of exactly this size, so that AddressSanitizer sees a byte too far.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::string spoilt(std::string input, const std::string& other, std::mt19937_64& random) {
  for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
    const std::size_t at = random() % (input.size() + 1);
    switch (random() % 5) {
      case 0:
        input.resize(at);
        break;
      case 1:
        input.insert(at, 1, static_cast<char>(random()));
        break;
      case 2:  // the end of another input
        input = input.substr(0, at) + other.substr(random() % (other.size() + 1));
        break;
      case 3:
        input.erase(at, 1 + random() % 8);
        break;
      default:
        if (at < input.size()) input[at] = static_cast<char>(random());
    }
  }
  return input;
}

int replay(const std::vector<std::string>& paths) {
  const std::vector<std::string> inputs = read_all(paths);
  if (inputs.empty()) {
    std::cerr << "no input files\n";
    return 2;
  }
  for (const std::string& input : inputs) run(input);
  const char* given = std::getenv("PUZZLED_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << inputs.size() << " inputs are fine; spoiling them with PUZZLED_SEED=" << seed
            << std::endl;
  std::mt19937_64 random(seed);
  for (const std::string& input : inputs) {
    for (int i = 0; i < kSpoiltCopies; ++i) {
      run(spoilt(input, inputs[random() % inputs.size()], random));
    }
  }
  return 0;
}

}  // namespace
}  // namespace puzzled::fuzz

int main(int argc, char** argv) {
  return puzzled::fuzz::replay(std::vector<std::string>(argv + 1, argv + argc));
}
