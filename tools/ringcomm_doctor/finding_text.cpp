// SPDX-License-Identifier: Apache-2.0
#include "finding_text.hpp"

#include <algorithm>
#include <map>

#include "labels.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

constexpr std::size_t kEvidenceShown = 2;
constexpr std::size_t kSkippedShown = 100;

std::string word_of(const Finding& finding) {
  if (finding.state == CheckState::ok) return "ok";
  return finding.severity == Severity::failure   ? "FAIL"
         : finding.severity == Severity::warning ? "WARN"
                                                 : "info";
}

std::string place_of(const Where& where) {
  if (where.file.empty()) return {};
  const std::size_t slash = where.file.rfind('/');
  const bool is_system = where.file.starts_with("/sys") || where.file.starts_with("/proc");
  const std::string name =
      is_system || slash == std::string::npos ? where.file : where.file.substr(slash + 1);
  return concat(" (", Where{name, where.line}.to_text(), ")");
}

std::string evidence_of(const Finding& finding, const std::string& margin, const TextStyle& style) {
  std::string out;
  for (std::size_t i = 0; i < finding.evidence.size(); ++i) {
    if (i == kEvidenceShown && !style.verbose) {
      return out + concat(margin, "       and ", finding.evidence.size() - i, " more (--verbose)\n");
    }
    const FindingEvidence& evidence = finding.evidence[i];
    const std::string wanted = evidence.wanted.empty() ? std::string() : concat("; wanted ", evidence.wanted);
    out += wrap(concat(margin, "read   "), concat(evidence.read, wanted, place_of(evidence.where)));
  }
  return out;
}

std::string marks_of(const Finding& finding) {
  if (finding.needs_root && finding.needs_reboot) return " [root, reboot]";
  if (finding.needs_root) return " [root]";
  return finding.needs_reboot ? " [reboot]" : "";
}

std::string one_finding(const Finding& finding, bool is_follower, const TextStyle& style) {
  const std::string margin = is_follower ? "            " : "          ";
  const std::string first =
      is_follower ? concat("    ", fit(word_of(finding), 8)) : concat("  ", fit(word_of(finding), 8));
  std::string out = wrap(first, concat(finding.title, " [", finding.id, "]"));
  out += evidence_of(finding, margin, style);
  if (!finding.fix.empty()) out += wrap(concat(margin, "fix    "), concat(finding.fix, marks_of(finding)));
  return out;
}

std::size_t count(const std::vector<Finding>& findings, CheckState state, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.state == state && (state == CheckState::unknown || finding.severity == severity);
      }));
}

std::string tally(const std::vector<Finding>& findings) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t number, std::string_view noun) {
    if (number > 0) parts.push_back(count_of(number, noun));
  };
  add(count(findings, CheckState::problem, Severity::failure), "failure");
  add(count(findings, CheckState::problem, Severity::warning), "warning");
  add(count(findings, CheckState::problem, Severity::info), "remark");
  return list_of(parts);
}

std::size_t count_unknown(const std::vector<Finding>& findings) {
  return count(findings, CheckState::unknown, Severity::info);
}

std::string unknown_note(const std::vector<Finding>& findings) {
  const std::size_t unknown = count_unknown(findings);
  return unknown > 0 ? concat(", ", unknown, " unknown") : std::string();
}

/// Checks that lack evidence: their names, and the few commands that would settle them.
std::string unknown_findings(const std::vector<Finding>& findings, const TextStyle& style) {
  const std::size_t number = count_unknown(findings);
  if (number == 0) return {};
  std::vector<std::string> ids;
  std::string fixes;
  for (const Finding& finding : findings) {
    if (finding.state != CheckState::unknown) continue;
    ids.push_back(finding.id);
    if (style.verbose) fixes += wrap("    ", concat(finding.id, ": ", finding.title));
    if (!finding.fix.empty()) fixes += wrap("  run     ", concat(finding.fix, marks_of(finding)));
  }
  const std::string title =
      concat("Not known: ", count_of(number, "check"), style.verbose ? "" : " (--verbose says why)", "\n");
  return concat(title, style.verbose ? std::string() : wrap("  ", list_of(ids, 3)), fixes);
}

