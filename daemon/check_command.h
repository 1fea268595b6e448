// `puzzled --check FILE`: what `puzzlectl doctor --database FILE` runs.
#pragma once

#include <cstdio>
#include <string>

namespace puzzled {

inline constexpr int kExitFindings = 1;

// Checks a database that no daemon uses, and writes one JSON object a line: any number of
// {"progress": {"done", "total"}} and {"finding": {"rule", "job", "chunk", "case", "text",
// "meaning", "advice"}}, of which job, chunk and case may be missing; at the end, if the check
// could not be made, {"error": {"text"}}. Returns 0, kExitFindings, or the exit code of Fatal.
int check_command(const std::string& path, std::FILE* out);

}  // namespace puzzled
