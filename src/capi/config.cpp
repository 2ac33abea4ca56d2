// SPDX-License-Identifier: Apache-2.0
#include "capi/border.hpp"
#include "capi/handles.hpp"
#include "comm/settings.hpp"
#include "core/try.hpp"

namespace ringcomm::inline v0::capi {
namespace {

constexpr ringcommConfig_t kUnset = RINGCOMM_CONFIG_INITIALIZER;
constexpr int kWaitStyles = 3;

Status read_waits(const ringcommConfig_t& config, CommunicatorOptions& options) {
  if (config.timeoutMs != RINGCOMM_UNSET) {
    if (config.timeoutMs <= 0)
      return Status::invalid_argument(
          concat("ringcommConfig_t.timeoutMs is ", config.timeoutMs, " (it must be positive)"));
    options.deadline = std::chrono::milliseconds(config.timeoutMs);
  }
  if (config.waitStyle != RINGCOMM_UNSET) {
    if (config.waitStyle < 0 || config.waitStyle >= kWaitStyles)
      return Status::invalid_argument(concat("ringcommConfig_t.waitStyle is ", config.waitStyle,
                                             " (0 automatic, 1 own_core, 2 oversubscribed)"));
    options.wait_style = static_cast<WaitStyle>(config.waitStyle);
  }
  return {};
}

}  // namespace

Result<ConfigRead> read_config(const ringcommConfig_t* given) {
  RINGCOMM_TRY_ASSIGN(const ringcommConfig_t config, read_sized("ringcommConfig_t", given, kUnset));
  ConfigRead read;
  RINGCOMM_TRY(read_waits(config, read.options));
  if (config.blocking != RINGCOMM_UNSET && config.blocking != 1) {
    return Status::not_available(concat("ringcommConfig_t.blocking is ", config.blocking,
                                        " (only 1; give operations a stream to go on meanwhile)"));
  }
  read.options.arena_bytes = config.arenaBytes;
  if (config.transports != nullptr) {
    RINGCOMM_TRY_ASSIGN(read.options.transports,
                        comm::named_transports(config.transports, "ringcommConfig_t.transports"));
  }
  if (config.commName != nullptr) read.name = config.commName;
  return read;
}

ringcommComm_t make_handle(Communicator made, const std::string& name) {
  auto handle = std::make_unique<ringcommComm>(std::move(made));
  handle->rank = handle->communicator.rank();
  handle->size = handle->communicator.size();
  handle->name = name;
  for (int peer = 0; peer < handle->size; ++peer)
    handle->path_names.emplace_back(handle->communicator.path_name(peer));
  return handle.release();
}

}  // namespace ringcomm::inline v0::capi