bool has_root(const std::vector<Finding>& findings, const Finding& finding) {
  return !finding.cause.empty() && std::any_of(findings.begin(), findings.end(), [&](const Finding& other) {
    return other.id == finding.cause && &other != &finding;
  });
}

}  // namespace

std::string finding_text(const std::vector<Finding>& findings, const TextStyle& style) {
  const std::string problems = tally(findings);
  std::string out = problems.empty() ? std::string("Findings: none\n") : concat("Findings: ", problems, "\n");
  for (const Finding& finding : findings) {
    if (finding.state != CheckState::unknown) out += one_finding(finding, has_root(findings, finding), style);
  }
  return out + unknown_findings(findings, style);
}

std::string unread_text(const TopologyCase& input, const TextStyle& style) {
  std::string out;
  for (const UnreadFile& file : input.unread) {
    const bool is_named = file.status.message().starts_with(file.file);
    out += wrap("  not read  ", concat(is_named ? "" : concat(file.file, ": "), file.status.message()));
  }
  for (const Contradiction& item : input.evidence.contradictions) {  // also a finding, in fewer words
    if (!style.verbose) break;
    out += wrap("  differs   ", concat(item.subject, ": ", item.first, place_of(item.first_where), " and ",
                                       item.second, place_of(item.second_where), "; the first is used"));
  }
  if (!input.paths.left_out.empty())
    out += wrap("  left out  ", concat(count_of(input.paths.left_out.size(), "device"), " beyond the first ",
                                       kPathDevicesMax, ": no path, ring or NIC is planned for them"));
  const std::vector<Skipped>& skipped = input.evidence.skipped;
  if (!skipped.empty() && !style.verbose)
    out += concat("  skipped   ", skipped.size(), skipped.size() == 1 ? " line or value" : " lines or values",
                  " (--verbose gives the reason)\n");
  for (std::size_t i = 0; style.verbose && i < skipped.size() && i < kSkippedShown; ++i) {
    out += wrap("  skipped   ", concat(skipped[i].where.to_text(), ": ", skipped[i].reason,
                                       skipped[i].text.empty() ? "" : ": ", skipped[i].text));
  }
  if (style.verbose && skipped.size() > kSkippedShown)
    out += concat("  skipped   and ", skipped.size() - kSkippedShown, " more\n");
  return out.empty() ? out : concat("Evidence\n", out);
}

std::string verdict_text(const TopologyCase& input, const std::vector<Finding>& findings, int exit_code) {
  const std::string code = concat(" (exit code ", exit_code, ")\n");
  const auto worst = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.state == CheckState::problem && finding.severity != Severity::info;
  });
  if (worst != findings.end()) {
    const std::string unread = exit_code == kUnreadable ? ", evidence not read" : "";
    return wrap("Verdict: ",
                concat(tally(findings), unknown_note(findings), unread, "; begin with ", worst->id, code));
  }
  if (exit_code == kUnreadable) return concat("Verdict: evidence could not be read", code);
  const MachineRings& rings = input.rings;
  const std::size_t ranks = rings.graph.devices.size();
  const std::string what =
      ranks == 0   ? std::string("nothing wrong in what was read, which has no device to order")
      : ranks == 1 ? std::string("ok, nothing to order")
      : !is_any_edge_known(rings)
          ? std::string("nothing wrong in what was read, which has no path between the devices")
          : concat("ok, slowest edge of the ring ", slowest_level(rings.graph, rings.best.order));
  return wrap("Verdict: ", concat(what, unknown_note(findings), code));
}

}  // namespace ringcomm::doctor
