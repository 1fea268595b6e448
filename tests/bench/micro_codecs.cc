// Google Benchmark: what a frame costs the daemon and the worker, by the cases in it.
#include <benchmark/benchmark.h>

#include "daemon/net/codec.h"
#include "proto/client.pb.h"
#include "proto/wire.h"
#include "proto/worker.pb.h"
#include "workers/host/codec.h"

namespace puzzled {
namespace {

std::string case_list(std::int64_t cases) {
  std::string list;
  proto::Case one;
  one.set_instance(std::string(20, 'x'));
  for (std::int64_t i = 0; i < cases; ++i) wire::append_case(one.SerializeAsString(), list);
  return list;
}

void decode_chunk(benchmark::State& state) {
  proto::ClientRequest request;
  request.set_id(1);
  proto::AddChunk& chunk = *request.mutable_add_chunk();
  chunk.set_request_id(std::string(16, 'r'));
  chunk.set_case_count(static_cast<std::uint32_t>(state.range(0)));
  chunk.set_cases(case_list(state.range(0)));
  chunk.set_hash(wire::chunk_hash(chunk.cases(), {}));
  const std::string frame = wire::encode(wire::Role::kClient, request);
  for (auto step : state) {
    static_cast<void>(step);
    benchmark::DoNotOptimize(codec::decode_client(PeerId{1}, frame, {}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void decode_results(benchmark::State& state) {
  proto::FromWorker message;
  proto::CaseResultList list;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    proto::CaseResult& result = *list.add_results();
    result.set_position(static_cast<std::uint32_t>(i));
    result.set_verdict(proto::SOLVED);
    result.set_memory_bytes(4'096);
    result.set_has_answer(true);
    result.set_answer("\x0a\x02\x15\x72");
  }
  message.mutable_results()->set_boot(1);
  message.mutable_results()->set_lease(1);
  message.mutable_results()->set_results(list.SerializeAsString());
  const std::string frame = wire::encode(wire::Role::kWorker, message);
  for (auto step : state) {
    static_cast<void>(step);
    benchmark::DoNotOptimize(codec::decode_worker(PeerId{1}, frame, {}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

WorkerMessage dispatch(std::int64_t cases) {
  auto content = std::make_shared<ChunkCases>();
  content->bytes = case_list(cases);
  content->offsets = wire::split_cases(content->bytes).value();
  auto spec = std::make_shared<JobSpec>();
  spec->puzzle = "bishops";
  spec->solver = "staircase";
  const auto count = static_cast<std::uint32_t>(cases);
  return message::Dispatch{Boot{1}, LeaseId{1}, 1,     JobId{1},
                           spec,    false,      false, {{content, 0, count}}};
}

void encode_dispatch(benchmark::State& state) {
  const WorkerMessage message = dispatch(state.range(0));
  for (auto step : state) {
    static_cast<void>(step);
    benchmark::DoNotOptimize(codec::encode(message));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void decode_dispatch(benchmark::State& state) {
  const std::string frame = codec::encode(dispatch(state.range(0)));
  for (auto step : state) {
    static_cast<void>(step);
    benchmark::DoNotOptimize(host::decode_frame(frame));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(decode_chunk)->Arg(1)->Arg(1'000);
BENCHMARK(decode_results)->Arg(1)->Arg(1'000);
BENCHMARK(encode_dispatch)->Arg(1)->Arg(1'000);
BENCHMARK(decode_dispatch)->Arg(1)->Arg(1'000);

}  // namespace
}  // namespace puzzled
