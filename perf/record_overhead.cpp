// SPDX-License-Identifier: Apache-2.0
// What one state of the flight recorder costs: nanoseconds per call, median and spread over batches.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#include "ringcomm/core/deadline.hpp"
#include "ringcomm/diag/recorder.hpp"

namespace {

namespace rc = ringcomm;

constexpr int kBatches = 401;
constexpr int kCalls = 1000;

struct Cost {
  std::string_view state;
  double median = 0, low = 0, high = 0;  ///< low, high: 10 % and 90 % of the batches
};

template <class Call>
Cost measure(std::string_view state, Call call) {
  std::vector<double> ns;
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::int64_t begin = rc::now_ns();
    for (int i = 0; i < kCalls; ++i) call(i);
    ns.push_back(static_cast<double>(rc::now_ns() - begin) / kCalls);
  }
  std::sort(ns.begin(), ns.end());
  return {state, ns[kBatches / 2], ns[kBatches / 10], ns[kBatches * 9 / 10]};
}

/// One state of `kCalls` messages; the others are written between the measured batches.
class Bench {
 public:
  explicit Bench(rc::ChannelSink& sink) : sink_(sink) {}
  Cost enter() {
    return measure("enter", [&](int) { sink_.enter(next(), INT64_MAX, "record_overhead.cpp:1"); });
  }
  Cost leave() {
    sink_.enter(next(), INT64_MAX, "");
    return measure("leave", [&](int) { sink_.leave(op_, rc::StatusCode::ok); });
  }
  /// The four states of a message one after the other, 8 messages deep as the transports have it; each
  /// state's batches are timed apart.
  std::vector<Cost> messages() {
    constexpr int kDeep = 8;
    constexpr std::string_view kNames[] = {"posted", "arrived", "computed", "released"};
    std::vector<std::vector<double>> ns(4);
    for (int batch = 0; batch < kBatches; ++batch) {
      std::vector<std::int64_t> sums(4, 0);
      for (int round = 0; round < kCalls / kDeep; ++round) {
        next();
        for (std::size_t state = 0; state < 4; ++state) {
          const std::int64_t begin = rc::now_ns();
          for (int i = 0; i < kDeep; ++i) {
            op_.step = i;
            sink_.record(rc::Direction::incoming, op_, 1, &op_, static_cast<rc::OpState>(state));
          }
          sums[state] += rc::now_ns() - begin;
        }
      }
      for (std::size_t state = 0; state < 4; ++state)
        ns[state].push_back(static_cast<double>(sums[state]) / (kCalls / kDeep * kDeep) - clock_ns_ / kDeep);
    }
    std::vector<Cost> costs;
    for (std::size_t state = 0; state < 4; ++state) {
      std::sort(ns[state].begin(), ns[state].end());
      costs.push_back(
          {kNames[state], ns[state][kBatches / 2], ns[state][kBatches / 10], ns[state][kBatches * 9 / 10]});
    }
    return costs;
  }

 private:
  rc::Descriptor next() {
    ++op_.sequence;
    return op_;
  }
  rc::ChannelSink& sink_;
  rc::Descriptor op_{
      .op = rc::OpCode::ring_rotate, .dtype = rc::DType::bfloat16, .bytes = 1 << 20, .signature = 7};
  /// Of the two clock readings around eight calls.
  double clock_ns_ = measure("clock", [](int) { static_cast<void>(rc::now_ns()); }).median;
};

void print(const std::vector<Cost>& costs, bool is_json) {
  if (is_json) std::printf("{\"unit\": \"ns\", \"states\": [");
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Cost& c = costs[i];
    if (is_json) {
      std::printf("%s{\"state\": \"%s\", \"median\": %.2f, \"p10\": %.2f, \"p90\": %.2f}", i == 0 ? "" : ", ",
                  c.state.data(), c.median, c.low, c.high);
    } else {
      std::printf("%-10s %6.1f ns   (10 %% %6.1f, 90 %% %6.1f)\n", c.state.data(), c.median, c.low, c.high);
    }
  }
  if (is_json) std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_json = argc == 2 && std::strcmp(argv[1], "--json") == 0;
  if (argc > 1 && !is_json) {
    const bool is_help = std::strcmp(argv[1], "--help") == 0;
    std::fprintf(is_help ? stdout : stderr,
                 "usage: ringcomm-record-overhead [--json]\nNanoseconds per state of the flight recorder.\n");
    return is_help ? 0 : 64;
  }
  const auto recorder =
      rc::diag::Recorder::create({.job = 1, .communicator = 1, .rank = 0, .size = 2, .world_size = 2});
  rc::ChannelSink* const sink = recorder->open_channel(std::vector<int>{0, 1}, 0, "bench");
  if (sink == nullptr) {
    std::fprintf(stderr, "%s\n", recorder->where().c_str());
    return 1;
  }
  Bench bench(*sink);
  std::vector<Cost> costs{bench.enter(), bench.leave()};
  for (const Cost& cost : bench.messages()) costs.push_back(cost);
  print(costs, is_json);
  recorder->close();
  return 0;
}
