// SPDX-License-Identifier: Apache-2.0
#include "hang_json.hpp"

#include <charconv>

#include "json_value.hpp"
#include "ringcomm/version.hpp"

namespace ringcomm::doctor {
namespace {

/// A rank is a number; where no rank can be known it has a name.
Json label_json(const std::string& label) {
  int number = 0;
  const char* const end = label.data() + label.size();
  const auto [last, error] = std::from_chars(label.data(), end, number);
  const bool is_number =
      error == std::errc() && last == end && (label == "0" || (label[0] != '0' && label[0] != '-'));
  return is_number ? Json(number) : json_of(label);
}

Json labels_json(const std::vector<std::string>& labels) {
  Json out = Json::array();
  for (const std::string& label : labels) out.push_back(label_json(label));
  return out;
}

Json evidence_json(const std::vector<diag::Quote>& quotes) {
  Json out = Json::array();
  for (const diag::Quote& quote : quotes) {
    Json row = json_of(quote.where);
    row["text"] = quote.text;
    row["says"] = json_of(quote.says);
    out.push_back(std::move(row));
  }
  return out;
}

Json groups_json(const std::vector<diag::GroupState>& groups) {
  Json out = Json::array();
  for (const diag::GroupState& group : groups) {
    Json members = Json::array();
    for (const diag::MemberState& member : group.members) {
      members.push_back({{"rank", label_json(member.rank)},
                         {"enqueued", json_of(member.enqueued)},
                         {"started", json_of(member.started)},
                         {"completed", json_of(member.completed)},
                         {"op", json_of(member.op)},
                         {"waiting", member.is_waiting},
                         {"has_evidence", member.has_evidence}});
    }
    out.push_back({{"name", group.name},
                   {"size", group.size < 0 ? Json(nullptr) : Json(group.size)},
                   {"stuck_op", json_of(group.stuck_op)},
                   {"stuck_seq", json_of(group.stuck_seq)},
                   {"members", std::move(members)}});
  }
  return out;
}

Json edges_json(const std::vector<diag::WaitEdge>& edges) {
  Json out = Json::array();
  for (const diag::WaitEdge& edge : edges) {
    out.push_back({{"from", label_json(edge.from)},
                   {"to", label_json(edge.to)},
                   {"group", json_of(edge.group)},
                   {"op", json_of(edge.op)}});
  }
  return out;
}

Json files_json(const std::vector<diag::FileRead>& files) {
  Json out = Json::array();
  for (const diag::FileRead& file : files) {
    out.push_back({{"path", file.path},
                   {"formats", file.formats},
                   {"ranks", file.ranks},
                   {"lines_skipped", file.lines_skipped},
                   {"note", json_of(file.note)}});
  }
  return out;
}

Json unread_json(const std::vector<UnreadFile>& unread) {
  Json out = Json::array();
  for (const UnreadFile& file : unread)
    out.push_back({{"file", file.file}, {"reason", file.status.message()}});
  return out;
}

}  // namespace

std::string hang_json(const diag::Verdict& verdict, const diag::HangEvidence& evidence, int exit_code) {
  const Json json{{"schema", kHangSchema},
                  {"tool", "ringcomm-doctor hang"},
                  {"version", RINGCOMM_VERSION},
                  {"fault_kind", name_of(verdict.kind)},
                  {"meaning", sentence_of(verdict.kind)},
                  {"confidence", name_of(verdict.grade)},
                  {"culprit_ranks", labels_json(verdict.culprits)},
                  {"suspect_ranks", labels_json(verdict.suspects)},
                  {"victim_ranks", labels_json(verdict.victims)},
                  {"group", json_of(verdict.group)},
                  {"op", json_of(verdict.op)},
                  {"seq", json_of(verdict.seq)},
                  {"title", json_of(verdict.title)},
                  {"why", verdict.why},
                  {"evidence", evidence_json(verdict.evidence)},
                  {"counter_check", json_of(verdict.counter_check)},
                  {"fix", json_of(verdict.fix)},
                  {"collect", verdict.collect},
                  {"ranks_without_evidence", labels_json(verdict.ranks_without_evidence)},
                  {"world_size", json_of(verdict.world_size)},
                  {"groups", groups_json(verdict.groups)},
                  {"graph", edges_json(verdict.graph)},
                  {"cycle", edges_json(verdict.cycle)},
                  {"files", files_json(evidence.files)},
                  {"unread", unread_json(evidence.unread)},
                  {"exit_code", exit_code}};
  // Evidence is foreign text: what is not UTF-8 becomes U+FFFD instead of an exception.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ringcomm::doctor
