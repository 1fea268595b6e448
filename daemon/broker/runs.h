// Results as runs of consecutive cases: how what is not proven is kept, in memory and on disk.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/broker/effect.h"

namespace puzzled {

struct CaseRun {
  ChunkNo chunk_no = 0;
  CaseNo first;
  std::uint32_t count = 0;
};

// `rows` as in InsertResults. Each run lies in one chunk.
inline std::vector<CaseRun> runs_of(const std::vector<record::ResultRow>& rows) {
  std::vector<CaseRun> runs;
  for (const record::ResultRow& row : rows) {
    const bool follows = !runs.empty() && runs.back().chunk_no == row.chunk_no &&
                         runs.back().first.value + runs.back().count == row.case_no.value;
    if (!follows) runs.push_back({.chunk_no = row.chunk_no, .first = row.case_no, .count = 0});
    ++runs.back().count;
  }
  return runs;
}

}  // namespace puzzled
