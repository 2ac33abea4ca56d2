// SPDX-License-Identifier: Apache-2.0
#include "device/host/memory_policy.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr int kModePreferred = 1;  // MPOL_PREFERRED, linux/mempolicy.h
constexpr int kNodesMax = 1024;
constexpr int kBitsPerWord = sizeof(unsigned long) * CHAR_BIT;

using NodeMask = std::array<unsigned long, kNodesMax / kBitsPerWord>;

bool set_node(NodeMask& mask, int node) {
  if (node < 0 || node >= kNodesMax) return false;
  mask[static_cast<std::size_t>(node / kBitsPerWord)] = 1UL << (node % kBitsPerWord);
  return true;
}

void log_refusal(const char* call, int node, int error) {
  log(LogLevel::info, concat("memory not placed on node ", node, " (", call, ": ",
                             std::system_category().message(error), ")"));
}

}  // namespace

void prefer_memory_node(void* data, std::size_t bytes, int node) {
  if (node == -1) return;
  NodeMask mask{};
  if (!set_node(mask, node)) return log_refusal("mbind", node, EINVAL);
  // The kernel reads one bit less than maxnode says.
  if (syscall(SYS_mbind, data, bytes, kModePreferred, mask.data(), kNodesMax + 1, 0) != 0) {
    log_refusal("mbind", node, errno);
  }
}

void prefer_memory_node_of_this_thread(int node) {
  if (node == -1) return;
  NodeMask mask{};
  if (!set_node(mask, node)) return log_refusal("set_mempolicy", node, EINVAL);
  if (syscall(SYS_set_mempolicy, kModePreferred, mask.data(), kNodesMax + 1) != 0) {
    log_refusal("set_mempolicy", node, errno);
  }
}

}  // namespace ringcomm::inline v0
