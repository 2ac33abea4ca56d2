// SPDX-License-Identifier: Apache-2.0
// Counts every operator new of the program that links allocation_count.cpp. Not with sanitizers: they replace
// it too.
#pragma once

namespace ringcomm::test {

/// Allocations so far, all threads.
long allocations();

}  // namespace ringcomm::test
