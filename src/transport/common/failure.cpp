// SPDX-License-Identifier: Apache-2.0
#include "transport/common/failure.hpp"

#include <algorithm>
#include <string>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport {
namespace {

constexpr auto kFailed = static_cast<std::uint32_t>(Life::failed);

}  // namespace

void Failure::publish_in(StateBlock& block) {
  const std::lock_guard lock(mutex_);
  block_ = &block;
  if (is_set()) {
    tell();
  } else {
    block.life.store(static_cast<std::uint32_t>(Life::live), std::memory_order_release);
  }
}

void Failure::tell() {
  const std::string_view text = report_.status.message();
  const std::size_t bytes = std::min(text.size(), block_->text.size());
  std::copy_n(text.data(), bytes, block_->text.data());
  block_->text_bytes = static_cast<std::uint32_t>(bytes);
  block_->code = static_cast<std::uint32_t>(report_.status.code());
  block_->culprit = report_.culprit;
  block_->reporter = report_.reporter;
  block_->life.store(kFailed, std::memory_order_seq_cst);
}

Status Failure::fail(const FailureReport& report) {
  const std::lock_guard lock(mutex_);
  if (!is_set()) {
    report_ = report;
    is_set_.store(true, std::memory_order_release);
    if (block_ != nullptr) tell();
    if (listener_ != nullptr) listener_->on_failure(report_.status, report_.culprit);
  }
  if (report_.reporter == rank_ || report_.reporter < 0) return report_.status;
  return {report_.status.code(), concat(report_.status.message(), " (told by rank ", report_.reporter, ")")};
}

Status Failure::status() const {
  if (!is_set()) return {};
  return const_cast<Failure*>(this)->fail({});
}

void Failure::close() {
  const std::lock_guard lock(mutex_);
  if (block_ != nullptr && !is_set())
    block_->life.store(static_cast<std::uint32_t>(Life::closed), std::memory_order_seq_cst);
}

FailureReport read_failure(const StateBlock& block) {
  const std::size_t bytes = std::min<std::size_t>(block.text_bytes, block.text.size());
  std::string text(block.text.data(), bytes);
  if (bytes == block.text.size()) text.replace(bytes - 3, 3, "...");
  const auto code = block.code == 0 || block.code > static_cast<std::uint32_t>(StatusCode::internal)
                        ? StatusCode::internal
                        : static_cast<StatusCode>(block.code);
  return {Status(code, std::move(text)), block.culprit, block.reporter};
}

}  // namespace ringcomm::inline v0::transport
