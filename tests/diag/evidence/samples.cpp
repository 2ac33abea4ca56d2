// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/samples.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

namespace ringcomm::diag::samples {
namespace {

using Json = nlohmann::ordered_json;

Json time_of(long ns, bool is_pickle) { return ns == 0 && is_pickle ? Json() : Json(ns); }

Json entry_of(const Call& call, bool is_pickle) {
  Json entry;
  if (call.has_frames && is_pickle) {
    entry["frames"] = Json::array();
    entry["frames"].push_back({{"name", "all_reduce"}, {"filename", "torch/c10d.py"}, {"line", 2707}});
    entry["frames"].push_back({{"name", "step"}, {"filename", "train.py"}, {"line", 12}});
  }
  entry["record_id"] = 40;
  entry["pg_id"] = call.pg_id;
  entry["process_group"] = {call.group, call.description};
  entry["thread_name"] = "python3";
  entry["thread_id"] = "1399";
  entry["collective_seq_id"] = call.seq;
  entry["p2p_seq_id"] = call.p2p_seq;
  entry["op_id"] = call.seq;
  entry["profiling_name"] = call.name;
  entry["time_created_ns"] = call.created_ns;
  entry["input_sizes"] = {{4096, 16}, {8}};
  entry["input_dtypes"] = {"BFloat16", "Float"};
  entry["output_sizes"] = {{8192, 16}};
  entry["output_dtypes"] = {"BFloat16"};
  entry["state"] = call.state;
  entry["time_discovered_started_ns"] = time_of(call.started_ns, is_pickle);
  entry["time_discovered_completed_ns"] = time_of(call.completed_ns, is_pickle);
  entry["retired"] = call.is_retired;
  entry["timeout_ms"] = call.timeout_ms;
  entry["is_p2p"] = call.is_p2p;
  return entry;
}

Json document_of(const Sample& sample, bool is_pickle) {
  const auto count = [&](long value) { return is_pickle ? Json(value) : Json(std::to_string(value)); };
  Json document;
  document["version"] = sample.version;
  document["nccl_version"] = "2.27.5";
  document["pg_config"] = Json::object();
  for (const Group& group : sample.groups)
    document["pg_config"][group.name] = {
        {"name", group.name}, {"desc", group.description}, {"ranks", group.ranks}};
  document["pg_status"] = Json::object();
  for (const Counters& one : sample.status)
    document["pg_status"][std::to_string(one.pg_id)] = {{"last_enqueued_collective", count(one.enqueued)},
                                                        {"last_started_collective", count(one.started)},
                                                        {"last_completed_collective", count(one.completed)}};
  if (is_pickle || !sample.calls.empty()) document["entries"] = Json::array();
  for (const Call& call : sample.calls) document["entries"].push_back(entry_of(call, is_pickle));
  return document;
}

void put_little(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

/// Protocol 2 memoizes with BINPUT, protocol 4 with MEMOIZE and short strings.
class Pickler {
 public:
  explicit Pickler(int protocol) : protocol_(protocol) {
    out_ += '\x80';
    out_ += static_cast<char>(protocol);
  }
  std::string finish(const Json& value) {
    write(value, "");
    return out_ + '.';
  }

 private:
  void memo() {
    if (protocol_ >= 4) {
      out_ += '\x94';
    } else if (memos_ < 256) {
      out_ += 'q';
      out_ += static_cast<char>(memos_++);
    } else {
      out_ += 'r';
      put_little(out_, memos_++, 4);
    }
  }

  void text(const std::string& value) {
    if (protocol_ >= 4) {
      out_ += '\x8c';
      out_ += static_cast<char>(value.size());
    } else {
      out_ += 'X';
      put_little(out_, value.size(), 4);
    }
    out_ += value;
    memo();
  }

  void integer(std::int64_t value) {
    if (value >= 0 && value < 256) {
      out_ += 'K';
      put_little(out_, static_cast<std::uint64_t>(value), 1);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
      out_ += 'J';
      put_little(out_, static_cast<std::uint64_t>(value), 4);
    } else {
      out_ += '\x8a';
      out_ += '\x08';
      put_little(out_, static_cast<std::uint64_t>(value), 8);
    }
  }

  void write(const Json& value, const std::string& key) {
    if (value.is_null()) out_ += 'N';
    if (value.is_boolean()) out_ += value.get<bool>() ? '\x88' : '\x89';
    if (value.is_number_integer()) integer(value.get<std::int64_t>());
    if (value.is_number_float()) {
      std::uint64_t bits = 0;
      const double number = value.get<double>();
      std::memcpy(&bits, &number, 8);
      out_ += 'G';
      for (int i = 7; i >= 0; --i) out_ += static_cast<char>(bits >> (8 * i) & 0xff);
    }
    if (value.is_string()) text(value.get<std::string>());
    if (value.is_array() && key == "process_group") {
      for (const Json& item : value) write(item, "");
      out_ += '\x86';
      memo();
    } else if (value.is_array()) {
      out_ += ']';
      memo();
      if (!value.empty()) out_ += '(';
      for (const Json& item : value) write(item, "");
      if (!value.empty()) out_ += 'e';
    }
    if (value.is_object()) {
      out_ += '}';
      memo();
      if (!value.empty()) out_ += '(';
      for (const auto& item : value.items()) {
        text(item.key());
        write(item.value(), item.key());
      }
      if (!value.empty()) out_ += 'u';
    }
  }

  int protocol_;
  std::uint64_t memos_ = 0;
  std::string out_;
};

}  // namespace

std::string as_json(const Sample& sample) { return document_of(sample, false).dump(); }
std::string as_pickle(const Sample& sample) { return Pickler(2).finish(document_of(sample, true)); }
std::string json_to_pickle(std::string_view json) { return Pickler(4).finish(Json::parse(json)); }

HangEvidence read(const std::string& bytes, const std::string& name) {
  return read_hang_evidence(bytes, name);
}

}  // namespace ringcomm::diag::samples
