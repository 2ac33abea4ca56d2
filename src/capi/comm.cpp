// SPDX-License-Identifier: Apache-2.0
// Communicators of threads and from the environment; their life, queries and end.
#include <utility>

#include "capi/border.hpp"
#include "capi/operation.hpp"
#include "core/try.hpp"

namespace ringcomm::inline v0::capi {
namespace {

Status init_all(ringcommComm_t* comms, int n, const ringcommConfig_t* config) {
  RINGCOMM_TRY(not_null(comms, "comms"));
  RINGCOMM_TRY_ASSIGN(const ConfigRead read, read_config(config));
  RINGCOMM_TRY_ASSIGN(auto made, Communicator::create_local(n, read.options));
  std::vector<std::unique_ptr<ringcommComm>> handles;
  for (Communicator& one : made) handles.emplace_back(make_handle(std::move(one), read.name));
  for (std::size_t rank = 0; rank < handles.size(); ++rank) comms[rank] = handles[rank].release();
  return {};
}

Status init_env(ringcommComm_t* comm, const ringcommConfig_t* config) {
  RINGCOMM_TRY(not_null(comm, "comm"));
  *comm = nullptr;
  RINGCOMM_TRY_ASSIGN(const ConfigRead read, read_config(config));
  RINGCOMM_TRY_ASSIGN(Communicator made, Communicator::from_environment(read.options));
  *comm = make_handle(std::move(made), read.name);
  return {};
}

Status destroy(ringcommComm_t comm) {
  RINGCOMM_TRY(outside_group());
  if (const int alive = comm->rotations.load(); alive != 0) {
    return Status::not_available(
        concat(alive, " rotations of the communicator are alive (destroy them first)"));
  }
  comm->mark = 0;
  delete comm;
  return {};
}

}  // namespace

Status check_handle(const ringcommComm* comm) {
  RINGCOMM_TRY(not_null(comm, "comm"));
  if (comm->is_alive()) return {};
  return Status::invalid_argument("comm is no communicator, or was destroyed");
}

}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;
using ringcomm::concat;
using ringcomm::Status;

extern "C" {

ringcommResult_t ringcommCommInitAll(ringcommComm_t* comms, int n, const ringcommConfig_t* config) {
  return capi::run("ringcommCommInitAll", [&] { return capi::init_all(comms, n, config); });
}

ringcommResult_t ringcommCommInitEnv(ringcommComm_t* comm, const ringcommConfig_t* config) {
  return capi::run("ringcommCommInitEnv", [&] { return capi::init_env(comm, config); });
}

ringcommResult_t ringcommCommFinalize(ringcommComm_t comm) {
  return capi::run_on("ringcommCommFinalize", comm, [](ringcommComm& handle) -> Status {
    RINGCOMM_TRY(capi::outside_group());
    handle.is_finalized = true;
    return handle.last_work.wait(ringcomm::Deadline::after(handle.communicator.deadline()));
  });
}

// Not run_on(): the communicator is gone when the result is reported.
ringcommResult_t ringcommCommDestroy(ringcommComm_t comm) {
  return capi::run("ringcommCommDestroy", [&]() -> Status {
    RINGCOMM_TRY(capi::check_handle(comm));
    return capi::destroy(comm);
  });
}

ringcommResult_t ringcommCommAbort(ringcommComm_t comm) {
  return capi::run_on("ringcommCommAbort", comm, [](ringcommComm& handle) {
    handle.communicator.abort("ringcommCommAbort");
    return Status();
  });
}

ringcommResult_t ringcommCommRevoke(ringcommComm_t comm) {
  return capi::run_on("ringcommCommRevoke", comm, [](ringcommComm& handle) {
    handle.communicator.abort(capi::kRevoked);
    return Status();
  });
}

ringcommResult_t ringcommCommCount(ringcommComm_t comm, int* count) {
  return capi::run_on("ringcommCommCount", comm, [&](ringcommComm& handle) -> Status {
    RINGCOMM_TRY(capi::not_null(count, "count"));
    *count = handle.size;
    return {};
  });
}

ringcommResult_t ringcommCommUserRank(ringcommComm_t comm, int* rank) {
  return capi::run_on("ringcommCommUserRank", comm, [&](ringcommComm& handle) -> Status {
    RINGCOMM_TRY(capi::not_null(rank, "rank"));
    *rank = handle.rank;
    return {};
  });
}

ringcommResult_t ringcommCommGetAsyncError(ringcommComm_t comm, ringcommResult_t* error) {
  return capi::run_on("ringcommCommGetAsyncError", comm, [&](ringcommComm& handle) -> Status {
    RINGCOMM_TRY(capi::not_null(error, "error"));
    *error = capi::report("ringcommCommGetAsyncError", &handle, handle.communicator.health());
    return {};
  });
}

ringcommResult_t ringcommCommPathName(ringcommComm_t comm, int peer, const char** name) {
  return capi::run_on("ringcommCommPathName", comm, [&](ringcommComm& handle) -> Status {
    RINGCOMM_TRY(capi::not_null(name, "name"));
    if (peer < 0 || peer >= handle.size)
      return Status::invalid_argument(
          concat("peer ", peer, " is no rank of a communicator of ", handle.size));
    *name = handle.path_names[static_cast<std::size_t>(peer)].c_str();
    return {};
  });
}
}
