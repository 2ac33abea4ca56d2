// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/transport.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/shm/memory.hpp"

namespace ringcomm::inline v0::transport::shm {
namespace {

/// What each rank says about a stage of connect(); the text of a failure follows.
struct Outcome {
  std::uint64_t nonce = 0;
  std::uint32_t code = 0;
  std::uint32_t reserved = 0;
};

Result<Outcome> parse(std::span<const std::byte> bytes, int rank) {
  Outcome outcome;
  if (bytes.size() < sizeof(outcome)) {
    return Status::corrupt_data(
        concat("rank ", rank, " said ", bytes.size(), " bytes about connecting over shared memory"));
  }
  std::memcpy(&outcome, bytes.data(), sizeof(outcome));
  if (outcome.code == 0) return outcome;
  const auto text = bytes.subspan(sizeof(outcome));
  const auto code = outcome.code <= static_cast<std::uint32_t>(StatusCode::internal)
                        ? static_cast<StatusCode>(outcome.code)
                        : StatusCode::internal;
  return Status(code, concat("rank ", rank, " cannot connect over shared memory: ",
                             std::string_view(reinterpret_cast<const char*>(text.data()), text.size())));
}

/// Everybody's nonces if all succeeded; else the failure of the lowest rank that failed, on all ranks.
Result<std::vector<std::uint64_t>> agree(Bootstrap& bootstrap, const Status& mine, std::uint64_t nonce,
                                         Deadline deadline) {
  const Outcome outcome{nonce, static_cast<std::uint32_t>(mine.code()), 0};
  std::vector<std::byte> said(sizeof(outcome) + mine.message().size());
  std::memcpy(said.data(), &outcome, sizeof(outcome));
  const auto text = std::as_bytes(std::span(mine.message()));
  std::copy(text.begin(), text.end(), said.begin() + sizeof(outcome));
  auto all = bootstrap.all_gather(said, deadline);
  if (!all.is_ok()) return mine.is_ok() ? all.status() : mine;
  std::vector<std::uint64_t> nonces;
  for (int rank = 0; rank < bootstrap.size(); ++rank) {
    RINGCOMM_TRY_ASSIGN(const Outcome theirs, parse(all.value()[static_cast<std::size_t>(rank)], rank));
    nonces.push_back(theirs.nonce);
  }
  return nonces;
}

}  // namespace

Status Transport::can_serve(const Bootstrap& bootstrap) const {
  if (bootstrap.kind() == GroupKind::processes) return {};
  return Status::not_available(
      concat("shm serves ranks that are processes of one host (these ",
             bootstrap.kind() == GroupKind::threads ? "are threads" : "are on several hosts", ")"));
}

Status Transport::connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) {
  RINGCOMM_TRY(can_serve(bootstrap));
  auto memory = Memory::create(bootstrap.rank(), bootstrap.size());
  const std::uint64_t nonce = memory.is_ok() ? memory.value()->nonce() : 0;
  RINGCOMM_TRY_ASSIGN(const auto nonces, agree(bootstrap, memory.status(), nonce, deadline));
  const Status met = memory.value()->meet(bootstrap, nonces, deadline);
  // Also the point up to which every peer was alive, so that each process id belonged to it when watched.
  RINGCOMM_TRY(agree(bootstrap, met, nonce, deadline).status());
  start(bootstrap.rank(), bootstrap.size(), options, std::move(memory).value());
  return {};
}

}  // namespace ringcomm::inline v0::transport::shm
