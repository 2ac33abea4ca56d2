// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/cost_model.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/try.hpp"
#include "ringcomm/config.hpp"
#include "ringcomm/core/text.hpp"
#if RINGCOMM_HAVE_JSON
#include "topology/readers/cost_json.hpp"
#endif

namespace ringcomm::inline v0 {
namespace {

constexpr std::string_view kTableOrigin = "table (NCCL graph/topo.h and tuning constants)";

// Per hop of a ring with large blocks, microseconds (NCCL tuning constants, Simple protocol): NVLink 3.4,
// PCIe 5.7, network 14. Nothing is known of LOC, C2C, P2C and PXN.
constexpr double kNvlinkAlphaUs = 3.4;
constexpr double kPcieAlphaUs = 5.7;
constexpr double kNetworkAlphaUs = 14.0;
// NCCL's x16 figures over raw: 12 of 15.75, 24 of 31.5, 48 of 63.
constexpr double kPcieShareOfRaw = 0.762;
// The same device (NCCL's LOC_BW).
constexpr double kLocalGbPerS = 5000;

std::optional<double> alpha_of(PathClass path_class) {
  switch (path_class) {
    case PathClass::nvl:
    case PathClass::nvb:
      return kNvlinkAlphaUs;
    case PathClass::pix:
    case PathClass::pxb:
    case PathClass::phb:
    case PathClass::node:
    case PathClass::sys:
      return kPcieAlphaUs;
    case PathClass::net:
      return kNetworkAlphaUs;
    default:
      return std::nullopt;
  }
}

struct NamedGeneration {
  std::string_view word;
  int compute_capability;
};
// Data-centre products whose name tells the generation where the source has no compute capability.
constexpr std::array kGenerations{
    NamedGeneration{"P100", 60},   NamedGeneration{"V100", 70},  NamedGeneration{"A100", 80},
    NamedGeneration{"A800", 80},   NamedGeneration{"H100", 90},  NamedGeneration{"H200", 90},
    NamedGeneration{"H800", 90},   NamedGeneration{"H20", 90},   NamedGeneration{"GH200", 90},
    NamedGeneration{"B200", 100},  NamedGeneration{"B300", 103}, NamedGeneration{"GB200", 100},
    NamedGeneration{"GB300", 103}, NamedGeneration{"A6000", 86}, NamedGeneration{"3090", 86}};

std::optional<int> generation_of(const Gpu& gpu) {
  if (gpu.compute_capability) return gpu.compute_capability;
  std::string_view rest = gpu.name;
  while (!rest.empty()) {
    const std::size_t past = std::min(rest.find_first_of(" -_"), rest.size());
    const auto word = rest.substr(0, past);
    for (const auto& known : kGenerations) {
      if (word == known.word) return known.compute_capability;
    }
    rest.remove_prefix(std::min(past + 1, rest.size()));
  }
  return std::nullopt;
}

bool is_arm(const Package& package) { return package.arch == "arm64" || package.arch == "aarch64"; }

std::optional<double> intel_gb_per_s(const Package& package) {
  if (package.family != 6 || !package.model) return std::nullopt;
  // UPI and QPI by model, as NCCL has them: Emerald Rapids 207, Sapphire Rapids 143, Skylake 85, older.
  if (*package.model >= 0xcf) return 40;
  if (*package.model >= 0x8f) return 22;
  if (*package.model >= 0x55) return 10;
  return 6;
}

}  // namespace

CostModel CostModel::table() {
  CostModel model;
  for (int i = 0; i <= static_cast<int>(PathClass::unknown); ++i) {
    ClassCost cost{.path_class = static_cast<PathClass>(i)};
    cost.alpha_us = alpha_of(cost.path_class);
    if (cost.path_class == PathClass::loc) cost.gb_per_s = kLocalGbPerS;
    if (cost.alpha_us || cost.gb_per_s) {
      cost.source = Source::table;
      cost.where = kTableOrigin;
    }
    model.classes_.push_back(std::move(cost));
  }
  return model;
}

Result<CostModel> CostModel::from_json(std::string_view text, const std::string& file) {
#if RINGCOMM_HAVE_JSON
  RINGCOMM_TRY_ASSIGN(const auto measured, topology::cost_json::read(text, file));
  CostModel model = table();
  model.measured_kind_ = measured.kind;
  model.merge_limits_ = measured.merge;
  for (const auto& cost : measured.classes) model.classes_[static_cast<std::size_t>(cost.path_class)] = cost;
  return model;
#else
  (void)text;
  return Status(StatusCode::not_available,
                concat(file, " is not read: this build has no JSON reader (RINGCOMM_WITH_JSON)"));
#endif
}

const ClassCost& CostModel::of(PathClass path_class) const {
  return classes_[static_cast<std::size_t>(path_class)];
}

bool CostModel::is_measured() const {
  return std::ranges::any_of(classes_, [](const auto& cost) { return cost.source == Source::measured; });
}

bool CostModel::is_measured_between(PartKind kind) const { return is_measured() && kind == measured_kind_; }

std::optional<double> CostModel::nvlink_gb_per_s(const Gpu& gpu) const {
  if (gpu.vendor == GpuVendor::amd) {
    // 64 raw of MI300X (vendor data sheet); older xGMI differs by product and is not told by the evidence.
    constexpr double kMi300PlannedGbPerS = 64 * 0.75;
    const bool is_mi300 = gpu.name.find("MI300X") != std::string::npos || gpu.compute_capability == 942;
    return is_mi300 ? std::optional(kMi300PlannedGbPerS) : std::nullopt;
  }
  const auto generation = generation_of(gpu);
  if (!generation) return std::nullopt;
  // NVLink per link and direction as NCCL plans with it (graph/topo.h): P100 18, V100 and A100 20, GA10x
  // bridge 12, Hopper 20.6, Blackwell 40.1.
  if (*generation >= 100 && *generation < 120) return 40.1;
  if (*generation >= 90 && *generation < 100) return 20.6;
  if (*generation == 86) return 12;
  if (*generation == 80) return 20;
  if (*generation >= 70 && *generation < 80) return 20;
  if (*generation >= 60 && *generation < 70) return 18;
  return std::nullopt;
}

std::optional<double> CostModel::pcie_gb_per_s(const PciLink& link) const {
  if (!link.gt_per_s || !link.width) {
    if (!link.stated_gb_per_s || !(*link.stated_gb_per_s > 0)) return std::nullopt;
    return *link.stated_gb_per_s * kPcieShareOfRaw;
  }
  if (*link.width <= 0) return std::nullopt;
  struct Generation {
    double gt_per_s;
    double x16_gb_per_s;
  };
  // NCCL's x16 figures, 0.75 to 0.79 of raw (topology spec 2.1).
  constexpr std::array kGenerationsOfPcie{Generation{2.5, 3}, Generation{5, 6},   Generation{8, 12},
                                          Generation{16, 24}, Generation{32, 48}, Generation{64, 96}};
  for (const auto& generation : kGenerationsOfPcie) {
    if (*link.gt_per_s == generation.gt_per_s) return generation.x16_gb_per_s * *link.width / 16;
  }
  return std::nullopt;
}

std::optional<double> CostModel::cpu_gb_per_s(const Package& package) const {
  // Between sockets, as NCCL plans (graph/topo.h); vendors as cpuid spells them.
  if (package.vendor == "GenuineIntel") return intel_gb_per_s(package);
  if (package.vendor == "AuthenticAMD") return 16;
  if (package.vendor == "CentaurHauls" || package.vendor == "  Shanghai  ") return 6;
  if (package.vendor == "IBM" || package.arch == "ppc64" || package.arch == "ppc64le") return 32;
  if (package.vendor == "ARM" || is_arm(package)) return 6;
  return std::nullopt;
}

}  // namespace ringcomm::inline v0
