// SPDX-License-Identifier: Apache-2.0
#include "support/faulty_transport.hpp"

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "ringcomm/core/text.hpp"
#include "support/wrapping_transport.hpp"

namespace ringcomm::testing_support {
namespace {

class Faults {
 public:
  explicit Faults(const FaultScript& script) : script_(script) {}
  void connected(Transport& transport, int rank) {
    transport_ = &transport;
    is_mine_ = rank == script_.rank;
  }

  Status run(TransportChannel& inner, std::span<const TransportOp> batch, StreamView stream,
             Deadline deadline) {
    const bool is_now = batches_.fetch_add(1) == script_.batch && is_mine_;
    if (!is_now || script_.fault == Fault::none) return inner.submit(batch, stream, deadline);
    if (script_.fault == Fault::fail) {
      transport_->abort(Status::aborted(concat("injected failure of rank ", script_.rank)));
      return transport_->health();
    }
    if (script_.fault == Fault::stop) {
      std::this_thread::sleep_for(script_.stop_for);
      return inner.submit(batch, stream, deadline);
    }
    changed_.assign(batch.begin(), batch.end());
    if (script_.fault == Fault::corrupt) corrupt();
    if (script_.fault == Fault::mis_size) shorten();
    return inner.submit(changed_, stream, deadline);
  }

 private:
  void corrupt() {
    for (TransportOp& op : changed_) op.descriptor.signature ^= 0xbadULL;
  }
  void shorten() {
    for (TransportOp& op : changed_) {
      if (op.bytes == 0) continue;
      --op.bytes;
      --op.descriptor.bytes;
      return;
    }
  }
  const FaultScript script_;
  Transport* transport_ = nullptr;
  bool is_mine_ = false;
  std::atomic<int> batches_{0};
  std::vector<TransportOp> changed_;  ///< outlives the stream's use of it
};

}  // namespace

FaultScript draw_fault(std::uint64_t seed, int ranks, int batches) {
  std::mt19937_64 random(seed);
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
  };
  constexpr Fault kFaults[] = {Fault::stop, Fault::fail, Fault::corrupt, Fault::mis_size};
  FaultScript script;
  script.fault = kFaults[below(4)];
  script.rank = below(ranks);
  script.batch = below(batches);
  return script;
}

std::string to_text(const FaultScript& script) {
  constexpr std::string_view kNames[] = {"none", "stop", "fail", "corrupt", "mis_size"};
  return concat("rank ", script.rank, " ", kNames[static_cast<int>(script.fault)], " at batch ",
                script.batch);
}

TransportFactory faulty_transport(TransportFactory inner, const FaultScript& script) {
  return [inner = std::move(inner), script]() -> std::unique_ptr<Transport> {
    return std::make_unique<WrappingTransport<Faults>>(inner(), std::make_shared<Faults>(script));
  };
}

}  // namespace ringcomm::testing_support
