// SPDX-License-Identifier: Apache-2.0
#include "topo_report.hpp"

#include <algorithm>

#include "cluster_text.hpp"
#include "compare_text.hpp"
#include "finding_text.hpp"
#include "machine_text.hpp"
#include "path_text.hpp"
#include "ring_text.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

std::string header(const TopoReport& report) {
  std::vector<std::string> names;
  for (const SourceFile& source : report.sources) {
    const std::size_t slash = source.file.rfind('/');
    const std::string name = slash == std::string::npos ? source.file : source.file.substr(slash + 1);
    names.push_back(source.format == "live" ? source.file : concat(name, " (", source.format, ")"));
  }
  const std::string read = names.empty() ? "nothing read" : list_of(names, 6);
  const Machine& machine = report.input.evidence.machine;
  std::string out = wrap("ringcomm-doctor topo: ", read);
  if (names.empty()) return out;
  for (const Host& host : machine.hosts) {
    if (!host.product.empty())
      out += wrap("", concat(host.product, host.is_virtual.value_or(false) ? " (virtual machine)" : ""));
  }
  return out + wrap("", summary_of(machine));
}

}  // namespace

std::string topo_text(const TopoReport& report, const TextStyle& style, std::optional<Rails> rails) {
  const TopologyCase& input = report.input;
  std::string out = header(report);
  if (!report.sources.empty()) {
    out += machine_text(input, style);
    out += path_text(input, style);
    out += ring_text(input, style);
    if (rails) out += cluster_text(input, *rails, style);
    out += compare_text(input, report.comparison, style);
    out += finding_text(report.findings, style);
  }
  out += unread_text(input, style);
  out += verdict_text(input, report.findings, report.exit_code);
  return printable(out, style);
}

std::string formats_text() {
  const std::vector<EvidenceFormat> formats = evidence_formats();
  std::size_t width = 0;
  for (const EvidenceFormat& format : formats) width = std::max(width, format.name.size());
  std::string out;
  for (const EvidenceFormat& format : formats)
    out += wrap(concat(fit(format.name, width), "  "), format.made_by);
  return out;
}

}  // namespace ringcomm::doctor
