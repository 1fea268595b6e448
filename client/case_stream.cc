#include "client/case_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/failure.h"
#include "client/interrupt.h"
#include "proto/base/assert.h"
#include "proto/base/units.h"
#include "proto/case_view.h"
#include "proto/wire.h"
#include "workers/puzzles/key.h"

namespace puzzled::client {
namespace {

constexpr std::size_t kFileNumbersBytes = 16;  // of a File message, roughly

}  // namespace

FileCases::FileCases(const Puzzle& puzzle, const TestFile& file)
    : file_(file), text_(open_text(file)), reader_(puzzle.read_instances(text_->text())) {
  if (file.answers.empty()) return;
  answers_ = std::make_unique<FileText>(file.answers);
  claims_ = puzzle.read_claims(answers_->text());
}

bool FileCases::next(std::string& serialised_case) {
  if (!reader_->next(parsed_)) return false;
  ++count_;
  wire::CaseView view;
  if (parsed_.invalid.empty()) {
    view.instance = parsed_.instance;
  } else {
    view.invalid = parsed_.invalid;
  }
  if (claims_) {
    claims_->next(claim_);  // a skipped case has a claim too: indices keep their place.
    if (claim_.unreadable.empty()) {
      view.expected = claim_.answer;
    } else {
      view.expected_error = claim_.unreadable;
    }
  }
  wire::write_case(view, serialised_case);
  if (serialised_case.size() > wire::kCaseBytesMax) {
    throw Failure(kExitInvalid, fmt::format("case {} of {} takes {}, the limit is {}", count_,
                                            file_.path, approximate_size(serialised_case.size()),
                                            format_size(wire::kCaseBytesMax)));
  }
  return true;
}

std::optional<Defect> FileCases::claims_defect() {
  // After dropped cases their answers are left over, which is no fault of theirs.
  if (!claims_ || reader_->dropped_rest()) return std::nullopt;
  return claims_->finish();
}

FileFacts examine(const Puzzle& puzzle, const TestFile& file, FileDefects& defects,
                  std::size_t& room) {
  FileCases cases(puzzle, file);
  std::string serialised;
  std::optional<std::string> kept(std::in_place);
  while (cases.next(serialised)) {
    if (kept) wire::append_case(serialised, *kept);
    if (kept && kept->size() > room) kept.reset();
    if (cases.case_count() % 1024 == 0) throw_if_interrupted();
  }
  defects.test = cases.defects();
  defects.answers = cases.claims_defect();
  if (!cases.unchanged()) {
    throw Failure(kExitInvalid, fmt::format("{} changed while it was being read", file.path),
                  "try again when nothing writes to it");
  }
  if (kept) room -= std::min(room, kept->capacity());
  return {cases.stamp(), cases.answers_stamp(), cases.case_count(), std::move(kept)};
}

bool CaseStream::next(Chunk& chunk, bool with_keys) {
  throw_if_interrupted();
  chunk = {};
  std::size_t name_bytes = 0;
  const auto full = [&] {
    return chunk.case_count == wire::kChunkCasesMax ||
           chunk.cases.size() + name_bytes > wire::kChunkBytesSoft;
  };
  while (!full()) {
    if (!is_open_) {
      if (!open_next(chunk)) break;
      name_bytes += files_[file_].label.size() + kFileNumbersBytes;
    }
    // The first case of a file goes where its name went, however full that chunk is by now.
    const std::size_t begin = chunk.cases.size();
    if (!take_case(chunk.cases)) {
      close_file();
      continue;
    }
    if (with_keys) add_key(std::string_view(chunk.cases).substr(begin), chunk.keys);
    ++chunk.case_count;
    ++next_case_;
  }
  return chunk.case_count > 0 || !chunk.files.empty();
}

// Opens the next file and enters it into the chunk; false after the last file.
bool CaseStream::open_next(Chunk& chunk) {
  if (file_ == files_.size()) return false;
  const FileFacts& facts = facts_[file_];
  if (facts.cases) {
    kept_ = *facts.cases;
  } else {
    reopen(facts);
  }
  is_open_ = true;
  proto::File& entry = chunk.files.emplace_back();
  entry.set_path(files_[file_].label);
  entry.set_first_case(next_case_);
  entry.set_case_count(facts.case_count);
  return true;
}

void CaseStream::reopen(const FileFacts& facts) {
  try {
    open_ = std::make_unique<FileCases>(puzzle_, files_[file_]);
  } catch (const Failure&) {
    throw_changed();
  }
  if (open_->stamp() != facts.stamp || open_->answers_stamp() != facts.answers_stamp) {
    throw_changed();
  }
}

bool CaseStream::take_case(std::string& cases) {
  if (open_) {
    if (!open_->next(serialised_)) return false;
    wire::append_case(serialised_, cases);
    return true;
  }
  if (kept_.empty()) return false;
  const std::string_view first = wire::CaseWalker(kept_).at(0);
  const auto size = static_cast<std::size_t>(first.data() + first.size() - kept_.data());
  cases.append(kept_.substr(0, size));  // with its tag and length
  kept_.remove_prefix(size);
  return true;
}

// A case that cannot be solved has zeros: the daemon looks up nothing for it.
void CaseStream::add_key(std::string_view entry, std::string& keys) const {
  AnswerKey key{};
  const auto view = wire::parse_case(wire::CaseWalker(entry).at(0));
  ASSERT(view.has_value());
  if (view->invalid.empty()) {
    try {
      key = answer_key(puzzle_, solver_, view->instance);
    } catch (const InvalidWire&) {  // then there is none
    }
  }
  keys.append(key.data(), key.size());
}

void CaseStream::close_file() {
  if (open_ && (open_->case_count() != facts_[file_].case_count || !open_->unchanged())) {
    throw_changed();
  }
  open_.reset();
  is_open_ = false;
  ++file_;
}

void CaseStream::throw_changed() const {
  throw InputChanged(
      fmt::format("{} or its answers have changed since they were read first", files_[file_].path));
}

}  // namespace puzzled::client
