// The order in which people put names with numbers in them.
#pragma once

#include <string_view>

namespace puzzled {

// Whether a comes before b when runs of digits count as numbers of any length (file2 before file10,
// version 1.9 before 1.10) and a folder is compared before what is in it. A strict total order.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace puzzled
