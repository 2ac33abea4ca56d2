// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "capi/handles.hpp"
#include "core/try.hpp"
#include "ringcomm/device/device.hpp"

struct ringcommStream {
  explicit ringcommStream(ringcomm::Stream made) : stream(std::move(made)) {}
  ringcomm::Stream stream;
};

namespace ringcomm::inline v0::capi {
namespace {

/// A stream of another library is a pointer as well, or a small number: it may not be followed to find out.
struct Streams {
  std::mutex mutex;
  std::vector<ringcommStream_t> alive;
};

Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

Status create(ringcommStream_t* stream) {
  RINGCOMM_TRY(not_null(stream, "stream"));
  *stream = nullptr;
  RINGCOMM_TRY_ASSIGN(Stream made, host_device().create_stream({}));
  auto handle = std::make_unique<ringcommStream>(std::move(made));
  Streams& all = streams();
  const std::lock_guard lock(all.mutex);
  all.alive.push_back(handle.get());
  *stream = handle.release();
  return {};
}

Status known(ringcommStream_t stream) {
  Streams& all = streams();
  const std::lock_guard lock(all.mutex);
  if (std::ranges::find(all.alive, stream) != all.alive.end()) return {};
  return Status::not_available(
      "stream is none of ringcommStreamCreate's, or was destroyed (host streams only)");
}

Status synchronize(ringcommStream_t stream) {
  RINGCOMM_TRY(not_null(stream, "stream"));
  RINGCOMM_TRY(known(stream));
  return stream->stream.synchronize();  // every operation in it has a deadline of its own
}

Status destroy(ringcommStream_t stream) {
  RINGCOMM_TRY(not_null(stream, "stream"));
  RINGCOMM_TRY(known(stream));
  {
    Streams& all = streams();
    const std::lock_guard lock(all.mutex);
    std::erase(all.alive, stream);
  }
  delete stream;
  return {};
}

}  // namespace

Result<StreamView> stream_of(ringcommStream_t stream) {
  if (stream == nullptr) return StreamView{};
  RINGCOMM_TRY(known(stream));
  return stream->stream.view();
}

}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;

extern "C" {

ringcommResult_t ringcommStreamCreate(ringcommStream_t* stream) {
  return capi::run("ringcommStreamCreate", [&] { return capi::create(stream); });
}

ringcommResult_t ringcommStreamSynchronize(ringcommStream_t stream) {
  return capi::run("ringcommStreamSynchronize", [&] { return capi::synchronize(stream); });
}

ringcommResult_t ringcommStreamDestroy(ringcommStream_t stream) {
  return capi::run("ringcommStreamDestroy", [&] { return capi::destroy(stream); });
}
}
