#include "workers/host/budget.h"

#include <gmp.h>
#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace puzzled::host::budget {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
constexpr int kExitMemory = 1;

// Written by the one thread of a solver process only; all other processes just read `header`,
// which stays null there.
SharedHeader* header = nullptr;
std::int64_t level = 0;  // bytes allocated since install(), may be below zero
std::int64_t peak = 0;
std::int64_t base = 0;  // level when the case began
std::int64_t ceiling = kUnlimited;

void add(void* memory) {
  level += static_cast<std::int64_t>(::malloc_usable_size(memory));
  if (level <= peak) return;
  peak = level;
  header->peak_bytes.store(static_cast<std::uint64_t>(peak - base), std::memory_order_relaxed);
  if (peak > ceiling) exceed();
}

void subtract(void* memory) {
  if (header != nullptr) level -= static_cast<std::int64_t>(::malloc_usable_size(memory));
}

// Memory that cannot fit is not even asked for: the system would perhaps grant it.
bool cannot_fit(std::size_t bytes) {
  return ceiling != kUnlimited && bytes > static_cast<std::uint64_t>(ceiling - level);
}

// nullptr: out of memory, outside of a case.
void* allocate(std::size_t bytes, std::size_t alignment = 0) {
  if (header != nullptr && cannot_fit(bytes)) exceed();
  // An allocation of no bytes has an address of its own, too.
  if (bytes == 0) bytes = 1;
  void* memory = alignment == 0 ? std::malloc(bytes)
                                : std::aligned_alloc(
                                      alignment, (bytes + alignment - 1) / alignment * alignment);
  if (header == nullptr) return memory;
  if (memory != nullptr) {
    add(memory);
  } else if (ceiling != kUnlimited) {
    exceed();
  }
  return memory;
}

void release(void* memory) {
  if (memory == nullptr) return;
  subtract(memory);
  std::free(memory);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment = 0) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* gmp_allocate(std::size_t bytes) {
  void* memory = allocate(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

void* gmp_reallocate(void* memory, std::size_t old_bytes, std::size_t bytes) {
  if (bytes > old_bytes && cannot_fit(bytes - old_bytes)) exceed();
  subtract(memory);
  void* moved = std::realloc(memory, bytes);
  if (moved == nullptr) {
    if (ceiling != kUnlimited) exceed();
    std::abort();
  }
  add(moved);
  return moved;
}

void gmp_release(void* memory, std::size_t) { release(memory); }

}  // namespace

void install(SharedHeader* shared) {
  header = shared;
  ::mp_set_memory_functions(gmp_allocate, gmp_reallocate, gmp_release);
}

void begin_case(std::uint64_t limit_bytes) {
  base = level;
  peak = level;
  header->peak_bytes.store(0, std::memory_order_relaxed);
  const auto room = static_cast<std::uint64_t>(kUnlimited - 1 - (level > 0 ? level : 0));
  ceiling = level + static_cast<std::int64_t>(limit_bytes < room ? limit_bytes : room);
}

std::uint64_t end_case() {
  ceiling = kUnlimited;
  return static_cast<std::uint64_t>(peak - base);
}

void exceed() {
  header->outcome.store(ChildOutcome::kMemoryLimit, std::memory_order_release);
  ::_exit(kExitMemory);
}

}  // namespace puzzled::host::budget

// The replaceable functions, all of them: the defaults of a sanitizer's runtime would not call
// each other as the standard library's do.
namespace budget = puzzled::host::budget;

void* operator new(std::size_t bytes) { return budget::allocate_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return budget::allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return budget::allocate(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return budget::allocate(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return budget::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return budget::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return budget::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return budget::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { budget::release(memory); }
void operator delete[](void* memory) noexcept { budget::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { budget::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { budget::release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { budget::release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { budget::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { budget::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { budget::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  budget::release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  budget::release(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  budget::release(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  budget::release(memory);
}
