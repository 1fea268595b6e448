// What to tell people about an error of the store after which the daemon must stop.
#pragma once

#include <string>

#include "daemon/store/sqlite.h"
#include "proto/base/fatal.h"

namespace puzzled {

Fatal store_failure(const std::string& database_path, const sqlite::Error& error);

}  // namespace puzzled
