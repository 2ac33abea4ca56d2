// SPDX-License-Identifier: Apache-2.0
#include "serve.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "measure.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/text.hpp"
#include "sample_request.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

/// Rank 0's request on every rank.
Status share(Communicator& comm, SampleRequest& request) {
  std::int64_t mine[2] = {request.bytes, request.iterations};
  std::vector<std::int64_t> all(2 * static_cast<std::size_t>(comm.size()));
  PERF_TRY(all_gather(comm.channel(), TensorView::contiguous(mine, DType::int64, {2}),
                      TensorView::contiguous(all.data(), DType::int64, {2 * comm.size()}))
               .status());
  request = {all[0], static_cast<int>(all[1])};
  return {};
}

}  // namespace

Status serve(Communicator& comm, const Options& options, Case& subject) {
  Options sampling = options;
  std::int64_t prepared = -1;
  RowHead head;
  for (;;) {
    SampleRequest request;
    if (comm.rank() == 0) {
      std::fflush(stdout);
      request = read_request(stdin);
    }
    PERF_TRY(share(comm, request));
    if (request.iterations <= 0) return {};
    if (request.bytes != prepared) {
      PERF_TRY_ASSIGN(head, subject.prepare({.bytes = static_cast<std::size_t>(request.bytes),
                                             .dtype = options.dtypes.front(),
                                             .redop = options.redops.front(),
                                             .root = options.root}));
      prepared = request.bytes;
    }
    sampling.iterations = request.iterations;
    PERF_TRY_ASSIGN(const Side side, measure_side(comm, sampling, subject, Buffers::out_of_place, nullptr));
    PERF_TRY_ASSIGN(const Extras extras, mean_extras(comm, subject));
    if (comm.rank() != 0) continue;
    std::string columns;
    for (const auto& [title, value] : extras)
      columns += fmt::format(R"({}"{}": {:.4f})", columns.empty() ? "" : ", ", title, value);
    fmt::print(
        R"({{"us": {:.4f}, "min_us": {:.4f}, "max_us": {:.4f}, "extras": {{{}}}, "wrong": {}, "size": {}, )"
        R"("path": "{}"}})"
        "\n",
        side.us.p50, side.us.min, side.us.max, columns, side.wrong, head.size,
        comm.path_name(comm.size() > 1 ? 1 : 0));
  }
}

}  // namespace ringcomm::perf
