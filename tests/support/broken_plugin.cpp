// SPDX-License-Identifier: Apache-2.0
// Plug-ins that the loader must refuse: one of another version, one without a port.
#include "transport/plugin_abi.hpp"

#ifdef RINGCOMM_PLUGIN_stale
extern "C" [[gnu::visibility("default")]] const int ringcomm_stale_abi;
const int ringcomm_stale_abi = 9'90'01;  // 9.90.1
#else
extern "C" [[gnu::visibility("default")]] const int ringcomm_toothless_abi;
const int ringcomm_toothless_abi = ringcomm::transport::kPluginAbi;
#endif
