// SPDX-License-Identifier: Apache-2.0
// The machine that several readings describe, while they are laid over each other one by one.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology {

/// Where the parts of one reading are in the merged machine, by their position in the reading.
struct Positions {
  std::vector<int> hosts{};
  std::vector<int> packages{};
  std::vector<int> numa_nodes{};
  std::vector<int> pci{};
  std::vector<int> gpus{};
  std::vector<int> nics{};
};

/// Nothing for a position that the reading does not have.
std::optional<int> moved(const std::vector<int>& positions, int position);
std::optional<int> moved(const std::vector<int>& positions, std::optional<int> position);
std::optional<DeviceRef> moved(const Positions& positions, DeviceRef device);

inline bool is_same(double a, double b) {
  return std::abs(a - b) <= 0.01 * std::max(std::abs(a), std::abs(b));
}
template <class T>
bool is_same(const T& a, const T& b) {
  return a == b;
}
/// "0-3,8".
std::string text_of(const std::vector<int>& cpus);
inline std::string text_of(const std::string& text) { return text; }
inline std::string text_of(const PciBusId& id) { return id.to_text(); }
inline std::string text_of(bool value) { return value ? "yes" : "no"; }
inline std::string text_of(double value) { return concat(value); }
inline std::string text_of(int value) { return concat(value); }
inline std::string text_of(std::uint64_t value) { return concat(value); }

/// The NV# cells of a GPU's row in one reading.
struct StatedCounts {
  int paths = 0;
  int sum = 0;
  int max = 0;
  Where where{};
};

class Merger {
 public:
  void add_all(const std::vector<Reading>& readings);
  MergedEvidence take();

 private:
  /// Hosts first, of all readings: names of devices depend on how many there are.
  void add_host_names(const Reading& reading);
  /// `position`: of the reading among all.
  void add(const Reading& reading, std::size_t position);
  void add_places(const Reading& reading);
  void add_pci(const Reading& reading);
  void add_gpus(const Reading& reading);
  void add_nics(const Reading& reading);
  void add_links(const Reading& reading);
  void add_stated_paths(const Reading& reading);
  void add_p2p(const Reading& reading);
  void compare_counts(const Reading& reading);

  std::optional<int> find_gpu(const Gpu& gpu, int host, const std::vector<char>& is_taken,
                              bool by_bus_only) const;
  /// Reports the bus id that was misread, and takes from `gpu` what is not of the GPU found.
  std::optional<int> find_misread_gpu(Gpu& gpu, int host);
  int add_gpu(const Gpu& gpu, int host, std::string_view format);
  std::vector<char> hosts_with_unclear_numbers(const Reading& reading) const;
  int free_index(int host) const;
  void lay_over(Gpu& target, const Gpu& gpu, const std::string& name, const Positions& at);
  /// `known`: how many NICs the readings before had.
  std::optional<int> find_nic(const Nic& nic, int host, std::size_t known) const;
  void lay_over(Nic& target, const Nic& nic, const std::string& name);
  void lay_over(Port& target, const Port& port, const std::string& name);
  void lay_over(PciDevice& target, const PciDevice& device);
  void compare_count(const std::string& subject, int count, const Where& where);
  void compare_link_totals(const Reading& reading);
  void add_stated_link_counts(const Reading& reading);
  void compare_stated_link_counts();

  /// Fills an unknown value; of two known ones the first stays, and the difference is reported.
  template <class T>
  void fill(std::optional<T>& target, const std::optional<T>& value, const std::string& subject,
            const Where& where) {
    if (!value) return;
    if (!target) {
      target = value;
      origins_.emplace(subject, where);
    } else if (!is_same(*target, *value)) {
      contradict(subject, text_of(*target), text_of(*value), where);
    }
  }
  void fill(std::string& target, const std::string& value, const std::string& subject, const Where& where);
  void contradict(const std::string& subject, std::string first, std::string second, const Where& where);
  void note(const Where& where, std::string_view text, std::string reason);
  std::string name_on(int host, const std::string& name) const;

  MergedEvidence merged_;
  Positions at_;  ///< of the reading that is being added
  std::vector<std::vector<int>> hosts_of_readings_;
  std::size_t readings_added_ = 0;
  std::size_t strong_gpus_ = 0;           ///< the first ones: sources that are no log list them
  std::map<std::string, Where> origins_;  ///< of a value, by subject
  std::map<std::string, int> counts_;
  std::map<std::pair<std::size_t, int>, StatedCounts> stated_counts_;  ///< by reading and GPU
  std::vector<char>
      weak_paths_;  ///< by stated path: its source shows no NVLinks, so another class may hide one
  std::map<std::pair<DeviceRef, DeviceRef>, std::size_t> paths_;
};

/// Fills what is unknown; a difference is not worth a word.
template <class T>
void fill_quietly(std::optional<T>& target, const std::optional<T>& value) {
  if (!target) target = value;
}
inline void fill_quietly(std::string& target, const std::string& value) {
  if (target.empty()) target = value;
}
template <class E>
requires std::is_enum_v<E>
void fill_quietly(E& target, E value) {
  if (target == E::unknown) target = value;
}

/// Sorts everything by host and name, so that the order of the readings does not show.
void sort_machine(Machine& machine);

}  // namespace ringcomm::inline v0::topology
