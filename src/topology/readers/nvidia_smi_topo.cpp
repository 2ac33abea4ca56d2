// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nvidia_smi_topo.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "core/parse.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/smi_affinity.hpp"
#include "topology/readers/smi_table.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nvidia_smi_topo {
namespace {

/// SOC is what drivers before 396 print for SYS.
constexpr std::array<std::string_view, 7> kPathWords{"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};

std::optional<int> nvlinks_of(std::string_view word) {
  if (!word.starts_with("NV")) return std::nullopt;
  const auto count = parse_count(word.substr(2));
  if (!count || *count < 1 || *count > 1000) return std::nullopt;
  return static_cast<int>(*count);
}

bool is_path_word(std::string_view word) {
  return std::ranges::find(kPathWords, word) != kPathWords.end() || nvlinks_of(word).has_value();
}

PathClass class_of(std::string_view word) {
  return word == "SOC" ? PathClass::sys : parse_path_class(word).value_or(PathClass::unknown);
}

/// Lines before and after the table.
class Surroundings {
 public:
  explicit Surroundings(Reading& reading) : reading_(reading) {}

  void take(std::string_view raw_line, int line) {
    const std::string plain = without_ansi(raw_line);
    const auto words = words_of(plain);
    if (words.empty() || plain.find("Legend:") != std::string::npos) return;
    if (words.size() > 1 && words[1] == "=") {
      // Only the matrix that shows NVLinks explains NV#: `topo -mp` does not.
      if (words[0] == "NV#") reading_.machine.has_link_evidence = true;
      return;
    }
    if (words.size() == 2 && words[0].ends_with(':')) {
      nic_names_.emplace(words[0].substr(0, words[0].size() - 1), std::pair(std::string(words[1]), line));
      return;
    }
    add_skipped(reading_.skipped, {reading_.file, line}, plain, "no line of the table or its legend");
  }

  /// "NIC0" -> "mlx5_0", where the NIC legend says so.
  void rename_nics() {
    std::map<std::string_view, Nic*> nics;
    for (Nic& nic : reading_.machine.nics) nics.emplace(nic.name, &nic);
    std::vector<std::pair<Nic*, std::string>> names;
    for (const auto& [label, name] : nic_names_) {
      const auto nic = nics.find(label);
      if (nic == nics.end()) {
        add_skipped(reading_.skipped, {reading_.file, name.second}, label,
                    "no NIC of this name in the table");
      } else {
        names.emplace_back(nic->second, name.first);
      }
    }
    for (auto& [nic, name] : names) nic->name = std::move(name);
  }

 private:
  Reading& reading_;
  std::map<std::string, std::pair<std::string, int>, std::less<>> nic_names_{};
};

/// What a table's devices became; position -1: not in the machine.
struct Devices {
  std::vector<std::optional<DeviceRef>> by_column{};
  std::vector<int> gpus_by_row{};
};

Devices add_devices(const SmiTable& table, Reading& reading) {
  Machine& machine = reading.machine;
  Devices devices;
  std::vector<int> lines(table.columns.size(), table.line);
  for (const SmiRow& row : table.rows) lines[row.column] = row.line;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& name = table.columns[i];
    const Where where{reading.file, lines[i]};
    if (name.empty()) {
      devices.by_column.emplace_back();
    } else if (const auto number = gpu_number(name)) {
      devices.by_column.emplace_back(DeviceRef{PartKind::gpu, static_cast<int>(machine.gpus.size())});
      Gpu& gpu = machine.gpus.emplace_back();
      gpu.index = *number;
      gpu.vendor = GpuVendor::nvidia;
      gpu.where = where;
    } else {
      devices.by_column.emplace_back(DeviceRef{PartKind::nic, static_cast<int>(machine.nics.size())});
      Nic& nic = machine.nics.emplace_back();
      nic.name = name;
      nic.where = where;
    }
  }
  for (const SmiRow& row : table.rows) {
    const auto& device = devices.by_column[row.column];
    devices.gpus_by_row.push_back(device && device->kind == PartKind::gpu ? device->position : -1);
  }
  machine.has_gpu_evidence = !machine.gpus.empty();
  // A table without NIC columns proves nothing: it lists InfiniBand devices only (no Slingshot).
  machine.has_nic_evidence = !machine.nics.empty();
  return devices;
}

class Paths {
 public:
  Paths(const SmiTable& table, const Devices& devices, Reading& reading)
      : table_(table), devices_(devices), reading_(reading), rows_(table.columns.size(), nullptr) {
    for (const SmiRow& row : table.rows) rows_[row.column] = &row;
  }

