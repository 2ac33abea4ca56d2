// SPDX-License-Identifier: Apache-2.0
// Threads and processes over ucx meet the shared claims, over tcp, over shared memory, and as UCX itself
// would choose.
#include "conformance/transport_suite.hpp"
#include "transport/ucx/ucx_harness.hpp"

namespace ringcomm::conformance {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(UcxTcpThreads, TransportConformance, UcxThreadHarness<TcpWay>);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxTcpProcesses, TransportConformance, UcxProcessHarness<TcpWay>);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxPosixThreads, TransportConformance, UcxThreadHarness<PosixWay>);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxPosixProcesses, TransportConformance, UcxProcessHarness<PosixWay>);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxProcesses, TransportConformance, UcxProcessHarness<AutomaticWay>);

}  // namespace
}  // namespace ringcomm::conformance
