#include <gtest/gtest.h>

#include <functional>

#include "daemon/net/codec.h"
#include "tests/net/frames.h"

namespace puzzled {
namespace {

using codec::decode_client;
using message::ErrorCode;

constexpr PeerId kPeer{7};

codec::ClientInput decode(const proto::ClientRequest& request, const CodecOptions& options = {}) {
  return decode_client(kPeer, test::frame(request), options);
}

template <class E>
E event_of(const proto::ClientRequest& request) {
  codec::ClientInput input = decode(request);
  if (const auto* error = std::get_if<message::Error>(&input)) {
    ADD_FAILURE() << error->text;
    return {};
  }
  return std::get<E>(std::get<Event>(input));
}

template <class Q>
Q query_of(const proto::ClientRequest& request) {
  auto query = std::get<codec::Query>(decode(request));
  EXPECT_EQ(query.request, request.id());
  return std::get<Q>(query.query);
}

// The reply to a spoilt request: the right code, the request's id, one printable line.
void expect_error(const proto::ClientRequest& request, ErrorCode code, const std::string& part,
                  const CodecOptions& options = {}) {
  const codec::ClientInput input = decode(request, options);
  const auto* error = std::get_if<message::Error>(&input);
  ASSERT_NE(error, nullptr) << "was accepted: " << request.ShortDebugString().substr(0, 300);
  EXPECT_EQ(static_cast<int>(error->code), static_cast<int>(code)) << error->text;
  EXPECT_EQ(error->request, request.id());
  EXPECT_NE(error->text.find(part), std::string::npos) << error->text;
  EXPECT_EQ(error->text.find('\n'), std::string::npos) << error->text;
}

TEST(ClientCodec, DecodesOpenJob) {
  const auto open = event_of<event::OpenJob>(test::open_job(11));
  EXPECT_EQ(open.peer, kPeer);
  EXPECT_EQ(open.request, 11U);
  EXPECT_EQ(open.request_id[15], 'a');
  EXPECT_EQ(open.spec.name, "evening run");
  EXPECT_EQ(open.spec.puzzle, "bishops");
  EXPECT_EQ(open.spec.solver, "staircase");
  EXPECT_EQ(open.spec.priority, -5);
  EXPECT_EQ(open.spec.limits, (Limits{1'000'000, 1U << 20U, 1U << 20U}));
}

TEST(ClientCodec, DecodesAddChunk) {
  const auto request = test::add_chunk(12, {"one", "", "three"});
  const auto chunk = event_of<event::AddChunk>(request);
  EXPECT_EQ(chunk.peer, kPeer);
  EXPECT_EQ(chunk.request, 12U);
  ASSERT_EQ(chunk.cases->count(), 3U);
  EXPECT_EQ(chunk.cases->bytes, request.add_chunk().cases());
  EXPECT_EQ(chunk.cases->offsets.back(), chunk.cases->bytes.size());
  ASSERT_EQ(chunk.files.size(), 1U);
  EXPECT_EQ(chunk.files[0].path, "sub/grün0");
  EXPECT_EQ(chunk.files[0].case_count, 3U);
  EXPECT_EQ(chunk.hash, request.add_chunk().hash());
}

TEST(ClientCodec, DecodesTheOtherEvents) {
  proto::ClientRequest request;
  request.set_id(1);
  request.mutable_seal_job()->set_request_id(test::bytes16('b'));
  request.mutable_seal_job()->set_chunk_count(2);
  request.mutable_seal_job()->set_case_count(3);
  request.mutable_seal_job()->set_file_count(4);
  request.mutable_seal_job()->set_digest(5);
  const auto seal = event_of<event::SealJob>(request);
  EXPECT_EQ(seal.request_id[0], 'b');
  EXPECT_EQ(seal.chunk_count, 2U);
  EXPECT_EQ(seal.case_count, 3U);
  EXPECT_EQ(seal.file_count, 4U);
  EXPECT_EQ(seal.digest, 5U);
  request.mutable_cancel_job()->set_job(9);
  request.mutable_cancel_job()->set_reason("no longer needed");
  const auto cancel = event_of<event::CancelJob>(request);
  EXPECT_EQ(cancel.job, JobId{9});
  EXPECT_EQ(cancel.reason, "no longer needed");
  request.mutable_wait_job()->set_job(10);
  EXPECT_EQ(event_of<event::WaitJob>(request).job, JobId{10});
}

TEST(ClientCodec, DecodesQueries) {
  proto::ClientRequest request;
  request.set_id(1);
  request.mutable_get_job()->set_job(3);
  EXPECT_EQ(query_of<query::GetJob>(request).job, JobId{3});
  request.mutable_list_jobs()->set_before(8);
  EXPECT_EQ(query_of<query::ListJobs>(request).before, 8U);
  EXPECT_EQ(query_of<query::ListJobs>(request).limit, CodecOptions{}.page_rows);
  request.mutable_list_jobs()->set_limit(UINT32_MAX);
  EXPECT_EQ(query_of<query::ListJobs>(request).limit, CodecOptions{}.page_rows_max);
  proto::ListResults& list = *request.mutable_list_results();
  list.set_job(3);
  list.set_after_case(17);
  list.set_limit(20);
  list.add_verdicts(proto::WRONG_ANSWER);
  list.set_label_glob("a*#1");
  list.set_with_answers(true);
  const auto results = query_of<query::ListResults>(request);
  EXPECT_EQ(results.after_case, 17U);
  EXPECT_EQ(results.limit, 20U);
  EXPECT_EQ(results.verdicts, std::vector{Verdict::kWrongAnswer});
  EXPECT_EQ(results.label_glob, "a*#1");
  EXPECT_TRUE(results.with_answers);
  request.mutable_get_case()->set_job(3);
  request.mutable_get_case()->set_case_no(4);
  EXPECT_EQ(query_of<query::GetCase>(request).case_no, CaseNo{4});
  request.mutable_list_files()->set_job(3);
  request.mutable_list_files()->set_after_file(6);
  EXPECT_EQ(query_of<query::ListFiles>(request).after_file, 6U);
  request.mutable_list_workers()->set_after(4);
  EXPECT_EQ(std::get<codec::ListWorkers>(decode(request)).request, 1U);
  EXPECT_EQ(std::get<codec::ListWorkers>(decode(request)).after, WorkerNo{4});
  EXPECT_EQ(std::get<codec::ListWorkers>(decode(request)).rows, CodecOptions{}.page_rows);
  request.mutable_get_version();
  EXPECT_EQ(std::get<codec::GetVersion>(decode(request)).request, 1U);
  request.mutable_get_demand();
  EXPECT_EQ(std::get<codec::GetDemand>(decode(request)).request, 1U);
  EXPECT_EQ(std::get<codec::GetDemand>(decode(request)).slot_work_ms, kSlotWorkMs);
  request.mutable_get_demand()->set_slot_work_ms(70);
  EXPECT_EQ(std::get<codec::GetDemand>(decode(request)).slot_work_ms, 70U);
}

TEST(ClientCodec, DecodesChecksAndBackups) {
  proto::ClientRequest request;
  request.set_id(3);
  proto::Check& check = *request.mutable_check();
  check.add_cursor(1);
  check.add_cursor(UINT64_MAX);
  EXPECT_EQ(query_of<query::Check>(request).cursor, (std::vector<std::uint64_t>{1, UINT64_MAX}));
  check.set_broker(true);
  EXPECT_EQ(std::get<codec::CheckBroker>(decode(request)).after.value, 1U);
  for (int i = 0; i < 100; ++i) check.add_cursor(1);
  expect_error(request, ErrorCode::kInvalidArgument, "cursor");

  proto::Backup& backup = *request.mutable_backup();
  backup.set_path("/backups/a.db");
  backup.set_token(test::bytes16('t'));
  backup.set_force(true);
  const auto decoded = std::get<codec::Backup>(decode(request));
  EXPECT_EQ(decoded.request, 3U);
  EXPECT_EQ(decoded.path, "/backups/a.db");
  EXPECT_TRUE(decoded.force);
  EXPECT_EQ(decoded.token[15], 't');
  for (const std::string path : {"", "a.db", "../a.db", "/a\nb", "/\x1b[31m"}) {
    backup.set_path(path);
    expect_error(request, ErrorCode::kInvalidArgument, "path");
  }
  backup.set_path(std::string("/a\0b", 4));
  expect_error(request, ErrorCode::kInvalidArgument, "path");
  backup.set_path("/" + std::string(wire::kPathBytesMax, 'a'));
  expect_error(request, ErrorCode::kInvalidArgument, "path");
  backup.set_path("/backups/a.db");
  backup.set_token("short");
  expect_error(request, ErrorCode::kInvalidArgument, "token");
}

TEST(ClientCodec, RefusesEveryFieldOutOfRange) {
  struct Row {
    std::function<void(proto::JobSpec&)> spoil;
    ErrorCode code;
    std::string part;
  };
  const std::vector<Row> rows = {
      {[](auto& s) { s.set_name(std::string(201, 'x')); }, ErrorCode::kInvalidArgument, "name"},
      {[](auto& s) { s.set_name("a\x1b[2J"); }, ErrorCode::kInvalidArgument, "name"},
      {[](auto& s) { s.set_name("\xff"); }, ErrorCode::kInvalidArgument, "name"},
      {[](auto& s) { s.set_name(std::string("a\0b", 3)); }, ErrorCode::kInvalidArgument, "name"},
      {[](auto& s) { s.set_puzzle(""); }, ErrorCode::kInvalidArgument, "puzzle"},
      {[](auto& s) { s.set_puzzle("../etc"); }, ErrorCode::kInvalidArgument, "puzzle"},
      {[](auto& s) { s.set_puzzle(std::string(65, 'p')); }, ErrorCode::kInvalidArgument, "puzzle"},
      {[](auto& s) { s.set_solver(""); }, ErrorCode::kInvalidArgument, "solver"},
      {[](auto& s) { s.set_solver("'; drop"); }, ErrorCode::kInvalidArgument, "solver"},
      {[](auto& s) { s.set_priority(101); }, ErrorCode::kInvalidArgument, "-100 to 100"},
      {[](auto& s) { s.set_priority(INT32_MIN); }, ErrorCode::kInvalidArgument, "-100 to 100"},
      {[](auto& s) { s.clear_limits(); }, ErrorCode::kInvalidArgument, "more than 0"},
      {[](auto& s) { s.mutable_limits()->set_answer_bytes_max(0); }, ErrorCode::kInvalidArgument,
       "answer_bytes_max"},
      {[](auto& s) { s.mutable_limits()->set_time_limit_us(UINT64_MAX); }, ErrorCode::kTooLarge,
       "time_limit_us"},
      {[](auto& s) { s.mutable_limits()->set_memory_limit_bytes(UINT64_MAX); },
       ErrorCode::kTooLarge, "memory_limit_bytes"},
      {[](auto& s) { s.mutable_limits()->set_answer_bytes_max((16U << 20U) + 1); },
       ErrorCode::kTooLarge, "answer_bytes_max"},
  };
  for (const Row& row : rows) {
    auto request = test::open_job(5);
    row.spoil(*request.mutable_open_job()->mutable_spec());
    expect_error(request, row.code, row.part);
  }
  for (const std::size_t size : {0U, 15U, 17U}) {
    auto request = test::open_job(5);
    request.mutable_open_job()->set_request_id(std::string(size, 'r'));
    expect_error(request, ErrorCode::kInvalidArgument, "request_id");
  }
}

TEST(ClientCodec, RefusesSpoiltChunks) {
  struct Row {
    std::function<void(proto::AddChunk&)> spoil;
    bool hash;  // put the right hash in afterwards
    ErrorCode code;
    std::string part;
  };
  const std::vector<Row> rows = {
      {[](auto& c) { c.set_request_id(""); }, true, ErrorCode::kInvalidArgument, "request_id"},
      {[](auto& c) { c.set_hash(c.hash() + 1); }, false, ErrorCode::kInvalidArgument, "hash"},
      {[](auto& c) { c.mutable_files(0)->set_path("other"); }, false, ErrorCode::kInvalidArgument,
       "hash"},
      {[](auto& c) { c.set_case_count(1); }, true, ErrorCode::kInvalidArgument, "case_count"},
      {[](auto& c) { c.set_case_count(1001); }, true, ErrorCode::kTooLarge, "1000"},
      {[](auto& c) { c.set_cases("rubbish"); }, true, ErrorCode::kMalformed, "cases"},
      {[](auto& c) { c.mutable_cases()->pop_back(); }, true, ErrorCode::kMalformed, "cases"},
      {[](auto& c) { c.mutable_files(0)->set_path(""); }, true, ErrorCode::kInvalidArgument,
       "path"},
      {[](auto& c) { c.mutable_files(0)->set_path(std::string(4097, 'p')); }, true,
       ErrorCode::kInvalidArgument, "path"},
      {[](auto& c) { c.mutable_files(0)->set_path("a\nb"); }, true, ErrorCode::kInvalidArgument,
       "path"},
      {[](auto& c) { c.mutable_files(0)->set_path(std::string("\0", 1)); }, true,
       ErrorCode::kInvalidArgument, "path"},
      {[](auto& c) { c.mutable_files(0)->set_first_case(0); }, true, ErrorCode::kInvalidArgument,
       "files[0]"},
      {[](auto& c) { c.mutable_files(0)->set_case_count(UINT64_MAX); }, true,
       ErrorCode::kInvalidArgument, "files[0]"},
  };
  for (const Row& row : rows) {
    auto request = test::add_chunk(6, {"one", "two"});
    row.spoil(*request.mutable_add_chunk());
    if (row.hash) test::hash_chunk(*request.mutable_add_chunk());
    expect_error(request, row.code, row.part);
  }
  CodecOptions small;
  small.case_bytes_max = 10;
  expect_error(test::add_chunk(6, {"x", std::string(20, 'y')}), ErrorCode::kTooLarge, "cases[1]",
               small);
}

TEST(ClientCodec, RefusesOtherFieldsOutOfRange) {
  proto::ClientRequest request;
  request.set_id(8);
  expect_error(request, ErrorCode::kMalformed, "newer");
  request.mutable_wait_job();
  expect_error(request, ErrorCode::kInvalidArgument, "job");
  request.mutable_get_job()->set_job(UINT64_MAX);
  expect_error(request, ErrorCode::kInvalidArgument, "job");
  request.mutable_cancel_job()->set_job(1);
  request.mutable_cancel_job()->set_reason(std::string(1001, 'r'));
  expect_error(request, ErrorCode::kInvalidArgument, "reason");
  request.mutable_cancel_job()->set_reason("\x9b");
  expect_error(request, ErrorCode::kInvalidArgument, "reason");
  request.mutable_seal_job()->set_request_id("short");
  expect_error(request, ErrorCode::kInvalidArgument, "request_id");
  request.mutable_seal_job()->set_request_id(test::bytes16('a'));
  request.mutable_seal_job()->set_case_count(UINT64_MAX);
  expect_error(request, ErrorCode::kInvalidArgument, "case_count");
  request.mutable_get_case()->set_job(1);
  expect_error(request, ErrorCode::kInvalidArgument, "case_no");
  request.mutable_list_files();
  expect_error(request, ErrorCode::kInvalidArgument, "job");
  proto::ListResults& list = *request.mutable_list_results();
  list.set_job(1);
  list.add_verdicts(static_cast<proto::Verdict>(12));
  expect_error(request, ErrorCode::kInvalidArgument, "verdicts");
  list.set_verdicts(0, static_cast<proto::Verdict>(-1));
  expect_error(request, ErrorCode::kInvalidArgument, "verdicts");
  list.clear_verdicts();
  for (int i = 0; i < 13; ++i) list.add_verdicts(proto::SOLVED);
  expect_error(request, ErrorCode::kInvalidArgument, "verdicts");
  list.clear_verdicts();
  list.set_label_glob(std::string(5000, '*'));
  expect_error(request, ErrorCode::kInvalidArgument, "label_glob");
}

proto::ClientReply parse(const std::string& frame) {
  proto::ClientReply reply;
  EXPECT_EQ(static_cast<int>(wire::decode(frame, wire::Role::kBroker, 64U << 20U, reply)), 0);
  return reply;
}

TEST(ClientCodec, EncodesEveryReplyOfTheBroker) {
  auto reply = parse(codec::encode(message::Error{3, ErrorCode::kConflict, "other body"}));
  EXPECT_EQ(reply.id(), 3U);
  EXPECT_EQ(reply.error().code(), proto::CONFLICT);
  EXPECT_EQ(reply.error().message(), "other body");
  reply = parse(codec::encode(message::JobOpened{4, {5}, 6, 7, true}));
  EXPECT_EQ(reply.job_opened().job(), 5U);
  EXPECT_EQ(reply.job_opened().next_chunk(), 6U);
  EXPECT_EQ(reply.job_opened().digest(), 7U);
  EXPECT_TRUE(reply.job_opened().sealed());
  EXPECT_EQ(parse(codec::encode(message::ChunkAccepted{1, 2})).chunk_accepted().chunk_no(), 2U);
  EXPECT_EQ(parse(codec::encode(message::JobSealed{1, {2}})).job_sealed().job(), 2U);
  EXPECT_EQ(parse(codec::encode(message::JobCancelled{1, {2}})).job_cancelled().job(), 2U);
  EXPECT_EQ(parse(codec::encode(message::JobDone{1, {2}})).job_done().job(), 2U);
  // The codes are numbered as in the protocol.
  for (int code = proto::MALFORMED; code <= proto::INTERNAL; ++code) {
    reply = parse(codec::encode(message::Error{1, static_cast<ErrorCode>(code), ""}));
    EXPECT_EQ(reply.error().code(), code);
  }
}

TEST(ClientCodec, EncodesJobsWithTheirState) {
  const auto state = [](query::JobRow row, std::uint64_t leased) {
    const auto view = [leased](JobId) { return JobView{leased, "no worker"}; };
    return parse(codec::encode(1, query::Answer(row), view)).job_status();
  };
  query::JobRow row;
  row.job = {3};
  row.case_count = 10;
  EXPECT_EQ(state(row, 0).state(), proto::UPLOADING);
  row.sealed = true;
  EXPECT_EQ(state(row, 0).state(), proto::QUEUED);
  EXPECT_EQ(state(row, 0).waiting_for(), "no worker");
  EXPECT_EQ(state(row, 2).state(), proto::RUNNING);
  EXPECT_EQ(state(row, 2).leased_count(), 2U);
  row.done_count = 10;
  row.verdicts[2] = 10;
  EXPECT_EQ(state(row, 0).state(), proto::JOB_DONE);
  EXPECT_EQ(state(row, 0).waiting_for(), "");
  ASSERT_EQ(state(row, 0).verdicts_size(), 1);
  EXPECT_EQ(state(row, 0).verdicts(0).verdict(), proto::ACCEPTED);
  row.cancelled = true;
  EXPECT_EQ(state(row, 0).state(), proto::JOB_STATE_CANCELLED);
}

TEST(ClientCodec, EncodesTheOtherAnswers) {
  const auto none = [](JobId) { return JobView{}; };
  const auto answer = [&](query::Answer a) { return parse(codec::encode(9, a, none)); };
  const auto no_job = answer(query::NotFound{.job = {17}}).error();
  EXPECT_EQ(no_job.code(), proto::UNKNOWN_JOB);
  EXPECT_EQ(no_job.message(), "there is no job 17; \"puzzlectl jobs\" lists them");
  const auto no_case =
      answer(query::NotFound{.what = query::NotFound::What::kCase, .job = {17}, .case_count = 5})
          .error();
  EXPECT_EQ(no_case.code(), proto::UNKNOWN_CASE);
  EXPECT_EQ(no_case.message(), "job 17 has no such case; its 5 cases are numbered from 1");
  EXPECT_EQ(
      answer(query::JobsPage{{query::JobRow{}, query::JobRow{}}, true}).jobs_page().jobs_size(), 2);
  query::ResultRow row;
  row.case_no = {5};
  row.label = "a#1";
  row.verdict = Verdict::kTimeLimit;
  row.has_answer = true;
  row.answer = "42";
  const auto page = answer(query::ResultsPage{{row}, true, 5}).results_page();
  EXPECT_EQ(page.rows(0).case_no(), 5U);
  EXPECT_EQ(page.rows(0).verdict(), proto::TIME_LIMIT);
  EXPECT_EQ(page.rows(0).answer(), "42");
  EXPECT_EQ(page.next_after(), 5U);
  query::CaseDetail detail;
  proto::Case content;
  content.set_instance("board");
  content.set_expected("7");
  detail.content = content.SerializeAsString();
  detail.result = row;
  detail.attempts.push_back({1, 2, "w", "died"});
  const auto found = answer(detail).case_detail();
  EXPECT_EQ(found.content().instance(), "board");
  EXPECT_TRUE(found.graded());
  EXPECT_EQ(found.attempts(0).message(), "died");
  detail.content = "\xff\xff\xff";
  EXPECT_FALSE(answer(detail).case_detail().content().invalid().empty());
  EXPECT_EQ(answer(query::FilesPage{{{"p", 1, 2}}, false, 1}).files_page().files(0).path(), "p");
  WorkerView worker;
  worker.name = "w1";
  worker.solvers = {"bishops/staircase"};
  const WorkersPage workers{.workers = {worker}, .more = true, .next_after = {5}};
  const auto listed = parse(codec::encode(1, workers)).workers_page();
  EXPECT_EQ(listed.workers(0).solvers(0), "bishops/staircase");
  EXPECT_TRUE(listed.more());
  EXPECT_EQ(listed.next_after(), 5U);
  const auto version =
      parse(codec::encode(1, codec::DaemonFacts{1, 2, {3}, "db"},
                          codec::DaemonLoad{.intake_paused = "disk full", .reader_age_ms = 17}));
  EXPECT_EQ(version.version().boot(), 3U);
  EXPECT_EQ(version.version().intake_paused(), "disk full");
  EXPECT_EQ(version.version().load().reader_age_ms(), 17U);
}

TEST(ClientCodec, EncodesTheDemand) {
  const Demand demand{.lanes = {{.puzzle = "duel",
                                 .solver = "sweep",
                                 .solver_version = "2",
                                 .require = {{"gpu", "a100"}, {"os", "linux"}},
                                 .open_cases = 9,
                                 .leased_cases = 8,
                                 .case_us = 0.25,
                                 .work_us = 7,
                                 .slots_wanted = 6,
                                 .slots = 5}},
                      .is_cut = true,
                      .open_cases = 4,
                      .slots_wanted = 3,
                      .slots = 2,
                      .workers = 1};
  const auto reply = parse(codec::encode(8, demand));
  EXPECT_EQ(reply.id(), 8U);
  const proto::Demand& to = reply.demand();
  EXPECT_TRUE(to.cut());
  EXPECT_EQ(to.open_cases(), 4U);
  EXPECT_EQ(to.slots_wanted(), 3U);
  EXPECT_EQ(to.slots(), 2U);
  EXPECT_EQ(to.workers(), 1U);
  ASSERT_EQ(to.lanes_size(), 1);
  EXPECT_EQ(to.lanes(0).puzzle(), "duel");
  EXPECT_EQ(to.lanes(0).solver(), "sweep");
  EXPECT_EQ(to.lanes(0).open_cases(), 9U);
  EXPECT_EQ(to.lanes(0).leased_cases(), 8U);
  EXPECT_EQ(to.lanes(0).case_us(), 0.25);
  EXPECT_EQ(to.lanes(0).work_us(), 7U);
  EXPECT_EQ(to.lanes(0).slots_wanted(), 6U);
  EXPECT_EQ(to.lanes(0).slots(), 5U);
  EXPECT_EQ(to.lanes(0).solver_version(), "2");
  ASSERT_EQ(to.lanes(0).require_size(), 2);
  EXPECT_EQ(to.lanes(0).require(1).key(), "os");
  EXPECT_EQ(to.lanes(0).require(1).value(), "linux");
}

TEST(ClientCodec, AnAnswerOverTheMessageLimitIsAnError) {
  query::CaseDetail detail;
  proto::Case content;
  content.set_instance(std::string(16U << 20U, 'i'));
  detail.content = content.SerializeAsString();
  detail.result.emplace().answer = std::string(16U << 20U, 'a');
  const auto reply =
      parse(codec::encode(9, query::Answer(detail), [](JobId) { return JobView{}; }));
  EXPECT_EQ(reply.id(), 9U);
  EXPECT_EQ(reply.error().code(), proto::TOO_LARGE);
}

}  // namespace
}  // namespace puzzled
