#include "daemon/broker/trace.h"

#include <sstream>
#include <string_view>

namespace puzzled {
namespace {

// Appends "name=value" pairs.
class Line {
 public:
  explicit Line(std::string_view head) { out_ << head; }

  template <class Value>
  Line& add(std::string_view name, const Value& value) {
    out_ << ' ' << name << '=';
    put(value);
    return *this;
  }
  Line& flag(std::string_view name, bool is_set) {
    if (is_set) out_ << ' ' << name;
    return *this;
  }
  [[nodiscard]] std::string str() const { return out_.str(); }

 private:
  template <class Tag>
  void put(Id<Tag> id) {
    out_ << id.value;
  }
  void put(std::uint64_t number) { out_ << number; }
  void put(std::int64_t number) { out_ << number; }
  void put(std::uint32_t number) { out_ << number; }
  void put(std::int32_t number) { out_ << number; }
  void put(const std::string& text) { out_ << '"' << text << '"'; }
  void put(const Bytes16& bytes) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    for (const std::uint8_t b : {bytes[0], bytes[1]}) out_ << kDigits[b / 16] << kDigits[b % 16];
  }
  void put(const JobSpec& spec) {
    out_ << spec.puzzle << '/' << spec.solver;
    if (!spec.solver_version.empty()) out_ << '@' << spec.solver_version;
    out_ << " priority=" << spec.priority;
    for (const Label& label : spec.require) {
      out_ << " require=" << label.key << '=' << label.value;
    }
  }
  void put(const ChunkCasesPtr& cases) { out_ << (cases == nullptr ? 0 : cases->count()); }
  void put(PositionRange range) {
    out_ << range.first;
    if (range.count != 1) out_ << '-' << std::int64_t{range.first} + range.count - 1;
  }
  void put(const Label& label) { out_ << label.key << '=' << label.value; }
  void put(const message::ControlledWorker& worker) {
    out_ << worker.name << ':' << static_cast<int>(worker.state) << '/' << worker.leases;
    if (!worker.changed) out_ << " (as before)";
  }
  void put(const SolverOffer& offer) {
    out_ << offer.puzzle << '/' << offer.solver << '@' << offer.version;
  }
  void put(const event::BusySlot& slot) {
    out_ << slot.lease.value << ':' << slot.position << '+' << slot.progress;
  }
  void put(const FileEntry& file) {
    out_ << file.path << '@' << file.first_case << 'x' << file.case_count;
  }
  void put(const message::Slice& slice) { put(PositionRange{slice.first, slice.count}); }
  void put(const CaseResult& result) {
    out_ << result.position << ':' << verdict_short_name(result.verdict);
  }
  void put(const record::ResultRow& row) { out_ << row.case_no.value; }
  template <class Element>
  void put(const std::vector<Element>& list) {
    out_ << '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ << ' ';
      put(list[i]);
    }
    out_ << ']';
  }

  std::ostringstream out_;
};

Line from_client(std::string_view head, PeerId peer, std::uint64_t request) {
  Line line(head);
  line.add("peer", peer).add("request", request);
  return line;
}

// ---- Events.

