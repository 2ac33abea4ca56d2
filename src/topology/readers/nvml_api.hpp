// SPDX-License-Identifier: Apache-2.0
// The part of NVML's C interface that is asked, declared by ourselves so that no NVIDIA header is needed to
// build. Source of names, layouts and numbers: NVIDIA, NVML API Reference Guide (vR550), and its nvml.h.
#pragma once

#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::topology::nvml {

using Device = void*;  // nvmlDevice_t
using Return = int;    // nvmlReturn_t

inline constexpr Return kSuccess = 0;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr unsigned kLinksMax = 36;  // NVML_NVLINK_MAX_LINKS is 18 up to NVLink 5; Rubin announces 36

struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;  // device << 16 | vendor
  unsigned pci_subsystem_id;
  char bus_id[32];
};
struct Bar1Memory {  // nvmlBAR1Memory_t, bytes
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct FabricInfo {  // nvmlGpuFabricInfo_t
  unsigned char cluster_uuid[16];
  Return status;
  unsigned clique_id;
  unsigned char state;  // 0 not supported, 1 not started, 2 in progress, 3 completed
};

// nvmlIntNvLinkDeviceType_t
inline constexpr int kRemoteGpu = 0;
inline constexpr int kRemoteNpu = 1;  // a POWER CPU
inline constexpr int kRemoteSwitch = 2;

// nvmlMemoryErrorType_t, nvmlEccCounterType_t
inline constexpr int kUncorrected = 1;
inline constexpr int kVolatile = 0;

/// A function that this NVML lacks is null: older drivers have fewer.
struct Api {
  Return (*count)(unsigned*) = nullptr;                          // nvmlDeviceGetCount_v2
  Return (*handle)(unsigned, Device*) = nullptr;                 // nvmlDeviceGetHandleByIndex_v2
  Return (*pci)(Device, PciInfo*) = nullptr;                     // nvmlDeviceGetPciInfo_v3
  Return (*uuid)(Device, char*, unsigned) = nullptr;             // nvmlDeviceGetUUID
  Return (*name)(Device, char*, unsigned) = nullptr;             // nvmlDeviceGetName
  Return (*compute_capability)(Device, int*, int*) = nullptr;    // nvmlDeviceGetCudaComputeCapability
  Return (*link_state)(Device, unsigned, int*) = nullptr;        // nvmlDeviceGetNvLinkState
  Return (*link_remote)(Device, unsigned, PciInfo*) = nullptr;   // nvmlDeviceGetNvLinkRemotePciInfo_v2
  Return (*link_remote_type)(Device, unsigned, int*) = nullptr;  // nvmlDeviceGetNvLinkRemoteDeviceType
  Return (*p2p_status)(Device, Device, int, int*) = nullptr;     // nvmlDeviceGetP2PStatus
  Return (*pcie_generation)(Device, unsigned*) = nullptr;        // nvmlDeviceGetCurrPcieLinkGeneration
  Return (*pcie_width)(Device, unsigned*) = nullptr;             // nvmlDeviceGetCurrPcieLinkWidth
  Return (*pcie_generation_max)(Device, unsigned*) = nullptr;    // nvmlDeviceGetMaxPcieLinkGeneration
  Return (*pcie_width_max)(Device, unsigned*) = nullptr;         // nvmlDeviceGetMaxPcieLinkWidth
  Return (*bar1)(Device, Bar1Memory*) = nullptr;                 // nvmlDeviceGetBAR1MemoryInfo
  Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;    // nvmlDeviceGetMigMode: current, pending
  Return (*compute_mode)(Device, int*) = nullptr;                // nvmlDeviceGetComputeMode
  Return (*persistence_mode)(Device, int*) = nullptr;            // nvmlDeviceGetPersistenceMode
  Return (*ecc_errors)(Device, int, int, unsigned long long*) = nullptr;  // nvmlDeviceGetTotalEccErrors
  Return (*remapped_rows)(Device, unsigned*, unsigned*, unsigned*,
                          unsigned*) = nullptr;          // nvmlDeviceGetRemappedRows: .., .., pending, failed
  Return (*fabric_info)(Device, FabricInfo*) = nullptr;  // nvmlDeviceGetGpuFabricInfo
  Return (*clock_event_reasons)(Device,
                                unsigned long long*) = nullptr;  // nvmlDeviceGetCurrentClocksThrottleReasons
};

/// Loads libnvidia-ml.so.1, once in a process, and keeps it. not_available with the loader's reason.
Result<Api> load();

}  // namespace ringcomm::inline v0::topology::nvml
