// Writes the seed corpora: fuzz_seeds FOLDER makes FOLDER/TARGET/… from tests/cases and from one
// well-formed message of each kind. Their names are their contents' hashes: equal ones are one
// file.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "tests/fuzz/broker_script.h"
#include "tests/fuzz/target.h"
#include "tests/net/frames.h"
#include "workers/puzzles/registry.h"

namespace puzzled::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTextBytesMax = 4096;
constexpr std::size_t kWireBytesMax = 2048;
constexpr std::size_t kCasesOfFile = 2;

class Corpora {
 public:
  explicit Corpora(fs::path folder) : folder_(std::move(folder)) {}
  void add(const std::string& target, const std::string& seed) {
    fs::create_directories(folder_ / target);
    const std::string name = std::to_string(wire::chunk_hash(seed, {}));
    std::ofstream(folder_ / target / name, std::ios::binary) << seed;
    ++count_;
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  fs::path folder_;
  std::size_t count_ = 0;
};

// ---- Puzzles.

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void add_wire_seeds(const Puzzle& puzzle, const std::string& target, const fs::path& test,
                    Corpora& out) {
  const std::string text = read_file(test);
  const std::string answers = read_file(fs::path(test).replace_extension(".ans"));
  const auto reader = puzzle.read_instances(text);
  const auto claims = puzzle.read_claims(answers);
  ParsedCase parsed;
  ParsedClaim claim;
  for (std::size_t i = 0; i < kCasesOfFile && reader->next(parsed); ++i) {
    claims->next(claim);
    if (parsed.instance.size() + 2 * claim.answer.size() > kWireBytesMax) continue;
    std::string other = claim.answer;
    if (!other.empty()) other.back() ^= 1;
    for (const std::string& claimed : {claim.answer, other}) {
      std::string seed;
      for (const std::string& part : {parsed.instance, claimed, claim.answer}) {
        append_part(part, seed);
      }
      out.add(target, seed);
    }
  }
}

void add_puzzle_seeds(const Puzzle& puzzle, Corpora& out) {
  std::string name(puzzle.name);
  const fs::path folder = fs::path(PUZZLED_CASES_DIR) / name;
  std::ranges::replace(name, '-', '_');
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (path.extension() != ".in" && path.extension() != ".ans") continue;
    if (entry.file_size() <= kTextBytesMax) out.add("text_" + name, read_file(path));
    if (path.extension() == ".in") add_wire_seeds(puzzle, "wire_" + name, path, out);
  }
}

// ---- Messages.

std::vector<proto::ClientRequest> client_requests() {
  std::vector<proto::ClientRequest> all = {test::open_job(1), test::add_chunk(2, {"one", "two"})};
  const auto add = [&]() -> proto::ClientRequest& {
    all.emplace_back().set_id(all.size());
    return all.back();
  };
  all[1].mutable_add_chunk()->set_keys(test::bytes16('k') + test::bytes16('l'));
  proto::SealJob& seal = *add().mutable_seal_job();
  seal.set_request_id(test::bytes16('a'));
  seal.set_chunk_count(1);
  seal.set_case_count(2);
  seal.set_file_count(1);
  seal.set_digest(wire::fold_digest(wire::kEmptyDigest, all[1].add_chunk().hash()));
  add().mutable_wait_job()->set_job(1);
  proto::CancelJob& cancel = *add().mutable_cancel_job();
  cancel.set_job(1);
  cancel.set_reason("no longer needed");
  add().mutable_get_job()->set_job(1);
  add().mutable_list_jobs()->set_limit(5);
  proto::ListResults& results = *add().mutable_list_results();
  results.set_job(1);
  results.set_label_glob("sub/[a-c]*?#1");
  results.add_verdicts(proto::SOLVED);
  results.set_with_answers(true);
  proto::GetCase& one = *add().mutable_get_case();
  one.set_job(1);
  one.set_case_no(2);
  add().mutable_list_files()->set_job(1);
  add().mutable_list_workers();
  add().mutable_get_version();
  add().mutable_get_demand()->set_slot_work_ms(100);
  add().mutable_mark_canary()->set_job(1);
  add().mutable_admit_worker()->set_name("w");
  proto::ControlWorkers& control = *add().mutable_control_workers();
  control.set_action(proto::ControlWorkers::DRAIN);
  control.add_names("w*");
  return all;
}

