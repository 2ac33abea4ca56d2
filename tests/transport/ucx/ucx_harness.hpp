// SPDX-License-Identifier: Apache-2.0
// Ranks over the whole ucx transport, as threads and as forked processes, over each way that UCX can go on
// one host.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "conformance/transport_harness.hpp"
#include "core/env_guard.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "support/process_ranks.hpp"

namespace ringcomm::conformance {

/// `Way::tls` is UCX_TLS; null leaves it unset.
struct TcpWay {
  static constexpr const char* tls = "tcp";
};
struct PosixWay {
  static constexpr const char* tls = "posix,self";
};
struct AutomaticWay {
  static constexpr const char* tls = nullptr;
};

template <class Way>
std::optional<std::string> tls_of() {
  if (Way::tls == nullptr) return std::nullopt;
  return Way::tls;
}

template <class Way>
class UcxThreadHarness : public ThreadHarness {
 public:
  int slowness() const override { return 4; }
  UcxThreadHarness() : ThreadHarness(ucx_transport()), tls_("UCX_TLS", tls_of<Way>()) {}

 private:
  test::EnvGuard tls_;
};

template <class Way>
class UcxProcessHarness : public TransportHarness {
 public:
  int slowness() const override { return 4; }
  UcxProcessHarness() : tls_("UCX_TLS", tls_of<Way>()) {}
  void run(int ranks, const Body& body) override {
    ForkedMesh mesh = check(ForkedMesh::create(ranks));
    test::ProcessRanks processes(
        ranks, [&](int rank, const test::RankVoice&) { return run_rank(mesh, rank, body); });
    EXPECT_EQ(test::failures_of(processes.wait_all(std::chrono::seconds(90))), "");
  }

 private:
  static std::string run_rank(ForkedMesh& mesh, int rank, const Body& body) {
    auto group = mesh.take(rank);
    if (!group.is_ok()) return group.status().to_string();
    const auto transport = ucx_transport()();
    const Status status = transport->connect(*group.value(), {}, in_ms(30'000));
    if (!status.is_ok()) return status.to_string();
    body(rank, *transport);
    return testing::Test::HasFailure() ? "an expectation failed, see above" : "";
  }
  test::EnvGuard tls_;
};

}  // namespace ringcomm::conformance
