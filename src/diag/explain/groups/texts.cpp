// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/groups/texts.hpp"

#include <algorithm>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kRanksSpelt = 16;
constexpr std::size_t kGroupsShown = 16, kMembersShown = 64;

std::optional<std::int64_t> product(const std::vector<std::vector<std::int64_t>>& shapes) {
  if (shapes.empty()) return std::nullopt;
  std::int64_t sum = 0;
  for (const auto& shape : shapes) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) {
      if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, elements, &sum)) return std::nullopt;
  }
  return sum;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::size_t i = 0; i < shape.size() && i < 8; ++i) text += concat(i == 0 ? "" : "x", shape[i]);
  return text;
}

}  // namespace

bool is_p2p(const OpFact& op) {
  return op.op == OpClass::send || op.op == OpClass::recv ||
         (op.op == OpClass::coalesced && op.p2p_seq.value_or(0) > 0);
}

bool is_rooted(OpClass op) {
  return op == OpClass::broadcast || op == OpClass::reduce || op == OpClass::gather || op == OpClass::scatter;
}

bool is_variable(OpClass op) {
  return op == OpClass::all_to_all || op == OpClass::gather || op == OpClass::scatter ||
         op == OpClass::send || op == OpClass::recv || op == OpClass::ring_rotate ||
         op == OpClass::ring_attention || op == OpClass::split || op == OpClass::init;
}

std::optional<std::int64_t> elements_in(const OpFact& op) {
  return op.elements_in ? op.elements_in : product(op.input_sizes);
}

std::optional<std::int64_t> elements_out(const OpFact& op) {
  return op.elements_out ? op.elements_out : product(op.output_sizes);
}

std::string op_name(const OpFact& op) {
  if (op.name.empty()) return std::string(name_of(op.op));
  const std::size_t colon = op.name.find(':');
  return colon == std::string::npos || colon + 1 == op.name.size() ? op.name : op.name.substr(colon + 1);
}

std::string op_text(const OpFact& op) {
  std::string text = op_name(op);
  if (is_variable(op.op)) return text;
  if (op.input_sizes.size() == 1 && !op.input_sizes.front().empty())
    return concat(text, '(', shape_text(op.input_sizes.front()), ')');
  if (!op.elements_in) return text;
  if (!op.elements_out || *op.elements_out == *op.elements_in) return concat(text, '(', *op.elements_in, ')');
  return concat(text, '(', *op.elements_in, " -> ", *op.elements_out, ')');
}

std::string seq_text(const OpFact& op) {
  if (is_p2p(op) && op.p2p_seq) return concat("p2p ", *op.p2p_seq);
  if (!op.seq) return {};
  if (!op.is_hex_seq) return std::to_string(*op.seq);
  std::string digits;
  for (auto rest = static_cast<std::uint64_t>(*op.seq); rest != 0 || digits.empty(); rest /= 16)
    digits.insert(digits.begin(), "0123456789abcdef"[rest % 16]);
  return concat("0x", digits);
}

std::string ranks_text(const std::vector<std::string>& labels) {
  if (labels.empty()) return "nobody";
  const bool is_number = std::all_of(labels.begin(), labels.end(), [](const std::string& label) {
    return label.find_first_not_of("0123456789") == std::string::npos;
  });
  std::string text = !is_number ? "" : labels.size() == 1 ? "rank " : "ranks ";
  const std::size_t shown = std::min(labels.size(), kRanksSpelt);
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == shown && shown == labels.size();
    text += concat(i == 0 ? "" : is_last ? " and " : ", ", labels[i]);
  }
  if (shown < labels.size()) text += concat(" and ", labels.size() - shown, " more");
  return text;
}

std::vector<std::string> labels_of(const JobPicture& picture, std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<std::string> labels;
  for (const int rank : ranks) {
    if (rank >= 0) labels.push_back(picture.ranks[static_cast<std::size_t>(rank)].label);
  }
  return labels;
}

std::vector<std::string> others(const JobPicture& picture, const std::vector<int>& but) {
  std::vector<char> is_out(picture.ranks.size(), 0);
  for (const int rank : but) {
    if (rank >= 0) is_out[static_cast<std::size_t>(rank)] = 1;
  }
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < picture.ranks.size(); ++i) {
    if (is_out[i] == 0 && picture.ranks[i].has_evidence) labels.push_back(picture.ranks[i].label);
  }
  return labels;
}

Quote quote_of(const HangEvidence& evidence, const Source& source, std::string text, std::string says) {
  Quote quote;
  const bool is_known = source.file >= 0 && static_cast<std::size_t>(source.file) < evidence.files.size();
  quote.where.file = is_known ? evidence.files[static_cast<std::size_t>(source.file)].path : std::string();
  quote.where.line = source.line;
  quote.text = text.size() <= 200 ? std::move(text) : text.substr(0, 200);
  quote.says = std::move(says);
  return quote;
}

Quote quote_of(const HangEvidence& evidence, const OpFact& op, std::string says) {
  std::string text = op_text(op);
  const std::string seq = seq_text(op);
  if (!seq.empty()) text += concat(" seq ", seq);
  if (op.completed == Tri::no) text += ", not completed";
  return quote_of(evidence, op.source, std::move(text), std::move(says));
}

void describe_groups(const JobPicture& picture, Verdict& verdict) {
  std::vector<std::pair<std::size_t, const GroupPicture*>> order;
  for (const GroupPicture& group : picture.groups) {
    const auto waiting = std::count_if(group.members.begin(), group.members.end(),
                                       [](const MemberPicture& member) { return !member.open.empty(); });
    order.emplace_back(static_cast<std::size_t>(waiting), &group);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t g = 0; g < order.size() && g < kGroupsShown; ++g) {
    const GroupPicture& group = *order[g].second;
    GroupState state;
    state.name = group.label;
    state.size = group.size;
    for (const MemberPicture& member : group.members) {
      if (state.members.size() == kMembersShown) break;
      if (member.rank == kUnknown) continue;
      MemberState& out = state.members.emplace_back();
      const RankPicture& rank = picture.ranks[static_cast<std::size_t>(member.rank)];
      out.rank = rank.label;
      out.enqueued = member.enqueued;
      out.started = member.started;
      out.completed = member.completed;
      out.is_waiting = !member.open.empty();
      out.has_evidence = rank.has_evidence;
      if (member.open.empty()) continue;
      out.op = op_text(*member.open.front());
      if (state.stuck_op.empty()) {
        state.stuck_op = out.op;
        state.stuck_seq = seq_text(*member.open.front());
      }
    }
    verdict.groups.push_back(std::move(state));
  }
}

}  // namespace ringcomm::inline v0::diag
