// SPDX-License-Identifier: Apache-2.0
#include "plan/verify/slot_access.hpp"

#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {
namespace {

bool merges(const Op& op) { return op.code == static_cast<std::uint32_t>(ComputeCode::merge); }

}  // namespace

std::optional<SlotRange> local_read(const Op& op) {
  switch (op.kind) {
    case OpKind::offer:
    case OpKind::send:
      return SlotRange{op.slot, op.offset, op.bytes};
    case OpKind::compute: {
      if (op.slot == kNone) return std::nullopt;
      const bool offset_is_in_target = op.target_slot != kNone && !merges(op);
      return SlotRange{op.slot, offset_is_in_target ? 0 : op.offset, op.bytes};
    }
    default:
      return std::nullopt;
  }
}

std::optional<SlotRange> local_write(const Op& op) {
  switch (op.kind) {
    case OpKind::pull:
    case OpKind::recv:
      return SlotRange{op.slot, op.offset, op.bytes};
    case OpKind::compute:
      if (op.target_slot == kNone) return std::nullopt;
      return SlotRange{op.target_slot, merges(op) ? 0 : op.offset, op.bytes};
    default:
      return std::nullopt;
  }
}

}  // namespace ringcomm::inline v0::plan
