// SPDX-License-Identifier: Apache-2.0
#include "capi/border.hpp"

#include <string>

#include "capi/handles.hpp"

namespace ringcomm::inline v0::capi {
namespace {

constexpr std::size_t kHeadBytes = sizeof(std::size_t) + 2 * sizeof(unsigned);

std::string& thread_error() {
  thread_local std::string text;
  return text;
}

std::string describe(std::string_view call, ringcommComm* comm, const Status& status) {
  std::string where;
  if (comm != nullptr) {
    where = concat(" on rank ", comm->rank, " of ", comm->size);
    if (!comm->name.empty()) where += concat(" of \"", comm->name, '"');
  }
  return concat(call, where, ": ", name_of(status.code()), ": ", status.message());
}

}  // namespace

ringcommResult_t result_of(const Status& status) {
  switch (status.code()) {
    case StatusCode::ok:
      return ringcommSuccess;
    case StatusCode::invalid_argument:
      return ringcommInvalidArgument;
    case StatusCode::not_available:
      return ringcommInvalidUsage;
    case StatusCode::not_found:
    case StatusCode::unreachable:
    case StatusCode::out_of_memory:
      return ringcommSystemError;
    case StatusCode::timeout:
      return ringcommTimeout;
    case StatusCode::peer_lost:
      return ringcommRemoteError;
    case StatusCode::mismatch:
      return ringcommMismatch;
    case StatusCode::aborted:
      return status.message().find(kRevoked) == std::string_view::npos ? ringcommAborted : ringcommRevoked;
    case StatusCode::corrupt_data:
    case StatusCode::internal:
      break;
  }
  return ringcommInternalError;
}

ringcommResult_t report(std::string_view call, ringcommComm* comm, const Status& status) noexcept {
  if (status.is_ok()) return ringcommSuccess;
  try {
    std::string text = describe(call, comm, status);
    if (comm != nullptr) {
      const std::lock_guard lock(comm->error_mutex);
      comm->last_error = text;
    }
    thread_error() = std::move(text);
  } catch (...) {  // no memory for the sentence: the number still says what it was
    thread_error().clear();
  }
  return result_of(status);
}

Status not_null(const void* pointer, std::string_view what) {
  return pointer != nullptr ? Status() : Status::invalid_argument(concat(what, " is NULL"));
}

Result<DType> dtype_of(int datatype) {
  if (datatype < ringcommInt8 || datatype > ringcommFloat8e5m2) {
    return Status::invalid_argument(concat("datatype ", datatype, " is unknown (", int{ringcommInt8}, " to ",
                                           int{ringcommFloat8e5m2}, " are)"));
  }
  return static_cast<DType>(datatype);
}

Status check_head(std::string_view name, std::size_t size, unsigned magic, unsigned version,
                  std::size_t library_size) {
  if (magic != RINGCOMM_STRUCT_MAGIC) {
    return Status::invalid_argument(concat(name, " has magic ", magic, " instead of ", RINGCOMM_STRUCT_MAGIC,
                                           " (begin with its _INITIALIZER)"));
  }
  if (version > RINGCOMM_VERSION_CODE) {
    return Status::invalid_argument(concat(name, " is of version ", version,
                                           ", the library that runs is of version ", RINGCOMM_VERSION_CODE,
                                           " (an older libringcomm.so was found than the one compiled for)"));
  }
  if (size < kHeadBytes || size > library_size) {
    return Status::invalid_argument(
        concat(name, " has size ", size, ", at most ", library_size, " is known to this library"));
  }
  return {};
}

}  // namespace ringcomm::inline v0::capi

extern "C" {

ringcommResult_t ringcommGetVersion(int* version) {
  return ringcomm::capi::run("ringcommGetVersion", [&] {
    ringcomm::Status given = ringcomm::capi::not_null(version, "version");
    if (given.is_ok()) *version = RINGCOMM_VERSION_CODE;
    return given;
  });
}

const char* ringcommGetErrorString(ringcommResult_t result) {
  switch (result) {
    case ringcommSuccess:
      return "no error";
    case ringcommUnhandledCudaError:
      return "unhandled cuda error";
    case ringcommSystemError:
      return "system error: a limit, a missing name or an unreachable address";
    case ringcommInternalError:
      return "internal error: please report it with ringcommGetLastError's text";
    case ringcommInvalidArgument:
      return "invalid argument";
    case ringcommInvalidUsage:
      return "invalid usage: not possible here, now or in this build";
    case ringcommRemoteError:
      return "remote error: another rank died or left";
    case ringcommInProgress:
      return "in progress";
    case ringcommTimeout:
      return "timeout: another rank did not come in time";
    case ringcommMismatch:
      return "mismatch: ranks called with different values";
    case ringcommAborted:
      return "aborted";
    case ringcommRevoked:
      return "revoked";
    case ringcommResultRange_:
      break;
  }
  return "unknown result code";
}

const char* ringcommGetLastError(ringcommComm_t comm) {
  thread_local std::string shown;
  if (comm == nullptr) return ringcomm::capi::thread_error().c_str();
  try {
    if (!comm->is_alive()) return "ringcommGetLastError: the communicator is none or was destroyed";
    const std::lock_guard lock(comm->error_mutex);
    shown = comm->last_error;
  } catch (...) {
    return "ringcommGetLastError: no memory for the text";
  }
  return shown.c_str();
}
}
