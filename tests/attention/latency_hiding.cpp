// SPDX-License-Identifier: Apache-2.0
// Prints how much of the messages' time a ring attention hides behind its own arithmetic. Messages are made
// slow by a transport that sleeps before each batch, as a network's latency would: it takes no core from the
// kernel. Exit codes: 0 ok, 1 a call failed, 6 usage, 7 results differ.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/deadline.hpp"
#include "support/delayed_transport.hpp"

namespace {

namespace rc = ringcomm;
using std::chrono::microseconds;

constexpr int kForwards = 5;  // of each variant and round; the first warms up

struct Variant {
  microseconds delay{0};
  rc::plan::Overlap overlap = rc::plan::Overlap::off;
  std::vector<double> ms{};
};

/// Results by rank, the same for all variants.
using Bits = std::map<int, std::string>;

void fill(const rc::TensorView& view, std::uint64_t seed) {
  auto* to = static_cast<float*>(view.data);
  for (std::int64_t i = 0; i < view.element_count(); ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    to[i] = static_cast<float>(seed >> 40) * 0x1p-23F - 1;
  }
}

rc::Status forward(rc::Communicator& comm, std::int64_t tokens, Variant& variant, Bits& bits,
                   std::mutex& mutex) {
  const rc::AttentionSpec spec{.tokens = tokens,
                               .dtype = rc::DType::float32,
                               .mask = rc::Mask::full,
                               .strategy = rc::AttentionStrategy::ring_relay,
                               .overlap = variant.overlap};
  auto ring = rc::RingAttention::create(comm, spec);
  if (!ring.is_ok()) return ring.status();
  const auto rank = static_cast<std::uint64_t>(comm.rank());
  fill(ring->q(), 3 * rank + 1);
  fill(ring->k(), 3 * rank + 2);
  fill(ring->v(), 3 * rank + 3);
  for (int turn = 0; turn < kForwards; ++turn) {
    if (auto ready = rc::barrier(comm.channel()); !ready.is_ok()) return ready.status();
    const std::int64_t begun_ns = rc::now_ns();
    if (const rc::Status done = ring->forward(); !done.is_ok()) return done;
    const double ms = static_cast<double>(rc::now_ns() - begun_ns) * 1e-6;
    const std::lock_guard lock(mutex);
    if (comm.rank() == 0 && turn > 0) variant.ms.push_back(ms);
  }
  const std::string seen(static_cast<const char*>(ring->out().data), ring->out().bytes());
  const std::lock_guard lock(mutex);
  const std::string& first = bits.emplace(comm.rank(), seen).first->second;
  return first == seen ? rc::Status() : rc::Status::internal("results differ");
}

rc::Status run(int ranks, std::int64_t tokens, Variant& variant, Bits& bits) {
  rc::CommunicatorOptions options;
  if (variant.delay.count() > 0) {
    options.transports = {
        rc::testing_support::delayed_transport(rc::inproc_transport(), {variant.delay, variant.delay})};
  } else {
    options.transports = {rc::inproc_transport()};
  }
  std::mutex mutex;
  return rc::run_threads(
      ranks, [&](rc::Communicator& comm) { return forward(comm, tokens, variant, bits, mutex); }, options);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && argc != 5) {
    std::fprintf(stderr, "usage: ringcomm-latency-hiding [RANKS TOKENS ROUNDS DELAY_US,...]\n");
    return 6;
  }
  const int ranks = argc == 5 ? std::atoi(argv[1]) : 2;
  const std::int64_t tokens = argc == 5 ? std::atoll(argv[2]) : 4096;
  const int rounds = argc == 5 ? std::atoi(argv[3]) : 5;
  std::vector<Variant> variants(1);  // the first: nothing is delayed
  const char* delays = argc == 5 ? argv[4] : "5000,10000,20000,40000";
  for (char* end = nullptr; *delays != 0; delays = *end == ',' ? end + 1 : end) {
    const microseconds delay(std::strtoll(delays, &end, 10));
    if (end == delays) return 6;
    for (const auto overlap : {rc::plan::Overlap::off, rc::plan::Overlap::on})
      variants.push_back({.delay = delay, .overlap = overlap});
  }
  Bits bits;
  for (int round = 0; round < rounds; ++round) {
    for (Variant& variant : variants) {
      if (const rc::Status status = run(ranks, tokens, variant, bits); !status.is_ok()) {
        std::fprintf(stderr, "ringcomm-latency-hiding: %s\n", status.to_string().c_str());
        return status.code() == rc::StatusCode::internal ? 7 : 1;
      }
    }
  }
  const double bare = median(variants.front().ms);
  std::printf(
      "# ring attention, relay, %d ranks (threads), %lld tokens, 1 head of 128, fp32, full; ms, medians of "
      "%d\n"
      "# without delay %.2f\n# delay   one after the other   overlapped   of the delays' time hidden (%%)\n",
      ranks, static_cast<long long>(tokens), rounds * (kForwards - 1), bare);
  for (std::size_t at = 1; at + 1 < variants.size(); at += 2) {
    const double serial = median(variants[at].ms);
    const double hidden = median(variants[at + 1].ms);
    std::printf("%7.2f %22.2f %12.2f %10.0f\n", static_cast<double>(variants[at].delay.count()) * 1e-3,
                serial, hidden, serial > bare ? 100 * (serial - hidden) / (serial - bare) : 0);
  }
  return 0;
}
