// SPDX-License-Identifier: Apache-2.0
// Direct access between GPUs over PCIe that is accepted but does not work: pairs that hang while pairs
// through host memory run, or a first collective that never ends over P2P.
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// "GPU0+GPU1 (PXB): hangs after the table header".
struct PairTest {
  int a = kUnknown;
  int b = kUnknown;
  bool is_through_host = false;  ///< SYS or NODE
  bool is_without_p2p = false;   ///< NCCL_P2P_DISABLE=1 was set
  bool hangs = false;
  bool works = false;
  const EventFact* event = nullptr;
};

std::vector<int> gpus_in(std::string_view text) {
  std::vector<int> gpus;
  for (std::size_t at = text.find("GPU"); at != std::string_view::npos; at = text.find("GPU", at + 3)) {
    const char* begin = text.data() + at + 3;
    const char* end = text.data() + text.size();
    if (begin != end && (*begin == ' ' || *begin == '_')) ++begin;
    int gpu = 0;
    if (std::from_chars(begin, end, gpu).ec == std::errc()) gpus.push_back(gpu);
    if (gpus.size() >= 8) break;
  }
  return gpus;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [text](std::string_view word) { return has_text(text, word); });
}

std::optional<PairTest> pair_test_of(const EventFact& event) {
  const std::string& text = event.text;
  const std::vector<int> gpus = gpus_in(text);
  if (gpus.size() != 2 || gpus[0] == gpus[1]) return {};
  PairTest test;
  test.a = std::min(gpus[0], gpus[1]);
  test.b = std::max(gpus[0], gpus[1]);
  test.event = &event;
  test.is_without_p2p = has_any(text, {"P2P_DISABLE=1"});
  test.is_through_host = has_any(text, {"SYS", "NODE"});
  test.hangs = has_any(text, {"hang", "hung", "stuck", "timeout", "timed out", "never", "no progress"});
  test.works = !test.hangs && has_any(text, {"ok", "pass", "busbw", "GB/s", "works", "fine", "success"});
  return test;
}

std::string pair_name(const PairTest& test) { return concat("GPU", test.a, "-GPU", test.b); }

/// "all_reduce_perf" of the command that a line shows.
std::string program_in(const SideEvidence& side) {
  for (const EventKind kind : {EventKind::test_result, EventKind::other}) {
    for (const EventFact* event : side.of(kind)) {
      for (const std::string& text : {event->text, event->detail}) {
        const std::size_t at = text.find("_perf");
        if (at == std::string::npos) continue;
        const std::size_t begin = text.find_last_of(" /#", at);
        return text.substr(begin == std::string::npos ? 0 : begin + 1,
                           at + 5 - (begin == std::string::npos ? 0 : begin + 1));
      }
    }
  }
  return {};
}

std::vector<PairTest> pair_tests_of(const SideEvidence& side) {
  std::vector<PairTest> tests;
  for (const EventFact* event : side.of(EventKind::test_result)) {
    const std::optional<PairTest> test = pair_test_of(*event);
    if (test) tests.push_back(*test);
  }
  return tests;
}

bool explain_pairs(const SideEvidence& side, std::vector<Candidate>& out) {
  const std::vector<PairTest> tests = pair_tests_of(side);
  std::set<std::string> broken;
  bool is_host_path_fine = false;
  bool is_cured = false;
  const EventFact* first = nullptr;
  for (const PairTest& test : tests) {
    // A pair that hangs even through host memory speaks against the direct path as the cause.
    if (test.hangs && (test.is_through_host || test.is_without_p2p)) return false;
    if (test.hangs) {
      broken.insert(pair_name(test));
      if (first == nullptr) first = test.event;
    }
    is_host_path_fine |= test.works && test.is_through_host;
    is_cured |= test.works && test.is_without_p2p;
  }
  if (first == nullptr || (!is_host_path_fine && !is_cured)) return false;
  Candidate candidate = candidate_of(side, FaultKind::p2p_path_broken, Grade::likely, Weight::strong,
                                     "pair_test", first, "a pair with direct access hangs");
  Verdict& verdict = candidate.verdict;
  for (const PairTest& test : tests) {
    if (test.event == first) continue;
    add_quote(side, verdict, test.event->source, test.event->text,
              test.hangs            ? ""
              : test.is_without_p2p ? "works without direct access"
                                    : "works through host memory");
  }
  std::string pairs;
  for (const std::string& pair : broken) pairs += concat(pairs.empty() ? "" : " and ", pair);
  verdict.suspects = {concat("PCIe P2P between ", pairs)};
  verdict.title = concat("Direct access over PCIe between ", pairs, " is accepted but does not work");
  verdict.why = {
      "Pairs under one PCIe switch, which use direct access, hang; pairs through host memory run."};
  if (is_cured) verdict.why.emplace_back("The same pair runs with NCCL_P2P_DISABLE=1.");
  verdict.counter_check = "Pairs through host memory are slower by design; that is not the defect.";
  verdict.op = program_in(side);
  out.push_back(std::move(candidate));
  return true;
}

bool is_first_collective_stuck(const GroupPicture& group, std::size_t& waiting) {
  waiting = 0;
  for (const MemberPicture& member : group.members) {
    if (member.completed.value_or(0) > 0) return false;
    if (!member.history.empty()) return false;
    if (member.open.empty()) continue;
    if (member.open.front()->seq.value_or(0) > 1) return false;
    ++waiting;
  }
  return waiting >= 2 && waiting == group.members.size();
}

/// Bridges that send peer traffic up to the root complex, as lspci shows them.
bool has_redirecting_bridge(const SideEvidence& side) {
  for (const Reading& reading : side.evidence().topology) {
    for (const PciDevice& device : reading.machine.pci) {
      if (device.acs && device.acs->redirects()) return true;
    }
  }
  return false;
}

}  // namespace

void explain_peer_access(const SideEvidence& side, std::vector<Candidate>& out) {
  if (explain_pairs(side, out)) return;
  const auto& used = side.of(EventKind::transport_used);
  const auto p2p = std::find_if(used.begin(), used.end(), [](const EventFact* event) {
    return has_text(event->detail, "P2P") || has_text(event->text, "via P2P");
  });
  const bool is_redirected = has_redirecting_bridge(side);
  if (p2p == used.end() && !is_redirected) return;
  // Traffic that also goes over the network may as well be stuck there.
  const bool has_network = std::any_of(used.begin(), used.end(), [](const EventFact* event) {
    return has_text(event->detail, "NET/") || has_text(event->text, "via NET");
  });
  if (has_network) return;
  for (const GroupPicture& group : side.picture().groups) {
    std::size_t waiting = 0;
    if (!is_first_collective_stuck(group, waiting)) continue;
    Candidate candidate = candidate_of(
        side, FaultKind::p2p_path_broken, is_redirected ? Grade::likely : Grade::possible, Weight::ordinary,
        "first_collective_over_p2p", p2p == used.end() ? nullptr : *p2p, "direct access is in use");
    Verdict& verdict = candidate.verdict;
    verdict.victims = side.others({});
    verdict.title = "The very first collective never ends, and GPUs use direct access";
    verdict.why = {
        concat("All ", waiting,
               " ranks entered the first operation and none ever completed: the path never worked.")};
    if (is_redirected) verdict.why.emplace_back("A PCIe bridge redirects peer traffic (ACSCtl ReqRedir+).");
    verdict.counter_check = "NCCL_P2P_DISABLE=1 as a probe tells: if it runs, the direct path is at fault.";
    set_place(verdict, side.stuck_place());
    out.push_back(std::move(candidate));
    return;
  }
}

}  // namespace ringcomm::inline v0::diag
