// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/worker.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "core/try.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/ucx/check.hpp"

namespace ringcomm::inline v0::transport::ucx {
namespace {

/// Sets "UCX_<name>" for this context alone, unless the user did.
void choose(ucp_config_t* config, const char* name, const std::string& value) {
  if (std::getenv(concat("UCX_", name).c_str()) != nullptr || value.empty()) return;
  const ucs_status_t status = ucp_config_modify(config, name, value.c_str());
  if (status != UCS_OK) {
    log(LogLevel::info, concat("ucx: UCX_", name, "=", value, " is not known to this UCX"));
  }
}

/// Whether the user's UCX_TLS leaves one of these in: UCX warns of settings of what it does not use.
bool may_use(std::initializer_list<std::string_view> words) {
  const char* const value = std::getenv("UCX_TLS");
  if (value == nullptr) return true;
  std::string_view list = value;
  if (list.starts_with('^')) return true;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (std::ranges::find(words, list.substr(0, comma)) != words.end()) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

/// Settings of one transport go by another name here than in the environment, up to UCX 1.13 ("RX_SEG_SIZE",
/// which only tcp has). What newer ones make of it was not tried: they keep their own size.
bool names_lack_prefixes() {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  return major == 1 && minor <= 13;
}

/// Pieces hold what is sent eagerly (kEagerOverTcpMax and its headers): UCX's 64K are put together again in
/// memory that it allocates for each block. Through the loopback interface the other end is one copy away:
/// larger pieces cost fewer calls, and a small send buffer stays in the caches (docs/performance.md). Over a
/// wire the kernel's own size follows the distance.
void choose_for_tcp(ucp_config_t* config, const std::string& net_devices) {
  const char* const chosen = std::getenv("UCX_NET_DEVICES");
  const bool is_loopback = (chosen != nullptr ? chosen : net_devices) == "lo";
  if (std::getenv("UCX_TCP_RX_SEG_SIZE") == nullptr)
    choose(config, "RX_SEG_SIZE", is_loopback ? "776K" : "264K");
  if (is_loopback && std::getenv("UCX_TCP_SNDBUF") == nullptr) choose(config, "SNDBUF", "384K");
}

Result<ucp_context_h> make_context(int ranks, const std::string& net_devices) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return to_status(status, "reading the UCX_ variables");
  choose(config, "NET_DEVICES", net_devices);
  choose(config, "KEEPALIVE_INTERVAL", "5s");
  // Without it UCX leaves shared memory out wherever errors of peers are asked for.
  if (may_use({"all", "sm", "shm", "mm", "posix", "sysv"})) choose(config, "MM_ERROR_HANDLING", "y");
  if (may_use({"all", "tcp"}) && names_lack_prefixes()) choose_for_tcp(config, net_devices);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.estimated_num_eps = static_cast<std::size_t>(ranks);
  params.name = "ringcomm";
  ucp_context_h context = nullptr;
  status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  if (status != UCS_OK) return to_status(status, "no context (are UCX_TLS and UCX_NET_DEVICES right?)");
  return context;
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::create(int ranks, const std::string& net_devices) {
  std::unique_ptr<Worker> worker(new Worker());
  RINGCOMM_TRY_ASSIGN(worker->context_, make_context(ranks, net_devices));
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(worker->context_, &params, &worker->worker_);
  if (status != UCS_OK) return to_status(status, "no worker");
  status = ucp_worker_get_efd(worker->worker_, &worker->event_fd_);
  if (status != UCS_OK) return to_status(status, "no descriptor to wait on");
  return worker;
}

Worker::~Worker() {
  while (!registrations_.empty()) deregister_memory(registrations_.back().data);
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Result<std::vector<std::byte>> Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  const ucs_status_t status = ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return to_status(status, "no address");
  std::vector<std::byte> copy(bytes);
  std::memcpy(copy.data(), address, bytes);
  ucp_worker_release_address(worker_, address);
  return copy;
}

bool Worker::arm() { return ucp_worker_arm(worker_) == UCS_OK; }

void Worker::register_memory(std::byte* data, std::size_t bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = data;
  params.length = bytes;
  ucp_mem_h handle = nullptr;
  const ucs_status_t status = ucp_mem_map(context_, &params, &handle);
  if (status == UCS_OK) {
    registrations_.push_back({data, bytes, handle});
    return;
  }
  static std::atomic<bool> is_said = false;
  if (is_said.exchange(true)) return;
  log(LogLevel::warn, concat("ucx: ", format_bytes(bytes), " could not be registered (",
                             ucs_status_string(status), "): sent unregistered. Is ulimit -l too small?"));
}

void Worker::deregister_memory(const std::byte* data) {
  for (std::size_t i = 0; i < registrations_.size(); ++i) {
    if (registrations_[i].data != data) continue;
    ucp_mem_unmap(context_, registrations_[i].handle);
    registrations_[i] = registrations_.back();
    registrations_.pop_back();
    return;
  }
}

ucp_mem_h Worker::find_memory(const std::byte* data, std::size_t bytes) const {
  for (const Registration& registration : registrations_) {
    if (data >= registration.data && data + bytes <= registration.data + registration.bytes)
      return registration.handle;
  }
  return nullptr;
}

}  // namespace ringcomm::inline v0::transport::ucx
