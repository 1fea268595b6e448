// Well-formed frames of every kind, for tests to send as they are or to spoil.
#pragma once

#include <string>
#include <vector>

#include "proto/client.pb.h"
#include "proto/wire.h"
#include "proto/worker.pb.h"

namespace puzzled::test {

inline std::string frame(const proto::ClientRequest& request) {
  return wire::encode(wire::Role::kClient, request);
}
inline std::string frame(const proto::FromWorker& message) {
  return wire::encode(wire::Role::kWorker, message);
}

inline std::string bytes16(char fill) { return std::string(16, fill); }

inline proto::ClientRequest open_job(std::uint64_t id, char request_id = 'a') {
  proto::ClientRequest request;
  request.set_id(id);
  proto::OpenJob& open = *request.mutable_open_job();
  open.set_request_id(bytes16(request_id));
  proto::JobSpec& spec = *open.mutable_spec();
  spec.set_name("evening run");
  spec.set_puzzle("bishops");
  spec.set_solver("staircase");
  spec.set_priority(-5);
  spec.mutable_limits()->set_time_limit_us(1'000'000);
  spec.mutable_limits()->set_memory_limit_bytes(1 << 20);
  spec.mutable_limits()->set_answer_bytes_max(1 << 20);
  return request;
}

// Puts the right hash into a chunk.
inline void hash_chunk(proto::AddChunk& chunk) {
  std::vector<std::string> files;
  for (const proto::File& file : chunk.files()) files.push_back(file.SerializeAsString());
  chunk.set_hash(wire::chunk_hash(chunk.cases(), files));
}

inline proto::ClientRequest add_chunk(std::uint64_t id, const std::vector<std::string>& instances,
                                      char request_id = 'a', std::uint32_t chunk_no = 0,
                                      std::uint64_t first_case = 1) {
  proto::ClientRequest request;
  request.set_id(id);
  proto::AddChunk& chunk = *request.mutable_add_chunk();
  chunk.set_request_id(bytes16(request_id));
  chunk.set_chunk_no(chunk_no);
  proto::File& file = *chunk.add_files();
  file.set_path("sub/grün" + std::to_string(chunk_no));
  file.set_first_case(first_case);
  file.set_case_count(instances.size());
  proto::CaseList list;
  for (const std::string& instance : instances) list.add_cases()->set_instance(instance);
  chunk.set_cases(list.SerializeAsString());
  chunk.set_case_count(static_cast<std::uint32_t>(instances.size()));
  hash_chunk(chunk);
  return request;
}

inline proto::FromWorker ready(char start_id = 'w') {
  proto::FromWorker message;
  proto::Ready& ready = *message.mutable_ready();
  ready.set_start_id(bytes16(start_id));
  ready.set_name("w1");
  ready.set_host("host");
  ready.set_pid(17);
  ready.set_slots(1);
  ready.set_capacity(2);
  ready.set_version("1.0");
  proto::SolverOffer& offer = *ready.add_offers();
  offer.set_puzzle("bishops");
  offer.set_solver("staircase");
  offer.set_version("7");
  return message;
}

inline proto::FromWorker results(const proto::CaseResultList& list, std::uint64_t boot,
                                 std::uint64_t lease, std::uint32_t attempt) {
  proto::FromWorker message;
  proto::Results& results = *message.mutable_results();
  results.set_boot(boot);
  results.set_lease(lease);
  results.set_attempt(attempt);
  results.set_results(list.SerializeAsString());
  results.set_busy_us(100);
  results.set_capacity(2);
  return message;
}

}  // namespace puzzled::test