std::vector<proto::FromWorker> worker_messages() {
  proto::CaseResultList list;
  for (std::uint32_t i = 0; i < 2; ++i) {
    proto::CaseResult& result = *list.add_results();
    result.set_position(i);
    result.set_verdict(i == 0 ? proto::SOLVED : proto::CRASHED);
    result.set_time_us(5);
    result.set_memory_bytes(1000);
    result.set_has_answer(i == 0);
    if (i == 0) result.set_answer("answer");
    result.set_message(i == 0 ? "" : "signal 11");
    if (i == 0) result.set_key(test::bytes16('k'));
    result.set_cached(i == 0);
  }
  std::vector<proto::FromWorker> all = {test::ready(), test::results(list, 1, 1, 1)};
  proto::Return& back = *all.emplace_back().mutable_return_cases();
  back.set_boot(1);
  back.set_lease(1);
  back.set_attempt(1);
  back.add_positions()->set_count(1);
  back.set_capacity(2);
  proto::WorkerHeartbeat& beat = *all.emplace_back().mutable_heartbeat();
  beat.set_boot(1);
  beat.add_leases(1);
  beat.add_slots()->set_lease(1);
  beat.mutable_slots(0)->set_progress(3);
  beat.set_capacity(2);
  all.emplace_back().mutable_goodbye()->set_reason("drained");
  return all;
}

std::vector<proto::ToWorker> broker_messages() {
  std::vector<proto::ToWorker> all;
  proto::Dispatch& dispatch = *all.emplace_back().mutable_dispatch();
  dispatch.set_boot(1);
  dispatch.set_lease(1);
  dispatch.set_attempt(1);
  dispatch.set_job(1);
  dispatch.set_puzzle("bishops");
  dispatch.set_solver("staircase");
  *dispatch.mutable_limits() = test::open_job(1).open_job().spec().limits();
  proto::CaseList list;
  list.add_cases()->set_instance("one");
  list.mutable_cases(0)->set_expected("1");
  list.add_cases()->set_expected_error("1:1: found x");
  list.mutable_cases(1)->set_instance("two");
  list.add_cases()->set_invalid("2:1: found y");
  dispatch.set_cases(list.SerializeAsString());
  dispatch.set_case_count(3);
  proto::Welcome& welcome = *all.emplace_back().mutable_welcome();
  welcome.set_boot(1);
  welcome.set_heartbeat_interval_ms(1000);
  welcome.set_liveness_ms(3000);
  all.emplace_back().mutable_stored()->set_lease(1);
  all.emplace_back().mutable_stale()->set_lease(1);
  all.emplace_back().mutable_revoke()->add_leases(1);
  all.emplace_back().mutable_drain();
  all.emplace_back().mutable_heartbeat()->set_boot(1);
  all.emplace_back().mutable_refused()->set_message("too many workers");
  return all;
}

void add_message_seeds(Corpora& out) {
  for (const proto::ClientRequest& request : client_requests()) {
    out.add("codec_client", request.SerializeAsString());
    out.add("wire", test::frame(request));
    if (request.has_add_chunk()) out.add("wire", request.add_chunk().cases());
  }
  for (const proto::FromWorker& message : worker_messages()) {
    out.add("codec_worker", message.SerializeAsString());
    out.add("wire", test::frame(message));
  }
  for (const proto::ToWorker& message : broker_messages()) {
    out.add("host_codec", message.SerializeAsString());
    out.add("wire", wire::encode(wire::Role::kBroker, message));
    proto::CaseList list;
    if (!list.ParseFromString(message.dispatch().cases())) continue;
    for (const proto::Case& one : list.cases()) out.add("host_codec", one.SerializeAsString());
  }
}

// ---- Scripts for the broker.

