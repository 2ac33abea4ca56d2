// SPDX-License-Identifier: Apache-2.0
#include "background.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/reduce.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/device/device.hpp"
#include "softmax_data.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

constexpr std::uint32_t kOrdinal = 0x6267;  // of its channel, so that it meets no other

class BackgroundGather final : public Background {
 public:
  Status prepare(Communicator& comm, const Options& options) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const std::size_t block = options.background_bytes / ranks;
    PERF_TRY_ASSIGN(input_, comm.allocate(std::max<std::size_t>(block, 1)));
    PERF_TRY_ASSIGN(output_, comm.allocate(std::max<std::size_t>(block * ranks, 1)));
    count_ = static_cast<std::int64_t>(block);
    total_ = static_cast<std::int64_t>(block * ranks);
    return {};
  }

 protected:
  Result<Work> start(Channel& channel, StreamView stream) override {
    return all_gather(channel, TensorView::contiguous(input_.data(), DType::uint8, {count_}),
                      TensorView::contiguous(output_.data(), DType::uint8, {total_}), {},
                      {.deadline = {}, .stream = stream});
  }

 private:
  Window input_, output_;
  std::int64_t count_ = 0, total_ = 0;
};

class BackgroundSoftmax final : public Background {
 public:
  Status prepare(Communicator& comm, const Options& options) {
    const SoftmaxData data(comm.size(), options.head_dim, DType::float32, PartialForm::normalised);
    const auto rows = static_cast<std::int64_t>(options.background_bytes / data.row_bytes()) + 1;
    PERF_TRY_ASSIGN(input_, comm.allocate(data.bytes_of_rows(rows)));
    PERF_TRY_ASSIGN(output_, comm.allocate(data.bytes_of_rows(rows)));
    partial_ = data.view(input_.data(), rows);
    result_ = data.view(output_.data(), rows);
    data.fill(partial_, comm.rank());
    return {};
  }

 protected:
  Result<Work> start(Channel& channel, StreamView stream) override {
    SoftmaxAllReduceOptions call;
    call.call.stream = stream;
    return softmax_all_reduce(channel, partial_, result_, call);
  }

 private:
  Window input_, output_;
  SoftmaxPartial partial_, result_;
};

class BackgroundReduce final : public Background {
 public:
  Status prepare(Communicator& comm, const Options& options) {
    count_ = static_cast<std::int64_t>(options.background_bytes / sizeof(float)) + 1;
    const auto bytes = static_cast<std::size_t>(count_) * sizeof(float);
    PERF_TRY_ASSIGN(input_, comm.allocate(bytes));
    PERF_TRY_ASSIGN(output_, comm.allocate(bytes));
    std::memset(input_.data(), 0, bytes);
    return {};
  }

 protected:
  Result<Work> start(Channel& channel, StreamView stream) override {
    return all_reduce(channel, TensorView::contiguous(input_.data(), DType::float32, {count_}),
                      TensorView::contiguous(output_.data(), DType::float32, {count_}), ReduceOp::sum,
                      {.deadline = {}, .stream = stream});
  }

 private:
  Window input_, output_;
  std::int64_t count_ = 0;
};

template <class Kind>
Result<std::unique_ptr<Background>> make(Communicator& comm, const Options& options) {
  auto made = std::make_unique<Kind>();
  PERF_TRY(made->prepare(comm, options));
  return std::unique_ptr<Background>(std::move(made));
}

}  // namespace

std::vector<std::string> background_operations() {
  return {"all_gather", "all_reduce", "softmax_all_reduce"};
}

Result<std::unique_ptr<Background>> Background::create(Communicator& comm, const Options& options) {
  PERF_TRY_ASSIGN(std::unique_ptr<Background> made,
                  options.background == "softmax_all_reduce" ? make<BackgroundSoftmax>(comm, options)
                  : options.background == "all_reduce"       ? make<BackgroundReduce>(comm, options)
                                                             : make<BackgroundGather>(comm, options));
  std::vector<int> members(static_cast<std::size_t>(comm.size()));
  std::iota(members.begin(), members.end(), 0);
  PERF_TRY_ASSIGN(made->channel_, comm.open_channel(members, kOrdinal));
  PERF_TRY_ASSIGN(Stream stream, host_device().create_stream({.placement = comm.placement()}));
  made->stream_.emplace(std::move(stream));
  return made;
}

Status Background::launch() {
  PERF_TRY_ASSIGN(work_, start(*channel_, stream_->view()));
  return {};
}

Status Background::finish() { return work_.wait(); }

}  // namespace ringcomm::perf
