// SPDX-License-Identifier: Apache-2.0
// Communicators of ranks that meet by a unique id or by the caller's own all-gather.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "capi/border.hpp"
#include "capi/handles.hpp"
#include "core/try.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/env.hpp"

namespace ringcomm::inline v0::capi {
namespace {

constexpr ringcommOob_t kNoOob = RINGCOMM_OOB_INITIALIZER;
constexpr std::chrono::microseconds kPoll{50};

static_assert(sizeof(ringcommUniqueId) == UniqueId::kBytes);

/// Of the meeting itself: the communicator's, which is not resolved yet.
Result<Deadline> meeting_deadline(const CommunicatorOptions& options) {
  if (options.deadline.count() > 0) return Deadline::after(options.deadline);
  RINGCOMM_TRY_ASSIGN(const std::int64_t milliseconds, env_milliseconds("RINGCOMM_TIMEOUT"));
  return Deadline::after(std::chrono::milliseconds(milliseconds));
}

Status finish(ringcommComm_t* comm, std::unique_ptr<Bootstrap> group, const ConfigRead& read) {
  RINGCOMM_TRY_ASSIGN(Communicator made, Communicator::create(std::move(group), read.options));
  *comm = make_handle(std::move(made), read.name);
  return {};
}

Status get_unique_id(ringcommUniqueId* id) {
  RINGCOMM_TRY(not_null(id, "id"));
  RINGCOMM_TRY_ASSIGN(const UniqueId made, create_unique_id());
  std::memcpy(id->internal, made.bytes.data(), UniqueId::kBytes);
  return {};
}

Status init_rank(ringcommComm_t* comm, int nranks, const ringcommUniqueId& id, int rank,
                 const ringcommConfig_t* config) {
  RINGCOMM_TRY(not_null(comm, "comm"));
  *comm = nullptr;
  RINGCOMM_TRY_ASSIGN(const ConfigRead read, read_config(config));
  UniqueId unique;
  std::memcpy(unique.bytes.data(), id.internal, UniqueId::kBytes);
  RINGCOMM_TRY_ASSIGN(const Deadline deadline, meeting_deadline(read.options));
  RINGCOMM_TRY_ASSIGN(auto group, bootstrap_unique_id(unique, rank, nranks, deadline));
  return finish(comm, std::move(group), read);
}

Status of_callback(std::string_view name, ringcommResult_t result) {
  if (result == ringcommSuccess) return {};
  return Status::unreachable(
      concat("the caller's ", name, " returned ", int{result}, " (", ringcommGetErrorString(result), ")"));
}

/// One all-gather through the caller's three functions; the request is freed whatever happened.
Status gather_through(const ringcommOob_t& oob, std::span<const std::byte> mine, std::span<std::byte> all,
                      Deadline deadline) {
  void* request = nullptr;
  RINGCOMM_TRY(
      of_callback("allgather", oob.allgather(mine.data(), all.data(), mine.size(), oob.info, &request)));
  Status status;
  for (;;) {
    const ringcommResult_t result = oob.reqTest(request);
    if (result != ringcommInProgress) {
      status = of_callback("reqTest", result);
      break;
    }
    if (deadline.is_expired()) {
      status = Status::timeout("the caller's all-gather did not end in time (reqTest says in progress)");
      break;
    }
    std::this_thread::sleep_for(kPoll);
  }
  const Status freed = of_callback("reqFree", oob.reqFree(request));
  return status.is_ok() ? freed : status;
}

Status init_oob(ringcommComm_t* comm, const ringcommOob_t* given, const ringcommConfig_t* config) {
  RINGCOMM_TRY(not_null(comm, "comm"));
  *comm = nullptr;
  RINGCOMM_TRY(not_null(given, "oob"));
  RINGCOMM_TRY_ASSIGN(const ringcommOob_t oob, read_sized("ringcommOob_t", given, kNoOob));
  if (oob.allgather == nullptr || oob.reqTest == nullptr || oob.reqFree == nullptr)
    return Status::invalid_argument("ringcommOob_t needs all of allgather, reqTest and reqFree");
  RINGCOMM_TRY_ASSIGN(const ConfigRead read, read_config(config));
  RINGCOMM_TRY_ASSIGN(const Deadline deadline, meeting_deadline(read.options));
  const auto gather = [oob](std::span<const std::byte> mine, std::span<std::byte> all, Deadline until) {
    return gather_through(oob, mine, all, until);
  };
  RINGCOMM_TRY_ASSIGN(auto group, bootstrap_callback(oob.rank, oob.nranks, gather, deadline));
  return finish(comm, std::move(group), read);
}

}  // namespace
}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;

extern "C" {

ringcommResult_t ringcommGetUniqueId(ringcommUniqueId* id) {
  return capi::run("ringcommGetUniqueId", [&] { return capi::get_unique_id(id); });
}

ringcommResult_t ringcommCommInitRank(ringcommComm_t* comm, int nranks, ringcommUniqueId id, int rank) {
  return capi::run("ringcommCommInitRank", [&] { return capi::init_rank(comm, nranks, id, rank, nullptr); });
}

ringcommResult_t ringcommCommInitRankConfig(ringcommComm_t* comm, int nranks, ringcommUniqueId id, int rank,
                                            const ringcommConfig_t* config) {
  return capi::run("ringcommCommInitRankConfig",
                   [&] { return capi::init_rank(comm, nranks, id, rank, config); });
}

ringcommResult_t ringcommCommInitOob(ringcommComm_t* comm, const ringcommOob_t* oob,
                                     const ringcommConfig_t* config) {
  return capi::run("ringcommCommInitOob", [&] { return capi::init_oob(comm, oob, config); });
}
}