std::string line(const event::OpenJob& e) {
  return from_client("OpenJob", e.peer, e.request)
      .add("id", e.request_id)
      .add("spec", e.spec)
      .str();
}
std::string line(const event::AddChunk& e) {
  return from_client("AddChunk", e.peer, e.request)
      .add("id", e.request_id)
      .add("chunk", e.chunk_no)
      .add("cases", e.cases)
      .add("files", e.files)
      .add("hash", e.hash)
      .str();
}
std::string line(const event::SealJob& e) {
  return from_client("SealJob", e.peer, e.request)
      .add("id", e.request_id)
      .add("chunks", e.chunk_count)
      .add("cases", e.case_count)
      .add("files", e.file_count)
      .str();
}
std::string line(const event::CancelJob& e) {
  return from_client("CancelJob", e.peer, e.request)
      .add("job", e.job)
      .add("reason", e.reason)
      .str();
}
std::string line(const event::WaitJob& e) {
  return from_client("WaitJob", e.peer, e.request).add("job", e.job).str();
}
std::string line(const event::MarkCanary& e) {
  return from_client("MarkCanary", e.peer, e.request).add("job", e.job).flag("off", e.off).str();
}
std::string line(const event::AdmitWorker& e) {
  return from_client("AdmitWorker", e.peer, e.request).add("name", e.name).str();
}
std::string line(const event::ClientGone& e) {
  return Line("ClientGone").add("peer", e.peer).str();
}
std::string line(const event::WorkerReady& e) {
  Line out("WorkerReady");
  out.add("peer", e.peer)
      .add("start", e.start_id)
      .add("name", e.name)
      .add("capacity", e.capacity)
      .add("offers", e.offers)
      .add("boot", e.boot)
      .add("leases", e.leases);
  if (!e.labels.empty()) out.add("labels", e.labels);
  return out.str();
}
std::string line(const event::WorkerSpoke& e) {
  return Line("WorkerSpoke").add("peer", e.peer).str();
}
std::string line(const event::WorkerResults& e) {
  return Line("WorkerResults")
      .add("peer", e.peer)
      .add("boot", e.boot)
      .add("lease", e.lease)
      .add("attempt", e.attempt)
      .add("part", e.part)
      .add("results", e.results.results)
      .add("busy_us", e.busy_us)
      .add("capacity", e.capacity)
      .str();
}
std::string line(const event::WorkerReturn& e) {
  return Line("WorkerReturn")
      .add("peer", e.peer)
      .add("boot", e.boot)
      .add("lease", e.lease)
      .add("attempt", e.attempt)
      .add("positions", e.positions)
      .add("capacity", e.capacity)
      .str();
}
std::string line(const event::WorkerHeartbeat& e) {
  return Line("WorkerHeartbeat")
      .add("peer", e.peer)
      .add("boot", e.boot)
      .add("leases", e.leases)
      .add("slots", e.slots)
      .add("capacity", e.capacity)
      .str();
}
std::string line(const event::WorkerGoodbye& e) {
  return Line("WorkerGoodbye").add("peer", e.peer).add("reason", e.reason).str();
}
std::string line(const event::WorkerGone& e) {
  return Line("WorkerGone").add("peer", e.peer).str();
}
std::string line(const event::ControlWorkers& e) {
  return from_client("ControlWorkers", e.peer, e.request)
      .add("action", std::string(event::name_of(e.action)))
      .add("names", e.patterns)
      .flag("all", e.all)
      .str();
}
std::string line(const event::DrainWorkers&) { return "DrainWorkers"; }
std::string line(const event::ChunkLoaded& e) {
  return Line("ChunkLoaded")
      .add("job", e.job)
      .add("chunk", e.chunk_no)
      .add("cases", e.cases)
      .add("done", e.done)
      .flag("known", !e.known.empty())
      .flag("more_known", e.more_known)
      .str();
}
std::string line(const event::ChunkCompared& e) {
  return from_client("ChunkCompared", e.peer, e.request)
      .add("chunk", e.chunk_no)
      .flag("same", e.same)
      .str();
}
std::string line(const event::CanariesLoaded& e) {
  return Line("CanariesLoaded")
      .add("job", e.job)
      .add("chunk", e.chunk_no)
      .add("cases", e.cases)
      .add("known", std::uint64_t{e.known.size()})
      .str();
}
std::string line(const event::RecordsDurable& e) {
  return Line("RecordsDurable").add("steps", e.steps).str();
}
std::string line(const event::IntakePaused& e) {
  return Line("IntakePaused").add("reason", e.reason).str();
}
std::string line(const event::IntakeResumed&) { return "IntakeResumed"; }
std::string line(const event::Sweep& e) {
  return Line("Sweep").add("after", e.after).add("durable_steps", e.durable_steps).str();
}
std::string line(const event::Tick&) { return "Tick"; }

