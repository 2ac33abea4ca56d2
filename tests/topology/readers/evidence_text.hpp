// SPDX-License-Identifier: Apache-2.0
// Files of evidence for the readers' tests: our own and, where it is there, the shared set of captured
// machines.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"
#include "test_paths.hpp"

namespace ringcomm::testing {

inline const std::string kOwnData = RINGCOMM_SOURCE_DIR "/tests/data/topology/";
inline const std::string kSharedData = RINGCOMM_SOURCE_DIR "/../shared/data/topology/";

inline bool has_shared_data() { return std::filesystem::exists(kSharedData); }

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// True when some skipped line is `line` and its reason holds `reason`.
inline bool has_skipped(const Reading& reading, int line, std::string_view reason) {
  return std::ranges::any_of(reading.skipped, [&](const Skipped& skipped) {
    return skipped.where.line == line && skipped.reason.find(reason) != std::string::npos;
  });
}

/// All skipped lines in one text, for messages of tests.
inline std::string skipped_text(const Reading& reading) {
  std::string text;
  for (const Skipped& skipped : reading.skipped)
    text += skipped.where.to_text() + ": '" + skipped.text + "': " + skipped.reason + "\n";
  return text;
}

inline int position_of_nic(const Machine& machine, std::string_view name) {
  const auto nic = std::ranges::find(machine.nics, name, &Nic::name);
  return nic == machine.nics.end() ? -1 : static_cast<int>(nic - machine.nics.begin());
}

/// "NV4", "PIX", ... of the stated path; "none" when there is none.
inline std::string stated(const Machine& machine, DeviceRef from, DeviceRef to) {
  for (const StatedPath& path : machine.stated_paths) {
    if (path.from != from || path.to != to) continue;
    return path.nvlinks ? "NV" + std::to_string(*path.nvlinks) : std::string(name_of(path.path_class));
  }
  return "none";
}
inline DeviceRef gpu_ref(int position) { return {PartKind::gpu, position}; }
inline DeviceRef nic_ref(int position) { return {PartKind::nic, position}; }

}  // namespace ringcomm::testing
