#include "workers/puzzles/instance_reader.h"

namespace puzzled {

bool InstanceReaderBase::next(ParsedCase& out) {
  out.instance.clear();
  out.invalid.clear();
  if (done_) return false;
  const std::size_t known = in_.defects().size();
  try {
    done_ = !read_one(out.instance);
  } catch (const ParseError& error) {
    in_.add_defect(error.defect().at, error.defect().message);
    done_ = dropped_rest_ = true;
  }
  if (!done_ && in_.defects().size() == known) return true;
  out.instance.clear();
  if (!done_) out.invalid = describe(in_.defects()[known]);
  return !done_;
}

}  // namespace puzzled
