// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/lspci.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/lspci_fields.hpp"
#include "topology/readers/pci_names.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::lspci {
namespace {

std::optional<std::uint16_t> parse_hex4(std::string_view text) {
  std::uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 4 || error != std::errc() || end != text.data() + 4) return std::nullopt;
  return value;
}

/// "PCI bridge [0604]: Intel Corporation Device 1bbc [8086:1bbc] (rev 11)", or "0604: 8086:1bbc (rev 11)".
struct Title {
  std::optional<std::uint16_t> pci_class{};
  std::uint32_t interface = 0;
  std::optional<std::uint16_t> vendor{};
  std::optional<std::uint16_t> device{};
  std::string_view class_words{};
  std::string_view name{};  ///< without vendor and revision
};

std::optional<Title> parse_title(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  Title title;
  title.class_words = text.substr(0, colon);
  title.name = trimmed(text.substr(colon + 2));
  const std::size_t bracket = title.class_words.rfind(" [");
  if (bracket != std::string_view::npos && title.class_words.ends_with(']'))
    title.pci_class =
        parse_hex4(title.class_words.substr(bracket + 2, title.class_words.size() - bracket - 3));
  if (title.pci_class) title.class_words = title.class_words.substr(0, bracket);
  if (!title.pci_class) title.pci_class = parse_hex4(title.class_words);
  if (!title.pci_class) title.pci_class = pci_class_of(title.class_words);
  if (const auto interface = between(title.name, "(prog-if ", " "))
    std::from_chars(interface->data(), interface->data() + interface->size(), title.interface, 16);
  for (const std::string_view end : {" (rev ", " (prog-if "})
    title.name = title.name.substr(0, title.name.find(end));
  // "[8086:1bbc]" or all of the name.
  const std::size_t open = title.name.rfind('[');
  std::string_view ids = title.name;
  if (open != std::string_view::npos && title.name.ends_with(']'))
    ids = title.name.substr(open + 1, title.name.size() - open - 2);
  if (ids.size() == 9 && ids[4] == ':') {
    title.vendor = parse_hex4(ids.substr(0, 4));
    title.device = parse_hex4(ids.substr(5));
    if (title.vendor) title.name = trimmed(title.name.substr(0, ids.size() == title.name.size() ? 0 : open));
  }
  if (const auto vendor = pci_vendor_of(title.name)) {
    if (!title.vendor) title.vendor = vendor->id;
    title.name = trimmed(title.name.substr(vendor->name.size()));
  }
  constexpr std::string_view kUnnamed = "Device ";
  if (!title.device && title.name.starts_with(kUnnamed))
    title.device = parse_hex4(title.name.substr(kUnnamed.size()));
  return title;
}

class LspciReader {
 public:
  explicit LspciReader(const std::string& file) {
    reading_.file = file;
    reading_.format = "lspci";
    reading_.machine.hosts.emplace_back();
  }

  Status take(std::string_view line, int number) {
    const Where where{reading_.file, number};
    if (trimmed(line).empty()) return {};
    const std::string_view first = line.substr(0, line.find(' '));
    const auto id = parse_pci_bus_id(first);
    if (id.is_ok() && first.size() < line.size()) {
      take_title(id.value(), trimmed(line.substr(first.size())), line, where);
      return {};
    }
    const bool is_indented = line.starts_with('\t') || line.starts_with("  ");
    if (is_indented) {
      if (!is_ignoring_ && !machine().pci.empty()) {
        fields_.take(line, where, machine().pci.back(), reading_.skipped);
        note_buses(where);
      }
      return {};
    }
    is_ignoring_ = true;
    const auto title = parse_title(trimmed(line));
    const auto after_id = parse_title(trimmed(line.substr(std::min(first.size(), line.size()))));
    if ((title && title->pci_class) || (after_id && after_id->pci_class))
      return Status(StatusCode::corrupt_data,
                    concat("'", shown(line), "' at ", where.to_text(), ": a device without its bus id"));
    add_skipped(reading_.skipped, where, line, "no device of lspci");
    return {};
  }

  Reading finish() {
    for (std::size_t i = 0; i < machine().pci.size(); ++i) {
      PciDevice& device = machine().pci[i];
      const auto above = bridges_.find({device.id.domain, device.id.bus});
      if (above != bridges_.end()) device.parent = above->second;
    }
    machine().has_gpu_evidence = !machine().gpus.empty();
    machine().has_nic_evidence = !machine().nics.empty();
    // As nvidia-smi numbers them: an integrated GPU in front does not count.
    std::ranges::stable_sort(machine().gpus, {}, &Gpu::vendor);
    for (std::size_t i = 0; i < machine().gpus.size(); ++i) machine().gpus[i].index = static_cast<int>(i);
    for (Gpu& gpu : machine().gpus)
      gpu.numa_node = machine().pci[static_cast<std::size_t>(*gpu.pci)].numa_node;
    for (Nic& nic : machine().nics)
      nic.numa_node = machine().pci[static_cast<std::size_t>(*nic.pci)].numa_node;
    if (fields_.was_denied())
      add_skipped(reading_.skipped, {reading_.file, 0}, "<access denied>",
                  "links, ACS and control bits are hidden: run lspci as root");
    return std::move(reading_);
  }

