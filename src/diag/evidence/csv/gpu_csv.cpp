// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/csv/gpu_csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kHeaderLinesMax = 12;  // a command line, a remark, blank lines may stand before it
constexpr std::size_t kColumnsMax = 64;
constexpr std::size_t kCellMax = 128;
constexpr std::size_t kCellsMax = std::size_t{4} << 20;
constexpr std::int64_t kNumberMax = 1 << 24;

enum class Column : std::uint8_t { other, rank, gpu, host, bus_id, pid, utilisation, power, memory };

struct Header {
  std::vector<std::string> names;  ///< as printed
  std::vector<Column> columns;
  std::vector<double> scales;  ///< of memory: bytes per unit that the name states, 0 where it states none
  char separator = ',';
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\"");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\"") - begin + 1);
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  while (cells.size() <= kColumnsMax) {
    const std::size_t end = line.find(separator);
    cells.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  return cells;
}

/// "utilization.gpu [%]" -> "utilizationgpu", "power_w" -> "powerw".
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, name.find('['))) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Column column_of(const std::string& name) {
  if (is_one_of(name, {"rank", "globalrank", "workerrank", "workrank"})) return Column::rank;
  if (is_one_of(name, {"index", "gpu", "gpuid", "gpuindex", "gpuidx", "device", "deviceid", "deviceindex",
                       "cudadevice", "cudadev", "localrank"}))
    return Column::gpu;
  if (is_one_of(name, {"host", "hostname", "node", "nodename", "instance"})) return Column::host;
  if (has(name, "busid") || name == "pcibus") return Column::bus_id;
  if (name == "pid") return Column::pid;
  const bool is_memory = has(name, "mem") || has(name, "fb");
  if (has(name, "util") && !is_memory && !has(name, "enc") && !has(name, "dec")) return Column::utilisation;
  if (has(name, "power") && !has(name, "limit") && !has(name, "max") && !has(name, "min") &&
      !has(name, "default") && !has(name, "state") && !has(name, "management"))
    return Column::power;
  if (is_memory && has(name, "used")) return Column::memory;
  return Column::other;
}

double scale_of(std::string_view text) {
  constexpr double kKibi = 1024;
  if (has(text, "GiB") || has(text, "GB") || has(text, "_gb") || has(text, "_gib"))
    return kKibi * kKibi * kKibi;
  if (has(text, "MiB") || has(text, "MB") || has(text, "_mb") || has(text, "_mib")) return kKibi * kKibi;
  if (has(text, "KiB") || has(text, "kB")) return kKibi;
  return has(text, "bytes") ? 1 : 0;
}

std::optional<Header> header_of(std::string_view line) {
  Header header;
  for (const char separator : {',', ';', '\t'}) {
    if (std::ranges::count(line, separator) > std::ranges::count(line, header.separator))
      header.separator = separator;
  }
  const auto cells = cells_of(line, header.separator);
  if (cells.size() < 2 || cells.size() > kColumnsMax) return std::nullopt;
  bool has_place = false;
  bool has_metric = false;
  for (const std::string_view cell : cells) {
    if (cell.empty() || cell.size() > kCellMax) return std::nullopt;
    const Column column = column_of(plain(cell));
    // A metric of its own number makes the name a value: "GPU 0 util 98 %" is no header.
    has_place = has_place || column == Column::rank || column == Column::gpu || column == Column::bus_id;
    has_metric =
        has_metric || column == Column::utilisation || column == Column::power || column == Column::memory;
    header.names.emplace_back(cell);
    header.columns.push_back(column);
    header.scales.push_back(scale_of(cell));
  }
  if (!has_place || !has_metric) return std::nullopt;
  return header;
}

struct Line {
  std::size_t begin, end;
};

/// The next line from `at` on; its end excludes the line break.
Line line_at(std::string_view text, std::size_t at) {
  return {at, std::min(text.find('\n', at), text.size())};
}

std::optional<Header> find_header(std::string_view text, Line& line) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < kHeaderLinesMax && at < text.size(); ++i) {
    line = line_at(text, at);
    constexpr std::size_t kLineMax = 8192;
    if (line.end - line.begin <= kLineMax) {
      if (auto header = header_of(text.substr(line.begin, line.end - line.begin))) return header;
    }
    at = line.end + 1;
  }
  return std::nullopt;
}

/// "112 W" -> 112; nothing of "[N/A]".
std::optional<double> number_of(std::string_view cell) {
  double value = 0;
  const auto result = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (result.ec != std::errc() || !(value >= 0) || value > 1e18) return std::nullopt;
  return value;
}

std::optional<int> integer_in(std::string_view cell) {
  const auto value = number_of(cell);
  if (!value || *value >= static_cast<double>(kNumberMax) ||
      *value != static_cast<double>(static_cast<int>(*value)))
    return std::nullopt;
  return static_cast<int>(*value);
}

