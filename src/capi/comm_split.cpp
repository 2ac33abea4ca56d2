// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "capi/handles.hpp"
#include "core/try.hpp"

namespace capi = ringcomm::capi;
using ringcomm::Communicator;
using ringcomm::Status;

static_assert(RINGCOMM_SPLIT_NOCOLOR == Communicator::kNoColor);

extern "C" {

ringcommResult_t ringcommCommSplit(ringcommComm_t comm, int color, int key, ringcommComm_t* newcomm,
                                   const ringcommConfig_t* config) {
  return capi::run_on("ringcommCommSplit", comm, [&](ringcommComm& handle) -> Status {
    RINGCOMM_TRY(capi::not_null(newcomm, "newcomm"));
    *newcomm = nullptr;
    RINGCOMM_TRY_ASSIGN(const auto read, capi::read_config(config));
    RINGCOMM_TRY_ASSIGN(std::optional<Communicator> made,
                        handle.communicator.split(color, key, read.options));
    if (made) *newcomm = capi::make_handle(*std::move(made), read.name);
    return {};
  });
}
}
