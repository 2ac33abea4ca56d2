// SPDX-License-Identifier: Apache-2.0
// "NCCL CALL ncclSend(7f31,1024,7,1,0x55,0x66)": what a program called, in its order, and what it grouped.
#include <vector>

#include "diag/evidence/text/nccl_message.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

std::vector<std::string_view> arguments_of(std::string_view inside) {
  std::vector<std::string_view> out;
  while (out.size() < 10) {
    const std::size_t comma = inside.find(',');
    out.push_back(trimmed(inside.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    inside.remove_prefix(comma + 1);
  }
  return out;
}

std::optional<std::int64_t> number_of(std::string_view text) { return take_number(text); }

}  // namespace

bool NcclCalls::read(const NcclMessage& message, Facts& facts) {
  const std::size_t open = message.text.find('(');
  if (!message.text.starts_with("nccl") || open == std::string_view::npos || open > 40) return false;
  const std::string_view name = message.text.substr(0, open);
  if (name.find(' ') != std::string_view::npos) return false;
  const std::string process = concat(message.who.host, ':', message.who.pid, ':', message.who.gpu);
  if (groups_.size() >= kWritersMax && !groups_.contains(process)) return true;
  Group& group = groups_[process];
  if (name == "ncclGroupStart") {
    if (group.depth++ == 0) group.id = ++last_group_;
    return true;
  }
  if (name == "ncclGroupEnd") {
    if (group.depth > 0) --group.depth;
    return true;
  }
  OpFact op;
  op.op = op_class_of(name);
  if (op.op == OpClass::unknown || op.op == OpClass::init) return true;
  const std::string_view inside = message.text.substr(open + 1);
  const auto arguments = arguments_of(inside.substr(0, inside.find(')')));
  const bool is_pair = op.op == OpClass::send || op.op == OpClass::recv;
  // send and recv: buffer, count, type, peer, communicator; others: two buffers, count, type, ...,
  // communicator.
  if (arguments.size() < 6) return true;
  const std::size_t count = is_pair ? 1 : 2;
  op.who = message.who;
  op.name = name;
  op.elements_in = number_of(arguments[count]);
  op.dtype = nccl_type_name(number_of(arguments[count + 1]));
  op.group = arguments[arguments.size() - 2].substr(0, 32);
  if (is_pair) op.peer = small_number(number_of(arguments[3]));
  if (op.op == OpClass::broadcast) op.root = small_number(number_of(arguments[4]));
  op.stream = arguments.back().substr(0, 32);
  if (group.depth > 0) op.coalesced = group.id;
  std::int64_t& calls = counts_[concat(process, '/', op.group)];
  if (counts_.size() > kWritersMax) return true;
  if (++calls == 1) {
    GroupFact communicator;
    communicator.key = op.group;
    communicator.backend = "nccl";
    communicator.who = op.who;
    facts.add(std::move(communicator));
  }
  (is_pair ? op.p2p_seq : op.seq) = calls;
  facts.add(std::move(op));
  return true;
}

}  // namespace ringcomm::inline v0::diag::text