 private:
  Machine& machine() { return reading_.machine; }

  void take_title(const PciBusId& id, std::string_view text, std::string_view line, const Where& where) {
    const auto title = parse_title(text);
    const bool is_new = title && machine().pci.size() < kDevicesMax && seen_.try_emplace(id, true).second;
    is_ignoring_ = !is_new;
    if (!is_new) {
      add_skipped(reading_.skipped, where, line,
                  !title                                ? "a bus id without a class"
                  : machine().pci.size() >= kDevicesMax ? "too many devices"
                                                        : "this bus id was there before: one host per file");
      return;
    }
    fields_.begin();
    PciDevice& device = machine().pci.emplace_back();
    device.id = id;
    device.where = where;
    device.vendor = title->vendor;
    device.device = title->device;
    if (title->pci_class) {
      device.class_code = std::uint32_t{*title->pci_class} << 8 | (title->interface & 0xff);
      device.is_bridge = *title->pci_class == 0x0604 || *title->pci_class == 0x0609;
    } else {
      add_skipped(reading_.skipped, where, title->class_words, "a class that is not known here");
    }
    add_part(*title, device);
  }

  void add_part(const Title& title, const PciDevice& device) {
    if (!title.pci_class) return;
    const int position = static_cast<int>(machine().pci.size()) - 1;
    if (const GpuVendor vendor = gpu_vendor_of(title.vendor, *title.pci_class);
        vendor != GpuVendor::unknown) {
      Gpu& gpu = machine().gpus.emplace_back();
      gpu.bus = device.id;
      gpu.pci = position;
      gpu.vendor = vendor;
      gpu.name = std::string(title.name);
      gpu.where = device.where;
    } else if (is_rdma_nic(title.vendor, *title.pci_class, title.name)) {
      Nic& nic = machine().nics.emplace_back();
      nic.name = device.id.to_text();
      nic.bus = device.id;
      nic.pci = position;
      nic.model = std::string(title.name);
      nic.where = device.where;
    }
  }

  /// Bus numbers rise downwards, so a parent's number is below its child's and no loop can come of it.
  void note_buses(const Where& where) {
    const auto buses = fields_.take_buses();
    if (!buses) return;
    PciDevice& bridge = machine().pci.back();
    bridge.is_bridge = true;
    if (buses->secondary == 0) return;  // the firmware has not opened it
    const bool is_below = buses->secondary > bridge.id.bus;
    const auto position = static_cast<int>(machine().pci.size()) - 1;
    if (!is_below || !bridges_.try_emplace({bridge.id.domain, buses->secondary}, position).second)
      add_skipped(reading_.skipped, where, concat("secondary bus ", buses->secondary),
                  is_below ? "two bridges lead to this bus" : "not below the bridge's own bus");
  }

  Reading reading_{};
  LspciFields fields_{};
  std::map<PciBusId, bool> seen_{};
  std::map<std::pair<std::uint32_t, int>, int> bridges_{};  ///< (domain, secondary bus) -> position
  bool is_ignoring_ = true;                                 ///< the lines of a device that was not taken
};

}  // namespace

bool looks_like(std::string_view text) {
  bool has_device = false;
  for_each_line(text, [&](std::string_view line, int) {
    if (has_device || line.size() < 12) return;
    const std::string_view first = line.substr(0, line.find(' '));
    if (first.size() > 16 || first.size() == line.size() || !parse_pci_bus_id(first).is_ok()) return;
    const auto title = parse_title(trimmed(line.substr(first.size())));
    has_device = title && title->pci_class;
  });
  return has_device;
}

Result<Reading> read(std::string_view text, const std::string& file) {
  LspciReader reader(file);
  Status status;
  for_each_line(text, [&](std::string_view line, int number) {
    if (status.is_ok()) status = reader.take(line, number);
  });
  RINGCOMM_TRY(status);
  Reading reading = reader.finish();
  if (reading.machine.pci.empty())
    return Status(StatusCode::corrupt_data, concat(file, " has no device of lspci"));
  return reading;
}

}  // namespace ringcomm::inline v0::topology::lspci
