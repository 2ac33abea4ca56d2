// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nvidia_smi_p2p.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/smi_table.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nvidia_smi_p2p {
namespace {

constexpr std::array<std::string_view, 9> kStatusWords{"X",  "OK", "CNS", "GNS", "TNS",
                                                       "NS", "DR", "U",   "N/A"};
// A text of many tables: each costs its cells.
constexpr std::size_t kStatusesMax = std::size_t{1} << 18;

bool is_status_word(std::string_view word) {
  return std::ranges::find(kStatusWords, word) != kStatusWords.end();
}

/// "nvidia-smi topo -p2p w" -> "write"; empty for other lines.
std::string_view capability_of(std::string_view line) {
  const auto words = words_of(line);
  const auto option =
      std::ranges::find_if(words, [](std::string_view word) { return word == "-p2p" || word == "--p2p"; });
  if (option == words.end() || option + 1 == words.end()) return {};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames{
      {{"r", "read"}, {"w", "write"}, {"n", "nvlink"}, {"a", "atomics"}, {"p", "prop"}}};
  for (const auto& [letter, name] : kNames) {
    if (*(option + 1) == letter) return name;
  }
  return {};
}

class P2pReader {
 public:
  explicit P2pReader(const std::string& file) : table_reader_(is_status_word, file) {
    reading_.file = file;
    reading_.format = "nvidia-smi-p2p";
    reading_.machine.hosts.emplace_back();
  }

  Status take(std::string_view line, int number, bool is_last) {
    RINGCOMM_TRY_ASSIGN(auto taken, table_reader_.take(line, number, is_last, reading_.skipped));
    if (taken == SmiTableReader::Taken::next_table) {
      end_table();
      RINGCOMM_TRY_ASSIGN(taken, table_reader_.take(line, number, is_last, reading_.skipped));
    }
    if (taken == SmiTableReader::Taken::other) take_other(line, number);
    return {};
  }

  Reading finish() {
    end_table();
    return std::move(reading_);
  }

 private:
  void take_other(std::string_view line, int number) {
    const std::string plain = without_ansi(line);
    const auto words = words_of(plain);
    if (words.empty() || plain.find("Legend:") != std::string::npos || (words.size() > 1 && words[1] == "="))
      return;
    if (const auto capability = capability_of(plain); !capability.empty()) {
      end_table();
      capability_ = capability;
      return;
    }
    add_skipped(reading_.skipped, {reading_.file, number}, plain, "no line of the table or its legend");
  }

  int gpu_of(std::string_view name, int line) {
    const int index = gpu_number(name).value_or(-1);
    if (index < 0) return -1;
    const auto [known, is_new] = gpus_.try_emplace(index, static_cast<int>(reading_.machine.gpus.size()));
    if (is_new) {
      Gpu& gpu = reading_.machine.gpus.emplace_back();
      gpu.index = index;
      gpu.vendor = GpuVendor::nvidia;
      gpu.where = {reading_.file, line};
    }
    return known->second;
  }

  void end_table() {
    const SmiTable table = table_reader_.finish(reading_.skipped);
    std::vector<int> gpus;
    for (const std::string& name : table.columns) gpus.push_back(gpu_of(name, table.line));
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (gpus[i] < 0 && !table.columns[i].empty())
        add_skipped(reading_.skipped, {reading_.file, table.line}, table.columns[i], "no GPU");
    }
    for (const SmiRow& row : table.rows) add_row(row, gpus);
    std::vector<bool> has_row(table.columns.size(), false);
    for (const SmiRow& row : table.rows) has_row[row.column] = true;
    for (std::size_t i = 0; i < has_row.size(); ++i) {
      if (!has_row[i] && gpus[i] >= 0)
        add_skipped(reading_.skipped, {reading_.file, table.line}, table.columns[i],
                    "its row is missing: one direction of its pairs is not shown");
    }
    reading_.machine.has_gpu_evidence = !reading_.machine.gpus.empty();
  }

  void add_row(const SmiRow& row, const std::vector<int>& gpus) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string& cell = row.cells[i];
      // N/A is what the tool prints when it could not ask.
      if (i == row.column || gpus[row.column] < 0 || gpus[i] < 0 || cell.empty() || cell == "N/A") continue;
      const Where where{reading_.file, row.line};
      if (reading_.machine.p2p.size() >= kStatusesMax) {
        add_skipped(reading_.skipped, where, row.name,
                    concat("more than ", kStatusesMax, " cells in this file"));
        return;
      }
      reading_.machine.p2p.push_back({.from = gpus[row.column],
                                      .to = gpus[i],
                                      .capability = capability_,
                                      .status = cell,
                                      .where = where});
    }
  }

  SmiTableReader table_reader_;
  Reading reading_{};
  std::string capability_{};
  std::map<int, int> gpus_{};
};

}  // namespace

bool looks_like(std::string_view text) {
  bool has_row = false;
  bool has_status = false;
  std::size_t at = 0;
  while (at < text.size() && !(has_row && has_status)) {
    const std::size_t past = std::min(text.find('\n', at), text.size());
    const std::string line = without_ansi(text.substr(at, std::min(past - at, kTableLineBytesMax)));
    at = past + 1;
    const auto words = words_of(line);
    if (words.size() < 2) continue;
    // The legend settles the case of a single GPU.
    has_status = has_status || (words[1] == "=" && line.find("Status Ok") != std::string::npos);
    if (!gpu_number(words[0])) continue;
    bool has_cells_only = true;
    for (std::size_t i = 1; i < words.size(); ++i)
      has_cells_only = has_cells_only && is_status_word(words[i]);
    has_row = has_row || has_cells_only;
    has_status = has_status || (has_cells_only && words.size() > 2);
  }
  return has_row && has_status;
}

Result<Reading> read(std::string_view text, const std::string& file) {
  P2pReader reader(file);
  Status status;
  const std::size_t last_at = trimmed(text).empty() ? 0 : text.find_last_not_of(" \t\r\n\v\f");
  for_each_line(text, [&](std::string_view line, int number) {
    if (status.is_ok()) status = reader.take(line, number, line.data() + line.size() > text.data() + last_at);
  });
  RINGCOMM_TRY(status);
  Reading reading = reader.finish();
  if (reading.machine.gpus.empty())
    return Status(StatusCode::corrupt_data, concat(file, " has no row of nvidia-smi topo -p2p with a GPU"));
  return reading;
}

}  // namespace ringcomm::inline v0::topology::nvidia_smi_p2p
