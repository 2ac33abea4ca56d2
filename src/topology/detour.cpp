// SPDX-License-Identifier: Apache-2.0
#include "topology/detour.hpp"

#include <algorithm>
#include <cstddef>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::topology {
namespace {

constexpr double kNvlinkPerNicMin = 2;

Bandwidth slower(const Bandwidth& a, const Bandwidth& b) {
  if (!a.gb_per_s || !b.gb_per_s) return {};
  return *a.gb_per_s <= *b.gb_per_s ? a : b;
}

/// Positions of the GPUs, in planning order: of equal detours the first is taken, whatever the numbering.
std::vector<std::size_t> gpus_in_order(const DetourInput& input) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < input.places.size(); ++i) {
    if (input.places[i].device.kind == PartKind::gpu) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return comes_before(input.machine, input.places[a], input.places[b]);
  });
  return order;
}

bool is_wider(const Path& path, const Path& than) {
  if (path.nvlinks && than.nvlinks && path.nvlinks != than.nvlinks) return *path.nvlinks > *than.nvlinks;
  return path.bandwidth.gb_per_s.value_or(0) > than.bandwidth.gb_per_s.value_or(0);
}

Path joined(const Path& first, const Path& second, std::string reason) {
  Path path{.path_class = PathClass::nvb};
  path.bandwidth = slower(first.bandwidth, second.bandwidth);
  if (first.nvlinks && second.nvlinks) path.nvlinks = std::min(*first.nvlinks, *second.nvlinks);
  path.reason = std::move(reason);
  return path;
}

}  // namespace

std::optional<double> port_gb_per_s(const Nic& nic) {
  std::optional<double> best;
  for (const auto& port : nic.ports) {
    if (port.gbit_per_s && (!best || *port.gbit_per_s / 8 > *best)) best = *port.gbit_per_s / 8;
  }
  return best;
}

bool is_over_pci(PathClass path_class) {
  return path_class == PathClass::pix || path_class == PathClass::pxb || path_class == PathClass::phb ||
         path_class == PathClass::node || path_class == PathClass::sys;
}

void add_nvlink_detours(const DetourInput& input, PathMatrix& matrix) {
  const auto gpus = gpus_in_order(input);
  const std::size_t size = matrix.devices.size();
  std::vector<std::vector<std::size_t>> neighbours(size);
  for (const std::size_t a : gpus) {
    for (const std::size_t b : gpus) {
      if (a != b && matrix.at(a, b).path_class == PathClass::nvl) neighbours[a].push_back(b);
    }
  }
  for (const std::size_t a : gpus) {
    for (const std::size_t b : gpus) {
      Path& path = matrix.paths[(a * size) + b];
      if (a == b || input.is_stated[(a * size) + b] || !is_over_pci(path.path_class)) continue;
      Path best;
      for (const std::size_t via : neighbours[a]) {
        const Path& second = matrix.at(via, b);
        if (via == b || second.path_class != PathClass::nvl) continue;
        Path detour = joined(matrix.at(a, via), second,
                             concat("over ", name_of(input.machine, input.places[via].device)));
        if (best.path_class == PathClass::unknown || is_wider(detour, best)) best = std::move(detour);
      }
      if (best.path_class == PathClass::unknown) continue;
      const auto direct = path.bandwidth.gb_per_s;
      if (direct && best.bandwidth.gb_per_s && *best.bandwidth.gb_per_s <= *direct) continue;
      path = std::move(best);
    }
  }
}

void add_nic_detours(const DetourInput& input, PathMatrix& matrix) {
  const auto gpus = gpus_in_order(input);
  const std::size_t size = matrix.devices.size();
  for (std::size_t nic = 0; nic < size; ++nic) {
    if (matrix.devices[nic].kind != PartKind::nic) continue;
    const auto rate =
        port_gb_per_s(input.machine.nics[static_cast<std::size_t>(matrix.devices[nic].position)]);
    std::vector<std::size_t> near;
    for (const std::size_t gpu : gpus) {
      if (matrix.at(gpu, nic).path_class <= PathClass::pxb) near.push_back(gpu);
    }
    for (const std::size_t gpu : gpus) {
      Path& path = matrix.paths[(gpu * size) + nic];
      if (input.is_stated[(gpu * size) + nic] || !is_over_pci(path.path_class) ||
          path.path_class <= PathClass::pxb)
        continue;
      const auto via = std::ranges::find_if(near, [&](std::size_t peer) {
        const Path& nvlink = matrix.at(gpu, peer);
        if (input.places[peer].host != input.places[gpu].host || nvlink.path_class != PathClass::nvl)
          return false;
        // Without both rates the first neighbour is found, to say that its way was not looked at.
        return !rate || !nvlink.bandwidth.gb_per_s || *nvlink.bandwidth.gb_per_s >= kNvlinkPerNicMin * *rate;
      });
      if (via == near.end()) continue;
      if (!rate || !matrix.at(gpu, *via).bandwidth.gb_per_s) {
        path.reason =
            concat(path.reason, "; the way over ", name_of(input.machine, input.places[*via].device),
                   " is not judged: rate of ", rate ? "its NVLinks" : "the NIC", " unknown");
        continue;
      }
      Path detour{.path_class = PathClass::pxn};
      detour.bandwidth = slower(matrix.at(gpu, *via).bandwidth, matrix.at(*via, nic).bandwidth);
      detour.crosses = matrix.at(*via, nic).crosses;
      detour.reason = concat("over ", name_of(input.machine, input.places[*via].device), ", which is ",
                             name_of(matrix.at(*via, nic).path_class), " to the NIC");
      path = std::move(detour);
      matrix.paths[(nic * size) + gpu] = [&] {
        Path back = matrix.at(gpu, nic);
        back.crosses = matrix.at(nic, *via).crosses;
        return back;
      }();
    }
  }
}

}  // namespace ringcomm::inline v0::topology