class Script {
 public:
  Script& op(Op op, std::uint8_t peer, const std::string& body = "", bool commit = true) {
    std::uint8_t byte = op_byte(op, peer);
    // The same operation, 128 and more, for those that leave the commit to a later one.
    while (!commit && byte < 128) byte = static_cast<std::uint8_t>(byte + kOps * kPeers);
    bytes_.push_back(static_cast<char>(byte));
    append_part(body, bytes_);
    return *this;
  }
  Script& client(const proto::ClientRequest& request, bool commit = true) {
    return op(Op::kClient, 0, request.SerializeAsString(), commit);
  }
  Script& worker(const proto::FromWorker& message, std::uint8_t peer = 0) {
    return op(Op::kWorker, peer, message.SerializeAsString());
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

void add_broker_seeds(Corpora& out) {
  const auto requests = client_requests();
  const auto messages = worker_messages();
  const proto::ClientRequest& open = requests[0];
  const proto::ClientRequest& chunk = requests[1];
  const proto::ClientRequest& seal = requests[2];
  const proto::ClientRequest& wait = requests[3];
  const proto::ClientRequest& cancel = requests[4];
  const proto::FromWorker& ready = messages[0];
  const proto::FromWorker& results = messages[1];
  const auto submit = [&](bool commit) {
    Script script;
    script.client(open, commit).client(chunk, commit).client(seal, commit);
    return script;
  };
  for (const bool commit : {true, false}) {
    // Graded; sent twice; returned; revoked; a worker that dies; one that falls silent.
    out.add("broker", submit(commit).worker(ready).client(wait).worker(results).bytes());
    out.add("broker", submit(commit).worker(ready).worker(results).worker(results).bytes());
    out.add("broker", submit(commit).worker(ready).worker(messages[2]).worker(results).bytes());
    out.add("broker", submit(commit).worker(ready).client(cancel).worker(results).bytes());
    out.add("broker", submit(commit)
                          .worker(ready)
                          .worker(messages[3])
                          .op(Op::kGone, 0)
                          .worker(test::ready('v'), 1)
                          .bytes());
    out.add("broker", submit(commit)
                          .worker(ready)
                          .op(Op::kPause, 1)
                          .worker(results)
                          .worker(ready)
                          .worker(messages[4])
                          .bytes());
    out.add("broker", submit(commit).op(Op::kPause, 2).client(chunk).bytes());
  }
  // More than the window holds.
  Script large;
  large.client(open);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::vector<std::string> cases(8, std::string(200, 'x'));
    large.client(test::add_chunk(10 + i, cases, 'a', i, 1 + 8 * i));
  }
  large.worker(ready).worker(results).worker(results);
  out.add("broker", large.bytes());
}

// ---- Text that is shown.

void add_text_seeds(Corpora& out) {
  for (const char* text :
       {"plain", "a,\"b\"\n",
        "Gr\xc3\xbc\xc3\x9f"
        "e \xf0\x9f\x98\x80",
        "\x1b[2J\x1b]0;title\x07",
        "\xc2\x9b"
        "31m",
        "\xe2\x80\xae"
        "txt.exe",
        "\xff\xfe\r\b", "'; DROP TABLE jobs; --", "../../etc/passwd", "<script>"}) {
    out.add("client_text", text);
  }
  out.add("client_text", std::string("nul\0byte", 8));
  out.add("client_text", std::string(10'000, 'x'));
}

// ---- What squeue writes.

void add_queue_seeds(Corpora& out) {
  const auto jobs = [](const std::string& members) {
    return R"({"errors": [], "jobs": [{"name": "fleet", "user_name": "alice", )" + members + "}]}";
  };
  const std::vector<std::string> numbers = {"7", "5-9%2", "0-8:4,11", "2,5,12,118-120,13..."};
  for (const std::string& text : numbers) {
    out.add("slurm_queue", text);
    out.add("slurm_queue", jobs(R"("job_state": "PENDING", "array_job_id": 12, "submit_time": 100,
        "array_task_id": null, "state_reason": "Resources", "array_task_string": ")" +
                                text + '"'));
  }
  // As 22.05 writes it, as later versions do, and spoilt.
  for (const char* members :
       {R"("job_state": "RUNNING", "array_job_id": 12, "array_task_id": 3, "start_time": 200)",
        R"("job_state": ["RUNNING", "COMPLETING"], "array_job_id": {"set": true, "number": 12},
           "array_task_id": {"set": true, "number": 0}, "start_time": {"set": true, "number": 2})",
        R"("job_state": ["PENDING"], "state_description": "launch failed requeued held",
           "array_job_id": 12, "array_task_id": 1)",
        R"("job_state": "RUNNING", "array_job_id": {"set": 1, "number": 12})",
        R"("job_state": "RUNNING", "array_job_id": 12, "array_task_id": 3,
           "start_time": 9223372036854775807)",
        R"("job_state": "RUNNING", "array_job_id": 12, "array_task_id": -3)"}) {
    out.add("slurm_queue", jobs(members));
  }
  out.add("slurm_queue", R"({"errors": [{"description": "Unable to contact slurm controller"}]})");
}

}  // namespace
}  // namespace puzzled::fuzz

int main(int argc, char** argv) {
  using namespace puzzled;
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  fuzz::Corpora corpora(argv[1]);
  for (const Puzzle* puzzle : all_puzzles()) fuzz::add_puzzle_seeds(*puzzle, corpora);
  fuzz::add_message_seeds(corpora);
  fuzz::add_broker_seeds(corpora);
  fuzz::add_text_seeds(corpora);
  fuzz::add_queue_seeds(corpora);
  std::cout << corpora.count() << " seeds\n";
  return corpora.count() > 100 ? 0 : 1;
}
