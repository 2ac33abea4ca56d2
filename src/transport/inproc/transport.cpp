// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc/transport.hpp"

#include <atomic>
#include <span>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/inproc/memory.hpp"

namespace ringcomm::inline v0::transport::inproc {
namespace {

/// The same on all ranks and unlike that of any other connect(), also of the same group.
Result<std::string> agree_on_key(Bootstrap& bootstrap, Deadline deadline) {
  static std::atomic<std::uint64_t> connections{0};
  const std::uint64_t mine = connections.fetch_add(1, std::memory_order_relaxed);
  RINGCOMM_TRY_ASSIGN(auto all, bootstrap.all_gather(std::as_bytes(std::span(&mine, 1)), deadline));
  std::string key = "inproc";
  for (const std::byte byte : all.front()) key += concat(".", std::to_integer<int>(byte));
  return key;
}

}  // namespace

Status Transport::can_serve(const Bootstrap& bootstrap) const {
  if (bootstrap.kind() == GroupKind::threads) return {};
  return Status::not_available("inproc serves ranks that are threads of one process (these are processes)");
}

Status Transport::connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) {
  RINGCOMM_TRY(can_serve(bootstrap));
  const int rank = bootstrap.rank();
  const int size = bootstrap.size();
  RINGCOMM_TRY_ASSIGN(const std::string key, agree_on_key(bootstrap, deadline));
  RINGCOMM_TRY_ASSIGN(const std::shared_ptr<void> shared,
                      bootstrap.shared_object(key, [&] { return std::make_shared<Board>(size); }));
  const auto board = std::static_pointer_cast<Board>(shared);
  RINGCOMM_TRY_ASSIGN(auto control, ControlMemory::create(control_segment_bytes(size)));
  board->put_control(rank, std::move(control));
  RINGCOMM_TRY(bootstrap.all_gather({}, deadline).status());  // now everybody's is there
  start(rank, size, options, std::make_unique<Memory>(board, rank, size));
  return {};
}

}  // namespace ringcomm::inline v0::transport::inproc