  void add() {
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      if (!devices_.by_column[i]) continue;
      std::size_t missing = 0;
      for (std::size_t j = 0; j < table_.columns.size(); ++j) {
        if (i != j && devices_.by_column[j] && !add_path(i, j)) ++missing;
      }
      if (missing == 0 && rows_[i] != nullptr) continue;
      add_skipped(reading_.skipped, {reading_.file, table_.line}, table_.columns[i],
                  concat(rows_[i] == nullptr ? "its row is missing, its column is used; " : "", missing,
                         " of its paths are shown neither in a row nor in a column"));
    }
  }

 private:
  /// A row in which the text ends is the last resort: a cell that is missing there moves the others.
  std::pair<std::string_view, int> cell_of(std::size_t row, std::size_t column, bool is_cut) const {
    if (rows_[row] == nullptr || rows_[row]->is_cut != is_cut) return {};
    return {rows_[row]->cells[column], rows_[row]->line};
  }

  bool add_path(std::size_t from, std::size_t to) {
    auto cell = cell_of(from, to, false);
    const auto mirror = cell_of(to, from, false);
    if (cell.first.empty()) cell = mirror;
    if (cell.first.empty()) cell = cell_of(from, to, true);
    if (cell.first.empty()) cell = cell_of(to, from, true);
    if (cell.first.empty()) return false;
    const Where where{reading_.file, cell.second};
    if (from < to && !mirror.first.empty() && mirror.first != cell.first)
      add_skipped(reading_.skipped, where, concat(table_.columns[from], " ", table_.columns[to]),
                  concat("this table says ", cell.first, " one way and ", mirror.first, " the other"));
    StatedPath& path = reading_.machine.stated_paths.emplace_back();
    path.from = *devices_.by_column[from];
    path.to = *devices_.by_column[to];
    path.path_class = class_of(cell.first);
    path.nvlinks = nvlinks_of(cell.first);
    path.where = where;
    if (path.nvlinks) reading_.machine.has_link_evidence = true;
    return true;
  }

  const SmiTable& table_;
  const Devices& devices_;
  Reading& reading_;
  std::vector<const SmiRow*> rows_;
};

}  // namespace

bool looks_like(std::string_view text) {
  bool has_affinity = false;
  bool has_row = false;
  bool has_path = false;
  std::size_t at = 0;
  while (at < text.size() && !(has_row && (has_affinity || has_path))) {
    const std::size_t past = std::min(text.find('\n', at), text.size());
    const std::string_view raw = text.substr(at, std::min(past - at, kTableLineBytesMax));
    at = past + 1;
    if (raw.find("GPU") == std::string_view::npos) continue;
    const std::string line = without_ansi(raw);
    has_affinity = has_affinity || line.find("CPU Affinity") != std::string::npos;
    const auto words = words_of(line);
    if (words.size() < 2 || !gpu_number(words[0]) || !is_path_word(words[1])) continue;
    has_row = true;
    for (const std::string_view word : words) has_path = has_path || (word != "X" && is_path_word(word));
  }
  return has_row && (has_affinity || has_path);
}

Result<Reading> read(std::string_view text, const std::string& file) {
  Reading reading;
  reading.file = file;
  reading.format = "nvidia-smi-topo";
  reading.machine.hosts.emplace_back();
  SmiTableReader reader(is_path_word, file);
  Surroundings surroundings(reading);
  Status status;
  bool is_past_table = false;
  const std::size_t last_at = trimmed(text).empty() ? 0 : text.find_last_not_of(" \t\r\n\v\f");
  for_each_line(text, [&](std::string_view line, int number) {
    if (!status.is_ok()) return;
    if (is_past_table) {
      surroundings.take(line, number);
      return;
    }
    const bool is_last = line.data() + line.size() > text.data() + last_at;
    auto taken = reader.take(line, number, is_last, reading.skipped);
    if (!taken.is_ok()) {
      status = taken.status();
    } else if (taken.value() == SmiTableReader::Taken::next_table) {
      is_past_table = true;
      add_skipped(reading.skipped, {file, number}, line, "a second table begins here: one host per file");
    } else if (taken.value() == SmiTableReader::Taken::other) {
      surroundings.take(line, number);
    }
  });
  RINGCOMM_TRY(status);
  const SmiTable table = reader.finish(reading.skipped);
  const Devices devices = add_devices(table, reading);
  if (reading.machine.gpus.empty())
    return Status(StatusCode::corrupt_data, concat(file, " has no row of nvidia-smi topo -m with a GPU"));
  read_affinity(table, devices.gpus_by_row, reading);
  Paths(table, devices, reading).add();
  surroundings.rename_nics();
  return reading;
}

}  // namespace ringcomm::inline v0::topology::nvidia_smi_topo