// ---- Records.

std::string line(const record::InsertJob& r) {
  return Line("InsertJob").add("job", r.job).add("id", r.request_id).add("spec", *r.spec).str();
}
std::string line(const record::InsertChunk& r) {
  return Line("InsertChunk")
      .add("job", r.job)
      .add("chunk", r.chunk_no)
      .add("first_case", r.first_case)
      .add("cases", r.cases)
      .add("first_file", r.first_file_no)
      .add("files", r.files)
      .flag("keyed", !r.keys.empty())
      .str();
}
std::string line(const record::SealJob& r) { return Line("SealJob").add("job", r.job).str(); }
std::string line(const record::CancelJob& r) {
  return Line("CancelJob").add("job", r.job).add("reason", r.reason).str();
}
std::string line(const record::FinishJob& r) { return Line("FinishJob").add("job", r.job).str(); }
std::string line(const record::InsertWorker& r) {
  return Line("InsertWorker")
      .add("worker", r.worker)
      .add("start", r.start_id)
      .add("name", r.name)
      .str();
}
std::string line(const record::InsertResults& r) {
  Line out("InsertResults");
  out.add("job", r.job).add("worker", r.worker).add("solver_version", r.solver_version);
  out.add("attempt", r.attempt).add("cases", r.rows).add("results", r.results.results);
  if (r.stretch > 0) out.add("stretch", r.stretch);
  for (const CaseResult& result : r.results.results) {
    if (!result.message.empty()) out.add("message", std::string(result.message));
  }
  return out.str();
}
std::string line(const record::InsertCached& r) {
  return Line("InsertCached")
      .add("job", r.job)
      .add("chunk", r.chunk_no)
      .add("cases", std::uint64_t{r.answers.size()})
      .str();
}
std::string line(const record::InsertAttempt& r) {
  return Line("InsertAttempt")
      .add("job", r.job)
      .add("case", r.case_no)
      .add("attempt", r.attempt)
      .add("worker", r.worker)
      .add("start", r.start_id)
      .add("message", r.message)
      .str();
}
std::string line(const record::RetractAttempt& r) {
  return Line("RetractAttempt")
      .add("job", r.job)
      .add("case", r.case_no)
      .add("start", r.start_id)
      .str();
}

std::string line(const record::MarkCanary& r) {
  return Line("MarkCanary").add("job", r.job).flag("off", r.off).str();
}
std::string line(const record::ForgetStretch& r) {
  return Line("ForgetStretch").add("stretch", r.stretch).flag("proven", r.proven).str();
}
std::string line(const record::ReviseResults& r) {
  return Line("ReviseResults")
      .add("job", r.job)
      .add("chunk", r.chunk_no)
      .add("first_case", r.first_case)
      .add("count", r.count)
      .add("stretch", r.stretch)
      .str();
}
std::string line(const record::ReopenJob& r) { return Line("ReopenJob").add("job", r.job).str(); }
std::string line(const record::BarWorker& r) {
  return Line("BarWorker").add("name", r.barred.name).add("reason", r.barred.reason).str();
}
std::string line(const record::AdmitWorker& r) {
  return Line("AdmitWorker").add("name", r.name).str();
}

// ---- Messages.

