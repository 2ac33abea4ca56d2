// SPDX-License-Identifier: Apache-2.0
// The kernel's log: Xid, NVSwitch, out of memory, segmentation faults, links, hung tasks, suspend.
#include <string>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

class KernelReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    // "nodea kernel: [12.3] NVRM: ..." behind syslog's time.
    Who who;
    std::string_view text = trimmed(line.text);
    if (const std::size_t kernel = text.substr(0, 300).find(" kernel: "); kernel != std::string_view::npos) {
      std::string_view host = text.substr(0, kernel);
      who.host = take_word(host).substr(0, 255);
      text = trimmed(text.substr(kernel + 9));
      if (text.starts_with('[')) text = trimmed(text.substr(std::min(text.find(']'), text.size() - 1) + 1));
    }
    return read_gpu(text, who, facts) || read_switch(text, who, facts) || read_memory(text, who, facts) ||
           read_process(text, who, facts) || read_link(text, who, facts);
  }

 private:
  static bool add(EventKind kind, Who who, std::int64_t code, std::string_view detail, std::string_view text,
                  std::string_view format, Facts& facts) {
    EventFact event;
    event.kind = kind;
    event.who = std::move(who);
    event.code = code;
    event.detail = detail.substr(0, 200);
    event.text = text.substr(0, kTextMax);
    facts.add(std::move(event));
    facts.format(format);
    return true;
  }

  /// "NVRM: Xid (PCI:0000:dc:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 07 (0x02...)".
  static bool read_gpu(std::string_view text, Who who, Facts& facts) {
    if (!contains(text, "NVRM") && !contains(text, "Xid")) return false;
    if (contains(text, "SXid")) return false;
    const auto xid = after(text, "Xid (");
    if (xid) {
      const std::size_t end = xid->find(')');
      if (end == std::string_view::npos) return false;
      who.bus_id = bus_id_of(xid->substr(0, end));
      std::string_view rest = xid->substr(end + 1);
      take(rest, ":");
      const auto code = take_number(rest);
      if (!code) return false;
      take(rest, ",");
      if (const auto pid = number_after(rest, "pid=")) who.pid = *pid;
      return add(EventKind::xid, std::move(who), *code, trimmed(rest), text, "dmesg_xid", facts);
    }
    if (contains(text, "fallen off the bus")) {
      std::string_view id = word_after(text, "GPU at ");
      if (id.empty()) id = word_after(text, "NVIDIA GPU ");
      while (id.ends_with(':')) id.remove_suffix(1);
      who.bus_id = bus_id_of(id);
      return add(EventKind::xid, std::move(who), 79, "GPU has fallen off the bus", text, "dmesg_xid", facts);
    }
    if (contains_ignoring_case(text, "uncorrectable") && contains_ignoring_case(text, "ecc"))
      return add(EventKind::ecc_error, std::move(who), 0, "uncorrectable ECC", text, "dmesg_xid", facts);
    return contains(text, "NVRM:");
  }

  /// "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error".
  static bool read_switch(std::string_view text, Who who, Facts& facts) {
    const auto sxid = after(text, "SXid (");
    const std::size_t end = sxid ? sxid->find(')') : std::string_view::npos;
    if (end == std::string_view::npos) {
      const bool is_fabric = contains(text, "abric") || contains(text, "nvswitch");
      if (!is_fabric || !contains_ignoring_case(text, "nvlink") || !contains_ignoring_case(text, "error"))
        return false;
      return add(EventKind::nvlink_error, std::move(who), 0, "fabric manager", text, "fabric_manager_log",
                 facts);
    }
    who.bus_id = bus_id_of(sxid->substr(0, end));
    std::string_view rest = sxid->substr(end + 1);
    take(rest, ":");
    const std::int64_t code = take_number(rest).value_or(0);
    take(rest, ",");
    return add(EventKind::nvlink_error, std::move(who), code, trimmed(rest), text, "dmesg_xid", facts);
  }

  /// "Out of memory: Killed process 3188 (python3)", "oom-kill:...,task=python3,pid=3188,uid=0".
  static bool read_memory(std::string_view text, Who who, Facts& facts) {
    auto pid = number_after(text, "Killed process ");
    if (!pid && contains(text, "oom-kill:")) pid = number_after(text, ",pid=");
    if (pid && contains_ignoring_case(text, "oom")) {
      who.pid = *pid;
      return add(EventKind::oom_kill, std::move(who), 0, "kernel", text, "dmesg_oom", facts);
    }
    if (pid && contains_ignoring_case(text, "out of memory")) {
      who.pid = *pid;
      return add(EventKind::oom_kill, std::move(who), 0, contains(text, "cgroup") ? "cgroup" : "kernel", text,
                 "dmesg_oom", facts);
    }
    if (!contains(text, "invoked oom-killer") && !contains(text, "oom_reaper")) return false;
    facts.format("dmesg_oom");
    return true;
  }

  /// "python3[3188]: segfault at 0 ip ... ", "INFO: task python3:3188 blocked for more than 120 seconds."
  static bool read_process(std::string_view text, Who who, Facts& facts) {
    if (const std::size_t at = text.find("]: segfault at "); at != std::string_view::npos) {
      const std::size_t open = text.substr(0, at).rfind('[');
      who.pid =
          open == std::string_view::npos ? kUnknown : number_after(text.substr(open), "[").value_or(kUnknown);
      return add(EventKind::segfault, std::move(who), 0, "kernel", text, "dmesg_oom", facts);
    }
    if (contains(text, " blocked for more than ") && contains(text, "task ")) {
      const std::size_t colon = text.substr(0, text.find(" blocked for")).rfind(':');
      if (colon != std::string_view::npos) who.pid = number_after(text.substr(colon), ":").value_or(kUnknown);
      return add(EventKind::unresponsive, std::move(who), number_after(text, "more than ").value_or(0),
                 "blocked in the kernel", text, "dmesg", facts);
    }
    if (!text.starts_with("PM: suspend") && !contains(text, "Suspending system") &&
        !contains(text, "PM: hibernation"))
      return false;
    return add(EventKind::stopped, std::move(who), 0, "suspend", text, "dmesg", facts);
  }

  /// "mlx5_core 0000:5e:00.0 ens1f0: Link down", "pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error
  /// received".
  static bool read_link(std::string_view text, Who who, Facts& facts) {
    const auto driver = after(text, "mlx5_core ");
    if (driver && (contains_ignoring_case(text, "link down") || contains_ignoring_case(text, "port down") ||
                   contains_ignoring_case(text, "cable"))) {
      std::string_view rest = *driver;
      who.bus_id = bus_id_of(take_word(rest));
      return add(EventKind::port_error, std::move(who), 0, trimmed(rest).substr(0, 80), text, "dmesg", facts);
    }
    if (contains(text, "mlx5_") && (contains(text, "port error") || contains(text, "state DOWN")))
      return add(EventKind::port_error, std::move(who), 0, text.substr(0, 80), text, "dmesg", facts);
    if (const auto port = after(text, "pcieport "); port && contains(text, "AER:")) {
      std::string_view rest = *port;
      std::string_view id = take_word(rest);
      while (id.ends_with(':')) id.remove_suffix(1);
      who.bus_id = bus_id_of(id);
      return add(EventKind::other, std::move(who), 0, concat("AER", trimmed(rest).substr(0, 100)), text,
                 "dmesg", facts);
    }
    if (!contains(text, "NIC Link is Down") && !contains(text, "Lost carrier")) return false;
    return add(EventKind::port_error, std::move(who), 0, text.substr(0, 80), text, "dmesg", facts);
  }
};

}  // namespace

std::unique_ptr<LineReader> make_kernel_reader() { return std::make_unique<KernelReader>(); }

}  // namespace ringcomm::inline v0::diag::text
