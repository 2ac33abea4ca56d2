// SPDX-License-Identifier: Apache-2.0
#include "path_text.hpp"

#include <algorithm>
#include <map>

#include "labels.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

/// A matrix of more rows in which all pairs are alike says less than a sentence.
constexpr std::size_t kUniformRows = 8;

std::vector<std::size_t> devices_of(const PathMatrix& paths, PartKind kind) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < paths.devices.size(); ++i) {
    if (paths.devices[i].kind == kind) out.push_back(i);
  }
  return out;
}

std::string row_name(const Machine& machine, const PathMatrix& paths, std::size_t device) {
  const DeviceRef ref = paths.devices[device];
  if (machine.hosts.size() > 1) {
    const int host = ref.kind == PartKind::gpu ? machine.gpus[static_cast<std::size_t>(ref.position)].host
                     : ref.kind == PartKind::nic
                         ? machine.nics[static_cast<std::size_t>(ref.position)].host
                         : machine.numa_nodes[static_cast<std::size_t>(ref.position)].host;
    const std::string name = name_of(machine, ref);
    return concat("h", host, "/", name.substr(name.find('/') + 1));
  }
  return name_of(machine, ref);
}

/// "mlx5_0", "_1", "_2": names that differ from the one before in their last digits only are cut to these.
std::vector<std::string> column_names(const Machine& machine, const PathMatrix& paths,
                                      const std::vector<std::size_t>& columns) {
  std::vector<std::string> names;
  std::string before;
  for (const std::size_t column : columns) {
    std::string name = row_name(machine, paths, column);
    if (name.ends_with(":00:00.0")) name.resize(name.size() - 8);  // a NIC known by its bus id only
    const std::size_t stem = name.find_last_not_of("0123456789");
    const bool is_alike = stem != std::string::npos && stem > 3 && stem + 1 < name.size() &&
                          before.substr(0, stem + 1) == name.substr(0, stem + 1) &&
                          before.find_first_not_of("0123456789", stem + 1) == std::string::npos;
    before = name;
    names.push_back(is_alike ? name.substr(name[stem] == '_' ? stem : stem + 1) : shorten(name, 15));
  }
  return names;
}

struct Table {
  std::vector<std::size_t> rows, columns;
};

/// Column blocks that fit the screen, one below the other.
std::string matrix(const Machine& machine, const PathMatrix& paths, const Table& table) {
  const std::vector<std::string> names = column_names(machine, paths, table.columns);
  std::size_t row_width = 0;
  for (const std::size_t row : table.rows)
    row_width = std::max(row_width, row_name(machine, paths, row).size());
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t width = names[i].size();
    for (const std::size_t row : table.rows)
      width = std::max(width, class_word(paths.at(row, table.columns[i])).size());
    widths.push_back(width + 1);
  }
  std::string out;
  for (std::size_t first = 0; first < widths.size();) {
    std::size_t last = first, used = row_width + 3;
    while (last < widths.size() && (last == first || used + widths[last] <= kScreenColumns))
      used += widths[last++];
    std::string line = concat("  ", fit("", row_width));
    for (std::size_t i = first; i < last; ++i) line += concat(" ", fit(names[i], widths[i] - 1));
    out += concat(line, "\n");
    for (const std::size_t row : table.rows) {
      line = concat("  ", fit(row_name(machine, paths, row), row_width));
      for (std::size_t i = first; i < last; ++i)
        line += concat(" ", fit(class_word(paths.at(row, table.columns[i])), widths[i] - 1));
      out += concat(line, "\n");
    }
    first = last;
  }
  return out;
}

/// "240 x NV6" for every class among ordered pairs, best first.
std::string counts(const PathMatrix& paths, const std::vector<std::size_t>& rows,
                   const std::vector<std::size_t>& columns) {
  std::map<std::pair<PathClass, std::string>, std::size_t> found;
  for (const std::size_t row : rows) {
    for (const std::size_t column : columns) {
      if (row != column) ++found[{paths.at(row, column).path_class, class_word(paths.at(row, column))}];
    }
  }
  std::string out;
  for (const auto& [key, count] : found) out += concat(out.empty() ? "" : ", ", count, " x ", key.second);
  return out;
}

/// What is unknown, and the reason of the first of it.
std::string unknown_note(const Machine& machine, const PathMatrix& paths, const Table& table) {
  std::size_t count = 0;
  std::string example;
  for (const std::size_t row : table.rows) {
    for (const std::size_t column : table.columns) {
      const Path& path = paths.at(row, column);
      if (row == column || path.path_class != PathClass::unknown) continue;
      if (count++ == 0)
        example =
            concat(row_name(machine, paths, row), "-", row_name(machine, paths, column), ": ", path.reason);
    }
  }
  if (count == 0) return {};
  return wrap("  ", concat("? = unknown, ", count_of(count, "pair"), "; ", example));
}

}  // namespace

std::string path_text(const TopologyCase& input, const TextStyle& style) {
  const PathMatrix& paths = input.paths;
  const Machine& machine = input.evidence.machine;
  const std::vector<std::size_t> nics = devices_of(paths, PartKind::nic);
  const std::vector<std::size_t> gpus = devices_of(paths, PartKind::gpu);
  Table table{gpus.empty() ? devices_of(paths, PartKind::numa_node) : gpus, {}};
  if (table.rows.empty()) return {};
  table.columns = table.rows;
  table.columns.insert(table.columns.end(), nics.begin(), nics.end());
  if (table.columns.size() < 2) return {};
  const bool is_plain = table.rows.size() > kUniformRows &&
                        counts(paths, table.rows, table.rows).find(',') == std::string::npos;
  if ((table.columns.size() <= kMatrixColumns && !is_plain) || style.verbose)
    return concat("Paths\n", matrix(machine, paths, table), unknown_note(machine, paths, table));
  std::string out =
      concat("Paths (", table.columns.size(), " devices: pairs counted; --verbose has the matrix)\n");
  const char* kind = gpus.empty() ? "NUMA-NUMA" : "GPU-GPU";
  out += wrap(concat("  ", fit(kind, 10)), counts(paths, table.rows, table.rows));
  if (!nics.empty())
    out +=
        wrap(concat("  ", fit(gpus.empty() ? "NUMA-NIC" : "GPU-NIC", 10)), counts(paths, table.rows, nics));
  return concat(out, unknown_note(machine, paths, table));
}

}  // namespace ringcomm::doctor
