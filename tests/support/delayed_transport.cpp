// SPDX-License-Identifier: Apache-2.0
#include "support/delayed_transport.hpp"

#include <mutex>
#include <random>
#include <thread>

#include "support/wrapping_transport.hpp"

namespace ringcomm::testing_support {
namespace {

bool is_two_sided(const TransportOp& op) {
  return op.kind == TransportOpKind::send || op.kind == TransportOpKind::recv;
}

/// Channels may run in threads of their own.
class Delays {
 public:
  explicit Delays(const DelayOptions& options) : options_(options) {}
  void connected(Transport&, int rank) {
    random_.seed(options_.seed * 1'000'003 + static_cast<std::uint64_t>(rank));
  }

  Status run(TransportChannel& inner, std::span<const TransportOp> batch, StreamView stream,
             Deadline deadline) {
    if (stream) {  // the delay belongs to the stream's time, not to the caller's
      RINGCOMM_TRY(stream.impl->enqueue(
          [this] {
            pause();
            return Status();
          },
          deadline));
      return inner.submit(batch, stream, deadline);
    }
    if (!options_.inside_batches) {
      pause();
      return inner.run(batch, deadline);
    }
    for (std::size_t i = 0; i < batch.size();) {
      std::size_t next = i + 1;
      while (is_two_sided(batch[i]) && next < batch.size() && is_two_sided(batch[next])) ++next;
      pause();
      RINGCOMM_TRY(inner.run(batch.subspan(i, next - i), deadline));
      i = next;
    }
    return {};
  }

 private:
  void pause() {
    std::chrono::microseconds span{};
    {
      const std::lock_guard lock(mutex_);
      std::uniform_int_distribution<std::int64_t> draw(options_.least.count(), options_.most.count());
      span = std::chrono::microseconds(draw(random_));
    }
    if (span.count() > 0) std::this_thread::sleep_for(span);
  }
  const DelayOptions options_;
  std::mutex mutex_;
  std::mt19937_64 random_;
};

}  // namespace

TransportFactory delayed_transport(TransportFactory inner, const DelayOptions& options) {
  return [inner = std::move(inner), options]() -> std::unique_ptr<Transport> {
    return std::make_unique<WrappingTransport<Delays>>(inner(), std::make_shared<Delays>(options));
  };
}

}  // namespace ringcomm::testing_support
