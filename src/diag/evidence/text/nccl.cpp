// SPDX-License-Identifier: Apache-2.0
// NCCL's own log: who is who (Init), what was called (COLL), how processes reach one another, and where an
// error came from.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "diag/evidence/text/nccl_message.hpp"
#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

// ncclDataType_t and ncclRedOp_t by number.
constexpr std::array<std::string_view, 12> kTypes{"int8",    "uint8",    "int32",      "uint32",
                                                  "int64",   "uint64",   "float16",    "float32",
                                                  "float64", "bfloat16", "float8e4m3", "float8e5m2"};
constexpr std::array<std::string_view, 5> kReductions{"sum", "prod", "max", "min", "avg"};

template <std::size_t N>
std::string word_of(const std::array<std::string_view, N>& words, std::optional<std::int64_t> number) {
  if (!number || *number < 0) return {};
  const auto index = static_cast<std::size_t>(*number);
  return index < N ? std::string(words[index]) : concat("type ", *number);
}

}  // namespace

std::string nccl_type_name(std::optional<std::int64_t> number) { return word_of(kTypes, number); }

namespace {

class NcclReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    if (!contains(line.text, "NCCL ")) return false;
    const auto message = nccl_message_of(line.text);
    if (!message) return read_version(line.text, {}, facts);
    if (message->who.pid == kUnknown && message->who.gpu == kUnknown && !message->is_warning) return false;
    if (message->is_warning) {
      read_nccl_warning(*message, facts);
      facts.format("nccl_info_log");
      return true;
    }
    if (calls_.read(*message, facts) || read_call(*message, facts)) {
      facts.format("nccl_coll_log");
      return true;
    }
    facts.format("nccl_info_log");
    if (read_init(*message, facts) || read_transport(*message, facts) || read_chain(*message, facts) ||
        read_version(message->text, message->who, facts))
      return true;
    read_settings(*message, facts);
    return true;
  }

  void end(Facts& facts) override {
    // A rank of the largest communicator is the job's rank.
    int largest = 0;
    for (const auto& [who, size] : members_) largest = std::max(largest, size);
    for (auto& [who, size] : members_) {
      Who identity = who;
      if (size == largest && identity.rank == kUnknown) identity.rank = identity.group_rank;
      if (size != largest && identity.rank == kUnknown) continue;
      identity.group_rank = kUnknown;
      facts.add_identity(std::move(identity));
    }
    auto& world = facts.evidence().world_size;
    if (largest > 0) world = std::max(world.value_or(0), largest);
  }

 private:
  static std::string process_of(const Who& who) { return concat(who.host, ':', who.pid, ':', who.gpu); }

  /// "AllReduce: opCount 28c sendbuff ... count 9984512 datatype 7 op 0 root 0 comm 0x55 [nranks=4] stream
  /// 0x5".
  bool read_call(const NcclMessage& message, Facts& facts) {
    const std::size_t at = message.text.find(": opCount ");
    if (at == std::string_view::npos || at > 64) return false;
    OpFact op;
    op.who = message.who;
    op.name = message.text.substr(0, at);
    op.op = op_class_of(op.name);
    op.seq = hex_after(message.text, "opCount ");
    op.is_hex_seq = true;
    op.elements_in = number_after(message.text, " count ");
    op.dtype = nccl_type_name(number_after(message.text, "datatype "));
    const auto root = number_after(message.text, " root ");
    if (op.op == OpClass::all_reduce || op.op == OpClass::reduce || op.op == OpClass::reduce_scatter)
      op.reduce_op = word_of(kReductions, number_after(message.text, " op "));
    if (op.op == OpClass::broadcast || op.op == OpClass::reduce) op.root = small_number(root);
    if (op.op == OpClass::send || op.op == OpClass::recv) op.peer = small_number(root);
    op.group = word_after(message.text, " comm ").substr(0, 32);
    op.stream = word_after(message.text, "stream ").substr(0, 32);
    if (const int rank = small_number(number_after(message.text, "globalrank ")); rank != kUnknown)
      op.who.rank = rank;
    const int size = small_number(number_after(message.text, "nranks="));
    const std::string key = concat(process_of(op.who), '/', op.group);
    if (const auto known = comms_.find(key); known != comms_.end()) {
      op.who.group_rank = known->second;
    } else if (comms_.size() < kWritersMax) {
      comms_.emplace(key, kUnknown);
      GroupFact group;
      group.key = op.group;
      group.who = op.who;
      group.backend = "nccl";
      if (size > 0) group.size = size;
      facts.add(std::move(group));
    }
    facts.add(std::move(op));
    return true;
  }

  /// "ncclCommInitRankConfig comm 0x55a0 rank 4 nranks 8 cudaDev 4 nvmlDev 4 busId 97000 commId 0x91 - Init
  /// COMPLETE".
  bool read_init(const NcclMessage& message, Facts& facts) {
    const auto rank = number_after(message.text, " rank ");
    const auto size = number_after(message.text, " nranks ");
    const std::string_view comm = word_after(message.text, "comm ");
    if (!rank || !size || !comm.starts_with("0x") || comm.size() > 32) return false;
    Who who = message.who;
    who.group_rank = small_number(rank);
    who.bus_id = bus_id_of(word_after(message.text, "busId "));
    if (const int device = small_number(number_after(message.text, "cudaDev ")); device != kUnknown)
      who.gpu = device;
    const std::string_view id = word_after(message.text, "commId ").substr(0, 64);
    EventFact event;
    event.kind = contains(message.text, "COMPLETE") ? EventKind::init_complete : EventKind::init_start;
    if (contains(message.text, "Abort")) event.kind = EventKind::aborted;
    if (contains(message.text, "Destroy")) event.kind = EventKind::other;
    event.who = who;
    event.group = comm;
    event.text = message.text.substr(0, kTextMax);
    event.detail = trimmed(message.text.substr(message.text.rfind(" - ") + 2)).substr(0, 40);
    facts.add(std::move(event));
    learn_member(who, std::string(comm), std::string(id), small_number(size), facts);
    return true;
  }

  void learn_member(const Who& who, const std::string& comm, const std::string& id, int size, Facts& facts) {
    if (comms_.size() >= kWritersMax) return;
    // COMPLETE repeats what START said, with the bus id in some versions only.
    if (!comms_.emplace(concat(process_of(who), '/', comm), who.group_rank).second) return;
    GroupFact group;
    group.key = comm;
    group.unique_id = id;
    group.backend = "nccl";
    group.who = who;
    if (size > 0) group.size = size;
    facts.add(std::move(group));
    members_.emplace_back(facts.completed(who), size);
  }

  /// "Channel 05/0 : 27[3] -> 35[3] [send] via NET/IB/3/GDRDMA": each way of a process once.
  bool read_transport(const NcclMessage& message, Facts& facts) {
    const auto via = after(message.text, " via ");
    if (!via || !message.text.starts_with("Channel ")) return false;
    std::string_view ends = after(message.text, ":").value_or(std::string_view());
    const auto from = take_number(ends);
    const auto arrow = after(ends, "->");
    if (!from || !arrow) return true;
    ends = *arrow;
    const auto to = take_number(ends);
    std::string_view rest = *via;
    const std::string_view way = take_word(rest).substr(0, 64);
    const bool is_receiver = contains(message.text, "[receive]") || contains(message.text, "[recv]");
    EventFact event;
    event.kind = EventKind::transport_used;
    event.detail = way;
    event.who = message.who;
    event.who.group_rank = small_number(is_receiver ? to : from);
    event.peer.group_rank = small_number(is_receiver ? from : to);
    event.text = message.text.substr(0, kTextMax);
    const std::string key =
        concat(process_of(event.who), '|', event.who.group_rank, '|', event.peer.group_rank, '|', way);
    if (ways_.size() < kWritersMax && !ways_.insert(key).second) return true;
    facts.add(std::move(event));
    return true;
  }

  /// "src/transport/p2p.cc:164 -> 1", "group.cc:72 -> 1 [Async thread]".
  bool read_chain(const NcclMessage& message, Facts& facts) {
    std::string_view rest = message.text;
    const std::string_view place = take_word(rest);
    if (!contains(place, ".") || !contains(place, ":") || !take(rest, "->")) return false;
    const auto code = take_number(rest);
    if (!code) return false;
    EventFact event;
    event.kind = EventKind::return_code;
    event.who = message.who;
    event.code = *code;
    event.detail = place.substr(0, 120);
    event.text = message.text.substr(0, kTextMax);
    facts.add(std::move(event));
    return true;
  }

  bool read_version(std::string_view text, const Who& who, Facts& facts) {
    if (!trimmed(text).starts_with("NCCL version ")) return false;
    std::string_view version = word_after(text, "NCCL version ");
    while (version.ends_with('.') || version.ends_with(',')) version.remove_suffix(1);
    if (version.empty() || !is_digit(version.front())) return false;
    if (contains(text, "compiled with CUDA")) return false;  // RAS
    if (versions_.size() < kWritersMax && !versions_.insert(concat(process_of(who), '|', version)).second)
      return true;
    if (EventFact* const event = facts.event(EventKind::version, version, who))
      event->text = text.substr(0, kTextMax);
    facts.format("nccl_info_log");
    return true;
  }

  void read_settings(const NcclMessage& message, Facts& facts) {
    if (const auto set = after(message.text, " set by environment to ")) {
      std::string_view words = message.text;
      const std::string_view name = take_word(words);
      std::string_view value = trimmed(*set);
      while (value.ends_with('.')) value.remove_suffix(1);
      facts.event(EventKind::env_set, concat(name.substr(0, 80), '=', value.substr(0, 200)), message.who);
      return;
    }
    const auto bootstrap = after(message.text, "Bootstrap : Using ");
    if (!bootstrap) return;
    std::string_view rest = *bootstrap;
    const std::string_view interface = take_word(rest, ":").substr(0, 64);
    if (!take(rest, ":")) return;
    Who who = message.who;
    who.address = peer_of(rest).address;
    facts.event(EventKind::other, concat("interface ", interface, ' ', who.address), who);
    facts.add_identity(std::move(who));
  }

  NcclCalls calls_{};
  std::map<std::string, int> comms_{};  ///< process and communicator -> group rank, where Init told it
  std::vector<std::pair<Who, int>> members_{};
  std::set<std::string> ways_{};
  std::set<std::string> versions_{};
};

}  // namespace

std::unique_ptr<LineReader> make_nccl_reader() { return std::make_unique<NcclReader>(); }

}  // namespace ringcomm::inline v0::diag::text
