// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <string>

#include "ringcomm/core/text.hpp"
#include "topology/readers/nvml_api.hpp"

namespace ringcomm::inline v0::topology::nvml {
namespace {

template <class Function>
void resolve(void* library, Function*& function, const char* symbol) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
}

Api functions_of(void* library) {
  Api api;
  resolve(library, api.count, "nvmlDeviceGetCount_v2");
  resolve(library, api.handle, "nvmlDeviceGetHandleByIndex_v2");
  resolve(library, api.pci, "nvmlDeviceGetPciInfo_v3");
  resolve(library, api.uuid, "nvmlDeviceGetUUID");
  resolve(library, api.name, "nvmlDeviceGetName");
  resolve(library, api.compute_capability, "nvmlDeviceGetCudaComputeCapability");
  resolve(library, api.link_state, "nvmlDeviceGetNvLinkState");
  resolve(library, api.link_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  resolve(library, api.link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
  resolve(library, api.p2p_status, "nvmlDeviceGetP2PStatus");
  resolve(library, api.pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  resolve(library, api.pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  resolve(library, api.pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration");
  resolve(library, api.pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth");
  resolve(library, api.bar1, "nvmlDeviceGetBAR1MemoryInfo");
  resolve(library, api.mig_mode, "nvmlDeviceGetMigMode");
  resolve(library, api.compute_mode, "nvmlDeviceGetComputeMode");
  resolve(library, api.persistence_mode, "nvmlDeviceGetPersistenceMode");
  resolve(library, api.ecc_errors, "nvmlDeviceGetTotalEccErrors");
  resolve(library, api.remapped_rows, "nvmlDeviceGetRemappedRows");
  resolve(library, api.fabric_info, "nvmlDeviceGetGpuFabricInfo");
  // Newer drivers say "event" for "throttle" and keep the old name.
  resolve(library, api.clock_event_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  return api;
}

Result<Api> load_anew() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    const std::string reason = error == nullptr ? "no reason given" : error;
    return Status::not_available(concat("NVML is not there: ", reason));
  }
  Return (*init)() = nullptr;
  resolve(library, init, "nvmlInit_v2");
  if (init == nullptr) return Status::not_available("libnvidia-ml.so.1 lacks nvmlInit_v2");
  if (const Return error = init(); error != kSuccess)
    return Status::not_available(concat("nvmlInit_v2 failed with ", error, " (9: the driver is not loaded)"));
  return functions_of(library);
}

}  // namespace

Result<Api> load() {
  static const Result<Api> loaded = load_anew();
  return loaded;
}

}  // namespace ringcomm::inline v0::topology::nvml