std::string line(const message::Error& m) {
  return Line("Error")
      .add("request", m.request)
      .add("code", static_cast<std::uint32_t>(m.code))
      .add("text", m.text)
      .str();
}
std::string line(const message::JobOpened& m) {
  return Line("JobOpened")
      .add("request", m.request)
      .add("job", m.job)
      .add("next_chunk", m.next_chunk)
      .flag("sealed", m.sealed)
      .flag("keys_wanted", m.keys_wanted)
      .str();
}
std::string line(const message::ChunkAccepted& m) {
  return Line("ChunkAccepted").add("request", m.request).add("chunk", m.chunk_no).str();
}
std::string line(const message::JobSealed& m) {
  return Line("JobSealed").add("request", m.request).add("job", m.job).str();
}
std::string line(const message::JobCancelled& m) {
  return Line("JobCancelled").add("request", m.request).add("job", m.job).str();
}
std::string line(const message::JobDone& m) {
  return Line("JobDone").add("request", m.request).add("job", m.job).str();
}
std::string line(const message::WorkersControlled& m) {
  Line out("WorkersControlled");
  out.add("request", m.request).add("changed", m.changed).add("unchanged", m.unchanged);
  if (!m.unknown.empty()) out.add("unknown", m.unknown);
  return out.add("workers", m.workers).str();
}
std::string line(const message::CanaryMarked& m) {
  return Line("CanaryMarked").add("request", m.request).add("job", m.job).str();
}
std::string line(const message::WorkerAdmitted& m) {
  return Line("WorkerAdmitted").add("request", m.request).add("count", m.count).str();
}
std::string line(const message::Welcome& m) { return Line("Welcome").add("boot", m.boot).str(); }
std::string line(const message::Dispatch& m) {
  return Line("Dispatch")
      .add("boot", m.boot)
      .add("lease", m.lease)
      .add("attempt", m.attempt)
      .add("job", m.job)
      .add("slices", m.slices)
      .flag("alone", m.alone)
      .flag("keys_wanted", m.keys_wanted)
      .str();
}
std::string line(const message::Stored& m) {
  return Line("Stored").add("boot", m.boot).add("lease", m.lease).add("part", m.part).str();
}
std::string line(const message::Stale& m) {
  return Line("Stale").add("boot", m.boot).add("lease", m.lease).str();
}
std::string line(const message::Revoke& m) {
  return Line("Revoke").add("boot", m.boot).add("leases", m.leases).str();
}
std::string line(const message::Drain&) { return "Drain"; }
std::string line(const message::Heartbeat& m) {
  return Line("Heartbeat").add("boot", m.boot).str();
}
std::string line(const message::Refused& m) { return Line("Refused").add("text", m.text).str(); }

std::string line(const Send& send) {
  return std::visit(
      [&](const auto& side) {
        return std::visit(
            [&](const auto& m) { return "peer " + std::to_string(send.to.value) + ": " + line(m); },
            side);
      },
      send.what);
}

}  // namespace

std::string describe(const Event& event) {
  return std::visit([](const auto& e) { return line(e); }, event);
}

std::string describe(const Effects& effects) {
  std::string text;
  for (const Record& record : effects.records) {
    text += "  record " + std::visit([](const auto& r) { return line(r); }, record) + '\n';
  }
  for (const Send& send : effects.when_durable) {
    text += "  when step " + std::to_string(effects.step) + " is durable, to " + line(send) + '\n';
  }
  for (const Send& send : effects.now) text += "  now, to " + line(send) + '\n';
  for (const Finding& found : effects.findings) {
    text += "  " +
            Line("finding")
                .add("rule", std::string(rule_text(found.rule).name))
                .add("job", found.job)
                .add("text", found.text)
                .str() +
            '\n';
  }
  for (const LoadChunk& load : effects.loads) {
    text += "  " +
            Line("load")
                .add("job", load.job)
                .add("chunk", load.chunk_no)
                .add("first_case", load.first_case)
                .add("cases", load.case_count)
                .flag("with_done", load.with_done)
                .flag("look_up", load.look_up.has_value())
                .str() +
            '\n';
  }
  for (const LoadCanaries& load : effects.canary_loads) {
    text +=
        "  " + Line("load canaries").add("job", load.job).add("chunk", load.chunk_no).str() + '\n';
  }
  for (const std::string& notice : effects.notices) text += "  notice " + notice + '\n';
  for (const CompareChunk& compare : effects.comparisons) {
    text += "  " +
            Line("compare")
                .add("job", compare.job)
                .add("chunk", compare.chunk_no)
                .add("peer", compare.peer)
                .add("request", compare.request)
                .str() +
            '\n';
  }
  return text;
}

}  // namespace puzzled