/// "00000000:3B:00.0" -> "0000:3b:00.0".
std::string bus_id_of(std::string_view cell) {
  std::string id;
  for (const char c : cell) id += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::size_t colon = id.find(':');
  if (colon == 8) id.erase(0, 4);
  return id;
}

void set_cell(GpuSample& sample, const Header& header, std::size_t column, std::string_view cell) {
  switch (header.columns[column]) {
    case Column::rank:
      sample.who.rank = integer_in(cell).value_or(kUnknown);
      break;
    case Column::gpu:
      // "GPU 3", "gpu3", "cuda:3"
      if (const auto digits = cell.find_first_of("0123456789"); digits != std::string_view::npos)
        sample.who.gpu = integer_in(cell.substr(digits)).value_or(kUnknown);
      break;
    case Column::host:
      sample.who.host = std::string(cell);
      break;
    case Column::bus_id:
      sample.who.bus_id = bus_id_of(cell);
      break;
    case Column::pid:
      sample.who.pid = integer_in(cell).value_or(kUnknown);
      break;
    case Column::utilisation:
      if (!sample.utilisation_percent) sample.utilisation_percent = number_of(cell);
      break;
    case Column::power:
      if (!sample.power_watts) sample.power_watts = number_of(cell);
      break;
    case Column::memory:
      if (const auto value = number_of(cell); value && !sample.memory_bytes) {
        constexpr double kMebi = 1024.0 * 1024.0;
        const double own = scale_of(cell);
        const double named = header.scales[column];
        sample.memory_bytes = *value * (own > 0 ? own : named > 0 ? named : kMebi);
      }
      break;
    case Column::other:
      break;
  }
  sample.columns.emplace(header.names[column], std::string(cell.substr(0, kCellMax)));
}

bool says_something(const GpuSample& sample) {
  const bool has_place =
      sample.who.rank != kUnknown || sample.who.gpu != kUnknown || !sample.who.bus_id.empty();
  return has_place && (sample.utilisation_percent || sample.power_watts || sample.memory_bytes);
}

bool has_header(const RawFile& file, bool is_nvidia_smi) {
  Line line{};
  const auto header = find_header(file.bytes, line);
  if (!header) return false;
  const std::string_view text = file.bytes.substr(line.begin, line.end - line.begin);
  return (has(text, "utilization.") || has(text, "power.draw") || has(text, "memory.used") ||
          has(text, "pci.bus_id")) == is_nvidia_smi;
}

}  // namespace

bool looks_like_nvidia_smi_csv(const RawFile& file) { return has_header(file, true); }
bool looks_like_gpu_metrics_csv(const RawFile& file) { return has_header(file, false); }

Status read_gpu_csv(const RawFile& file, HangEvidence& evidence) {
  Line line{};
  const auto header = find_header(file.bytes, line);
  if (!header) return Status::corrupt_data("no line of column names");
  const std::string_view names = file.bytes.substr(line.begin, line.end - line.begin);
  FileRead& read = evidence.files[static_cast<std::size_t>(file.index)];
  using Place = std::pair<std::pair<std::string, std::string>, std::pair<int, int>>;
  std::map<Place, int> samples;
  std::vector<int> ranks;
  std::string rest(file.bytes.substr(0, line.begin));
  rest.push_back('\n');
  auto number = static_cast<std::int32_t>(std::ranges::count(rest, '\n'));
  std::size_t cells_read = 0;
  for (std::size_t at = line.end + 1; at < file.bytes.size(); at = line.end + 1) {
    line = line_at(file.bytes, at);
    ++number;
    const std::string_view text = file.bytes.substr(line.begin, line.end - line.begin);
    const auto cells = cells_of(text, header->separator);
    GpuSample sample{.source = {file.index, number}};
    if (cells.size() == header->names.size() && text != names) {
      for (std::size_t i = 0; i < cells.size(); ++i) set_cell(sample, *header, i, cells[i]);
    }
    if (!says_something(sample)) {
      if (text != names) rest.append(text);
      rest.push_back('\n');  // of each line: the numbers of those after it stay right
      continue;
    }
    cells_read += cells.size();
    if (cells_read > kCellsMax) {
      read.note = concat("more than ", kCellsMax, " cells: the rest was not read");
      break;
    }
    sample.snapshot = samples[{{sample.who.host, sample.who.bus_id}, {sample.who.rank, sample.who.gpu}}]++;
    if (sample.who.rank != kUnknown && sample.snapshot == 0) ranks.push_back(sample.who.rank);
    evidence.gpus.push_back(std::move(sample));
    rest.push_back('\n');
    ++read.facts;
  }
  if (!trimmed(rest).empty()) {
    RawFile others = file;
    others.bytes = rest;
    static_cast<void>(read_text(others, evidence));
  }
  read.ranks.insert(read.ranks.end(), ranks.begin(), ranks.end());
  return read.facts > 0 ? Status() : Status::corrupt_data("column names, and no line of values");
}

}  // namespace ringcomm::inline v0::diag
