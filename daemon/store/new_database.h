// A database that does not exist yet.
#pragma once

#include <string>

namespace puzzled {

// Fills the file with an empty database of the newest schema if it has no byte and neither a
// write-ahead log nor a journal beside it; else does nothing. The database is made without syncs
// under the name "<path>.new" and renamed when it is on the disk, so that a crash leaves either
// nothing or all of it, for two syncs instead of six. The caller holds the DatabaseLock.
// Throws sqlite::Error, or Fatal (exit 74) if the file cannot be synced or renamed.
void create_if_empty(const std::string& path);

}  // namespace puzzled
