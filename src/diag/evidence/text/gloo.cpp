// SPDX-License-Identifier: Apache-2.0
// Gloo names neither the group nor the peer that it waited for.
#include <set>
#include <string>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr std::string_view kGroup = "gloo";

class GlooReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    const bool is_gloo =
        contains(line.text, "gloo") || contains(line.text, "Gloo") || contains(line.text, "GLOO");
    const auto waited = number_after(line.text, "Timed out waiting ");
    const bool is_closed =
        contains(line.text, "onnection closed by peer") || contains(line.text, "onnection reset by peer");
    if (!is_gloo && !(waited && contains(line.text, "operation to complete"))) return false;
    if (waited) {
      add_timeout(line.text, *waited, facts);
    } else if (is_closed || contains(line.text, "onnection refused") || contains(line.text, "ead error") ||
               contains(line.text, "rite error")) {
      EventFact event;
      event.kind = is_closed ? EventKind::peer_closed : EventKind::connect_failed;
      event.group = kGroup;
      event.detail = "gloo";
      if (const auto peer = after(line.text, "by peer")) event.peer = peer_of(*peer);
      if (const auto pair = after(line.text, "remote=[")) event.peer = peer_of(*pair);
      facts.add(std::move(event));
    } else if (contains(line.text, "onnect") && contains_ignoring_case(line.text, "timeout")) {
      EventFact event;
      event.kind = EventKind::connect_failed;
      event.group = kGroup;
      event.detail = "gloo";
      facts.add(std::move(event));
    } else {
      return false;
    }
    facts.format("gloo_log");
    return true;
  }

 private:
  /// "Timed out waiting 1800000ms for recv operation to complete".
  void add_timeout(std::string_view text, std::int64_t milliseconds, Facts& facts) {
    std::string_view rest = after(text, " for ").value_or(std::string_view());
    const std::string_view call = take_word(rest).substr(0, 20);
    OpFact op;
    op.name = concat(call, " inside a gloo collective");
    op.op = op_class_of(call);
    op.group = kGroup;
    op.is_timed_out = true;
    op.completed = Tri::no;
    op.timeout_ms = milliseconds;
    const Who who = facts.completed({});
    if (groups_.size() < kWritersMax &&
        groups_.insert(concat(who.rank, '|', who.name, '|', who.pid, '|', who.host)).second) {
      GroupFact group;
      group.key = group.backend = kGroup;
      group.description = "a gloo group";
      facts.add(std::move(group));
    }
    facts.add(std::move(op));
    EventFact event;
    event.kind = EventKind::timeout;
    event.group = kGroup;
    event.code = milliseconds;
    event.detail = "gloo";
    facts.add(std::move(event));
  }

  std::set<std::string> groups_{};
};

}  // namespace

std::unique_ptr<LineReader> make_gloo_reader() { return std::make_unique<GlooReader>(); }

}  // namespace ringcomm::inline v0::diag::text
