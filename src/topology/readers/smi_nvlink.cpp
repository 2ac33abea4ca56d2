// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/smi_nvlink.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/parse.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/smi_table.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

constexpr std::int64_t kLinksMax = 128;  // 36 is announced for Rubin
constexpr std::string_view kAllInactive = "all links are inActive";

struct Numbered {
  std::optional<int> number{};
  std::string_view value{};
};

/// "Link 5: 25 GB/s" for the word "Link"; nothing when the line is no such line.
std::optional<Numbered> split_numbered(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view between = line.substr(word.size(), colon - word.size());
  const auto number = parse_count(trimmed(between));
  if (!trimmed(between).empty() && (!number || *number > 1000000)) return std::nullopt;
  Numbered numbered{.number = {}, .value = trimmed(line.substr(colon + 1))};
  if (number) numbered.number = static_cast<int>(*number);
  return numbered;
}

class NvLinkReader {
 public:
  NvLinkReader(const std::string& file, const std::string& format, const ReadNvLink& read_link)
      : read_link_(read_link) {
    reading_.file = file;
    reading_.format = format;
    reading_.machine.hosts.emplace_back();
    reading_.machine.has_link_evidence = true;
  }

  Status take(std::string_view raw_line, int number) {
    const std::string plain = without_ansi(raw_line.substr(0, kTableLineBytesMax));
    const std::string_view line = trimmed(plain);
    const Where where{reading_.file, number};
    if (line.empty()) return {};
    if (const auto gpu = split_numbered(line, "GPU")) return take_gpu(*gpu, line, where);
    if (const auto link = split_numbered(line, "Link")) return take_link(*link, line, where);
    if (line.find(kAllInactive) != std::string_view::npos && !is_over_ && has_gpu()) {
      NvLinkPort& port = reading_.machine.gpus.back().nvlink_ports.emplace_back();
      port.is_active = false;
      add_skipped(reading_.skipped, where, line, "link 0 stands for all: how many there are is not shown");
      return {};
    }
    add_skipped(reading_.skipped, where, line, "no line of nvidia-smi nvlink");
    return {};
  }

  Reading finish() {
    reading_.machine.has_gpu_evidence = has_gpu();
    return std::move(reading_);
  }

 private:
  bool has_gpu() const { return !reading_.machine.gpus.empty(); }

  static Status lacks_number(std::string_view line, const Where& where, std::string_view what) {
    return Status(StatusCode::corrupt_data, concat("'", shown(line), "' at ", where.to_text(), ": ", what));
  }

  Status take_gpu(const Numbered& numbered, std::string_view line, const Where& where) {
    if (!numbered.number) return lacks_number(line, where, "the GPU has no number");
    if (is_over_ || !indices_.insert(*numbered.number).second || indices_.size() > kDevicesMax) {
      add_skipped(
          reading_.skipped, where, line,
          indices_.size() > kDevicesMax ? "too many GPUs" : "a second output begins here: one host per file");
      is_over_ = true;
      return {};
    }
    Gpu& gpu = reading_.machine.gpus.emplace_back();
    gpu.index = *numbered.number;
    gpu.vendor = GpuVendor::nvidia;
    gpu.where = where;
    gpu.name = std::string(trimmed(numbered.value.substr(0, numbered.value.find("(UUID"))));
    const std::string_view uuid = trimmed(between(numbered.value, "(UUID:", ")").value_or(""));
    if (uuid.find("...") == std::string_view::npos) gpu.uuid = std::string(uuid);
    ports_.clear();
    return {};
  }

  Status take_link(const Numbered& numbered, std::string_view line, const Where& where) {
    if (!numbered.number) return lacks_number(line, where, "the link has no number");
    if (is_over_ || !has_gpu() || *numbered.number >= kLinksMax || !ports_.insert(*numbered.number).second) {
      add_skipped(reading_.skipped, where, line,
                  !has_gpu()                      ? "which GPU this link belongs to is not shown"
                  : is_over_                      ? "belongs to a second output"
                  : *numbered.number >= kLinksMax ? "no GPU has as many links"
                                                  : "this link was there before");
      return {};
    }
    Gpu& gpu = reading_.machine.gpus.back();
    NvLinkPort port;
    port.index = *numbered.number;
    RINGCOMM_TRY(read_link_(numbered.value, port, gpu, where, reading_.skipped));
    gpu.nvlink_ports.push_back(std::move(port));
    return {};
  }

  const ReadNvLink& read_link_;
  Reading reading_{};
  std::set<int> indices_{};
  std::set<int> ports_{};  ///< of the last GPU
  bool is_over_ = false;
};

}  // namespace

Result<Reading> read_nvlink_lines(std::string_view text, const std::string& file, const std::string& format,
                                  const ReadNvLink& read_link) {
  NvLinkReader reader(file, format, read_link);
  Status status;
  for_each_line(text, [&](std::string_view line, int number) {
    if (status.is_ok()) status = reader.take(line, number);
  });
  RINGCOMM_TRY(status);
  return reader.finish();
}

NvLinkLines find_nvlink_lines(std::string_view text) {
  NvLinkLines found;
  for_each_line(text, [&](std::string_view raw_line, int) {
    const std::string_view line = trimmed(raw_line.substr(0, kTableLineBytesMax));
    if (const auto gpu = split_numbered(line, "GPU")) {
      found.has_gpu = found.has_gpu || gpu->number.has_value();
    } else if (const auto link = split_numbered(line, "Link")) {
      found.has_rate = found.has_rate || link->value.ends_with("GB/s") || link->value == "<inactive>";
      found.has_remote = found.has_remote || link->value.starts_with("Remote Device");
    } else {
      found.has_rate = found.has_rate || line.find(kAllInactive) != std::string_view::npos;
    }
  });
  return found;
}

}  // namespace ringcomm::inline v0::topology
