#include "tests/bench/published.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <utility>

#include "tests/bench/support.h"

namespace puzzled::bench {
namespace {

template <class Function>
Function* symbol(void* library, const char* name) {
  void* found = ::dlsym(library, name);
  if (found == nullptr) give_up(std::string("a published program lacks ") + name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

std::unique_ptr<Published> Published::load(const std::filesystem::path& folder,
                                           const std::string& name) {
  const std::filesystem::path file = folder / (name + ".so");
  if (folder.empty() || !std::filesystem::exists(file)) return nullptr;
  void* library = ::dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) give_up(::dlerror());
  return std::unique_ptr<Published>(new Published(library));
}

Published::~Published() { ::dlclose(library_); }

long Published::solve(const std::vector<unsigned char>& board) const {
  return symbol<long(const unsigned char*, unsigned long)>(library_, "published_solve")(
      board.data(), board.size());
}

// Both C's and C++'s streams: programs use the one or the other.
std::string Published::run(const std::string& input, double& cpu_s) const {
  auto* main = symbol<void()>(library_, "published_run");
  std::ios::sync_with_stdio(false);
  std::istringstream in(input);
  std::ostringstream out;
  std::string copy = input;
  char* text = nullptr;
  std::size_t size = 0;
  FILE* const old_in = std::exchange(stdin, ::fmemopen(copy.data(), copy.size(), "r"));
  FILE* const old_out = std::exchange(stdout, ::open_memstream(&text, &size));
  std::streambuf* const old_cin = std::cin.rdbuf(in.rdbuf());
  std::streambuf* const old_cout = std::cout.rdbuf(out.rdbuf());
  std::cin.clear();
  const double start = thread_cpu_s();
  main();
  cpu_s = thread_cpu_s() - start;
  std::cin.rdbuf(old_cin);
  std::cout.rdbuf(old_cout);
  std::fclose(std::exchange(stdin, old_in));
  std::fclose(std::exchange(stdout, old_out));
  std::string printed(text, size);
  std::free(text);
  return printed + out.str();
}

}  // namespace puzzled::bench
