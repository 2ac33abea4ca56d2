// SPDX-License-Identifier: Apache-2.0
// Everything a user of the library includes (without interop/).
#pragma once

#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/exchange.hpp"
#include "ringcomm/collectives/reduce.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/comm/parallel_grid.hpp"
#include "ringcomm/core/call_site.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/core/tensor_view.hpp"
#include "ringcomm/diag/host_checks.hpp"
#include "ringcomm/diag/topology_checks.hpp"
#include "ringcomm/topology/cluster_rings.hpp"
#include "ringcomm/topology/discover.hpp"
#include "ringcomm/topology/machine_rings.hpp"
#include "ringcomm/topology/nccl_xml.hpp"
#include "ringcomm/version.hpp"
