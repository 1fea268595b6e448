#include "tests/support/fault_vfs.h"

#include <cstdlib>
#include <string_view>

namespace puzzled::testing {
namespace {

using Call = FaultVfs::Call;

FaultVfs* active = nullptr;  // there is one default VFS in a process

// The file of the usual VFS lies behind this in the memory that SQLite gives.
struct File {
  sqlite3_file head;
  bool is_log;
};

sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<File*>(file) + 1);
}
bool is_log(sqlite3_file* file) { return reinterpret_cast<File*>(file)->is_log; }

int fail(Call call) {
  bool half = false;
  return active->count(call, half);
}

int on_close(sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); }
int on_read(sqlite3_file* f, void* to, int bytes, sqlite3_int64 at) {
  if (const int code = fail(Call::kRead)) return code;
  return real(f)->pMethods->xRead(real(f), to, bytes, at);
}
int on_write(sqlite3_file* f, const void* from, int bytes, sqlite3_int64 at) {
  bool half = false;
  const int code = active->count(Call::kWrite, half);
  if (is_log(f)) active->note_log_write();
  if (code != SQLITE_OK) {
    if (half) real(f)->pMethods->xWrite(real(f), from, bytes / 2, at);
    return code;
  }
  return real(f)->pMethods->xWrite(real(f), from, bytes, at);
}
int on_truncate(sqlite3_file* f, sqlite3_int64 bytes) {
  if (const int code = fail(Call::kTruncate)) return code;
  return real(f)->pMethods->xTruncate(real(f), bytes);
}
int on_sync(sqlite3_file* f, int) {
  if (const int code = fail(Call::kSync)) return code;
  if (is_log(f)) active->note_log_sync();
  return SQLITE_OK;
}
int on_size(sqlite3_file* f, sqlite3_int64* bytes) {
  return real(f)->pMethods->xFileSize(real(f), bytes);
}
int on_lock(sqlite3_file* f, int level) {
  if (const int code = fail(Call::kLock)) return code;
  return real(f)->pMethods->xLock(real(f), level);
}
int on_unlock(sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); }
int on_reserved(sqlite3_file* f, int* out) {
  return real(f)->pMethods->xCheckReservedLock(real(f), out);
}
int on_control(sqlite3_file* f, int op, void* argument) {
  return real(f)->pMethods->xFileControl(real(f), op, argument);
}
int on_sector_size(sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); }
int on_characteristics(sqlite3_file* f) {
  return real(f)->pMethods->xDeviceCharacteristics(real(f));
}
int on_shm_map(sqlite3_file* f, int page, int bytes, int extend, void volatile** out) {
  if (const int code = fail(Call::kShmMap)) return code;
  return real(f)->pMethods->xShmMap(real(f), page, bytes, extend, out);
}
int on_shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  if ((flags & SQLITE_SHM_LOCK) != 0) {  // letting go cannot fail
    if (const int code = fail(Call::kShmLock)) return code;
  }
  return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
}
void on_shm_barrier(sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); }
int on_shm_unmap(sqlite3_file* f, int remove) {
  return real(f)->pMethods->xShmUnmap(real(f), remove);
}

const sqlite3_io_methods kMethods = {2,
                                     on_close,
                                     on_read,
                                     on_write,
                                     on_truncate,
                                     on_sync,
                                     on_size,
                                     on_lock,
                                     on_unlock,
                                     on_reserved,
                                     on_control,
                                     on_sector_size,
                                     on_characteristics,
                                     on_shm_map,
                                     on_shm_lock,
                                     on_shm_barrier,
                                     on_shm_unmap,
                                     nullptr,
                                     nullptr};

int on_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  File& ours = *reinterpret_cast<File*>(file);
  ours.head.pMethods = nullptr;
  ours.is_log = (flags & SQLITE_OPEN_WAL) != 0;
  real(file)->pMethods = nullptr;
  const int code = active->base()->xOpen(active->base(), name, real(file), flags, out_flags);
  if (real(file)->pMethods != nullptr) ours.head.pMethods = &kMethods;
  return code;
}
int on_last_error(sqlite3_vfs*, int, char*) { return active->os_error(); }

}  // namespace

FaultVfs::FaultVfs() : base_(sqlite3_vfs_find(nullptr)), self_(*base_) {
  if (active != nullptr) std::abort();
  active = this;
  self_.zName = "faults";
  self_.szOsFile = base_->szOsFile + static_cast<int>(sizeof(File));
  self_.pNext = nullptr;
  self_.xOpen = on_open;
  self_.xGetLastError = on_last_error;
  sqlite3_vfs_register(&self_, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&self_);
  sqlite3_vfs_register(base_, 1);
  active = nullptr;
}

void FaultVfs::arm(const Fault& fault) {
  const std::lock_guard lock(mutex_);
  calls_ = {};
  fault_ = fault;
  failed_ = false;
}

void FaultVfs::heal() {
  const std::lock_guard lock(mutex_);
  fault_.reset();
}

bool FaultVfs::has_failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

std::uint64_t FaultVfs::calls(Call call) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

std::uint64_t FaultVfs::unsynced_log_writes() const {
  const std::lock_guard lock(mutex_);
  return unsynced_;
}

int FaultVfs::count(Call call, bool& half) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = ++calls_[static_cast<std::size_t>(call)];
  if (!fault_ || fault_->call != call) return SQLITE_OK;
  if (number != fault_->at && !(fault_->stays && number > fault_->at)) return SQLITE_OK;
  failed_ = true;
  half = fault_->half;
  return fault_->code;
}

void FaultVfs::note_log_write() {
  const std::lock_guard lock(mutex_);
  ++unsynced_;
}

void FaultVfs::note_log_sync() {
  const std::lock_guard lock(mutex_);
  unsynced_ = 0;
}

int FaultVfs::os_error() const {
  const std::lock_guard lock(mutex_);
  return fault_ ? fault_->os_error : 0;
}

}  // namespace puzzled::testing
