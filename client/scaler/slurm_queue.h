// Reads what `squeue --json` writes, of Slurm 22.05 and of later ones.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/scaler/engine.h"

namespace puzzled::scaler {

// The array tasks of `user`'s jobs named `fleet`. squeue's own filters do not hold for its JSON
// output in 22.05. Tasks that wait are one entry, with their numbers as "5-9,12%4"; an error if
// those cannot be read, as when Slurm has shortened them to "1-3,...".
std::variant<std::vector<Allocation>, EngineError> parse_queue(std::string_view json,
                                                               std::string_view fleet,
                                                               std::string_view user);

// "5-9,12%4": 5 6 7 8 9 12; "0-8:4": 0 4 8. Empty if it is not of that form, or has more than a
// million numbers.
std::vector<std::uint32_t> parse_task_numbers(std::string_view text);

}  // namespace puzzled::scaler
