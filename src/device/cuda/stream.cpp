// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/stream.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "core/try.hpp"
#include "device/cuda/check.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/device/worker_team.hpp"

namespace ringcomm::inline v0::cuda {
namespace {

constexpr std::size_t kQueueTasksMax = std::size_t{1} << 20;
constexpr std::chrono::seconds kDrain{5};

/// Looked up, so that programs need no libcuda to be linked and start where there is none.
struct DriverCalls {
  CUresult (*wait_value)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
};

Result<DriverCalls> driver_calls() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult outcome{};
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &found, 12000, cudaEnableDefault, &outcome);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuStreamWaitValue32", &found, cudaEnableDefault, &outcome);
#endif
  RINGCOMM_TRY(check(error, "looking up cuStreamWaitValue32"));
  if (outcome != cudaDriverEntryPointSuccess || found == nullptr)
    return Status::not_available("cuda: this driver has no cuStreamWaitValue32 (needs CUDA 12)");
  return DriverCalls{reinterpret_cast<decltype(DriverCalls::wait_value)>(found)};
}

void CUDART_CB mark_due(void* queue) { static_cast<TaskQueue*>(queue)->make_due(); }

}  // namespace

Result<std::unique_ptr<HostWord>> HostWord::create() {
  std::unique_ptr<HostWord> word(new HostWord());
  void* memory = nullptr;
  RINGCOMM_TRY(
      check(cudaHostAlloc(&memory, sizeof(std::uint32_t), cudaHostAllocMapped | cudaHostAllocPortable),
            "pinned memory for a stream"));
  word->host_ = static_cast<std::uint32_t*>(memory);
  *word->host_ = 0;
  void* device = nullptr;
  RINGCOMM_TRY(check(cudaHostGetDevicePointer(&device, memory, 0), "address of pinned memory"));
  word->device_ = reinterpret_cast<CUdeviceptr>(device);
  return word;
}

HostWord::~HostWord() {
  if (host_ != nullptr) static_cast<void>(cudaFreeHost(host_));
}

Status wait_for_event(cudaEvent_t event, Deadline deadline, std::string_view what) {
  std::chrono::microseconds nap{5};
  while (true) {
    const cudaError_t error = cudaEventQuery(event);
    if (error != cudaErrorNotReady) return check(error, what);
    if (deadline.is_expired()) return Status::timeout(concat("cuda: ", what, " did not end in time"));
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, std::chrono::microseconds(200));
  }
}

Result<std::unique_ptr<CudaStream>> CudaStream::create(int ordinal, cudaStream_t borrowed,
                                                       const StreamOptions& options) {
  if (options.queue_tasks_max == 0 || options.queue_tasks_max > kQueueTasksMax) {
    return Status::invalid_argument(concat("stream's queue of ", options.queue_tasks_max,
                                           " tasks (queue_tasks_max must be from 1 to ", kQueueTasksMax,
                                           ")"));
  }
  const DeviceGuard guard(ordinal);
  RINGCOMM_TRY(guard.status());
  RINGCOMM_TRY(driver_calls().status());
  std::unique_ptr<CudaStream> stream(new CudaStream());
  stream->ordinal_ = ordinal;
  RINGCOMM_TRY_ASSIGN(auto word, HostWord::create());
  stream->shared_ = std::make_shared<Shared>(std::move(word), options.queue_tasks_max);
  stream->is_owned_ = borrowed == nullptr;
  stream->stream_ = borrowed;
  if (borrowed == nullptr) {
    RINGCOMM_TRY(check(cudaStreamCreateWithFlags(&stream->stream_, cudaStreamNonBlocking), "no stream"));
  }
  RINGCOMM_TRY(check(cudaEventCreateWithFlags(&stream->end_, cudaEventDisableTiming), "no event"));
  stream->worker_ = std::thread([shared = stream->shared_, placement = options.placement] {
    static_cast<void>(bind_this_thread(placement));  // best effort, as on the host
    shared->queue.run();
  });
  return stream;
}

CudaStream::~CudaStream() {
  const DeviceGuard guard(ordinal_);
  if (worker_.joinable()) {
    TaskQueue& queue = shared_->queue;
    if (!synchronize(Deadline::after(kDrain)).is_ok()) {
      queue.fail(Status::aborted("stream was destroyed before its work ended"));
      log(LogLevel::warn, "cuda stream destroyed with work left: dropped");
    }
    queue.close();
    // A task that never comes back keeps its thread; the GPU may still come to marks of dropped tasks.
    if (queue.wait_until_empty(Deadline::after(kDrain)) && cudaStreamQuery(stream_) == cudaSuccess) {
      worker_.join();
    } else {
      static_cast<void>(new std::shared_ptr<Shared>(shared_));  // on purpose: the driver holds its address
      worker_.detach();
    }
  }
  if (end_ != nullptr) static_cast<void>(cudaEventDestroy(end_));
  if (is_owned_ && stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

Status CudaStream::note(cudaError_t error, std::string_view what) {
  Status status = check(error, what);
  if (!status.is_ok()) shared_->queue.fail(status);
  return status;
}

Status CudaStream::enqueue(Task task, Deadline deadline) {
  const DeviceGuard guard(ordinal_);
  RINGCOMM_TRY(guard.status());
  RINGCOMM_TRY_ASSIGN(const DriverCalls driver, driver_calls());
  const std::lock_guard lock(mutex_);
  RINGCOMM_TRY_ASSIGN(const std::uint64_t number, shared_->queue.push(std::move(task), deadline));
  RINGCOMM_TRY(note(cudaLaunchHostFunc(stream_, mark_due, &shared_->queue), "queueing a task"));
  const CUresult waited = driver.wait_value(stream_, shared_->word->device(), static_cast<cuuint32_t>(number),
                                            CU_STREAM_WAIT_VALUE_GEQ);
  if (waited == CUDA_SUCCESS) return {};
  Status status = Status::not_available(
      concat("cuda: the stream cannot wait for a task: driver error ", static_cast<int>(waited)));
  shared_->queue.fail(status);
  return status;
}

Status CudaStream::synchronize(Deadline deadline) {
  const DeviceGuard guard(ordinal_);
  RINGCOMM_TRY(guard.status());
  Status ended;
  {
    const std::lock_guard lock(mutex_);
    ended = note(cudaEventRecord(end_, stream_), "recording the end of a stream");
  }
  if (ended.is_ok()) ended = wait_for_event(end_, deadline, "stream");
  if (!ended.is_ok() && ended.code() != StatusCode::timeout) shared_->queue.fail(ended);
  const Status failed = shared_->queue.status();
  return ended.is_ok() || ended.code() != StatusCode::timeout ? failed : ended;
}

}  // namespace ringcomm::inline v0::cuda
