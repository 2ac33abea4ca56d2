// SPDX-License-Identifier: Apache-2.0
// TORCH_DISTRIBUTED_DEBUG=DETAIL: two ranks compared their calls, or a monitored barrier named who did not
// come.
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr std::string_view kFingerprint = "CollectiveFingerPrint(";
constexpr std::size_t kRanksMax = 65536;

/// "[195812480]", "[2, 3]": elements, where they do not overflow.
std::vector<std::int64_t> shape_of(std::string_view fingerprint) {
  std::vector<std::int64_t> shape;
  auto rest = after(fingerprint, "TensorShape=[");
  while (rest && shape.size() < 16) {
    const auto size = take_number(*rest);
    if (!size) break;
    shape.push_back(*size);
    if (!take(*rest, ",")) break;
  }
  return shape;
}

std::optional<std::int64_t> product(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return std::nullopt;
  std::int64_t all = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || (size > 0 && all > std::numeric_limits<std::int64_t>::max() / size)) return std::nullopt;
    all *= size;
  }
  return all;
}

std::string lower_case(std::string_view text) {
  std::string out;
  for (const char c : text) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

OpFact op_of(std::string_view fingerprint) {
  OpFact op;
  op.seq = number_after(fingerprint, "SequenceNumber=");
  op.name = word_after(fingerprint, "OpType=").substr(0, 80);
  op.op = op_class_of(op.name);
  const auto shape = shape_of(fingerprint);
  op.elements_in = product(shape);
  if (!shape.empty()) op.input_sizes.push_back(shape);
  op.dtype = lower_case(word_after(fingerprint, "TensorDtypes=").substr(0, 40));
  op.completed = Tri::no;
  return op;
}

class FingerprintReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    if (contains(line.text, kFingerprint)) return read_mismatch(line.text, facts);
    if (contains(line.text, "onitoredBarrier") || contains(line.text, "monitored_barrier"))
      return read_barrier(line.text, facts);
    return false;
  }

 private:
  /// "Rank 1 is running collective: CollectiveFingerPrint(...), but Rank 0 is running collective: ...".
  bool read_mismatch(std::string_view text, Facts& facts) {
    const std::size_t first = text.find(kFingerprint);
    const std::size_t second = text.find(kFingerprint, first + 1);
    const auto said_rank = [&](std::size_t at) {
      const std::size_t rank = text.substr(0, at).rfind("Rank ");
      return rank == std::string_view::npos ? kUnknown
                                            : small_number(number_after(text.substr(rank), "Rank "));
    };
    OpFact one = op_of(text.substr(first, second == std::string_view::npos ? second : second - first));
    one.who.group_rank = said_rank(first);
    // The writer speaks of itself first. Where its own rank is another number, both are ranks of a group.
    const int writer = facts.completed({}).rank;
    const bool is_of_group = writer != kUnknown && writer != one.who.group_rank;
    one.who.rank = is_of_group ? writer : one.who.group_rank;
    EventFact event;
    event.kind = EventKind::mismatch_reported;
    event.who = one.who;
    const std::size_t aspects = text.find("following aspects:");
    event.detail = aspects == std::string_view::npos ? "" : trimmed(text.substr(aspects + 18)).substr(0, 200);
    event.text =
        text.substr(text.find("Detected mismatch") == std::string_view::npos ? 0
                                                                             : text.find("Detected mismatch"))
            .substr(0, kTextMax);
    event.code = one.seq.value_or(kUnknown);
    add(std::move(one), facts);
    if (second != std::string_view::npos) {
      OpFact other = op_of(text.substr(second));
      other.who.group_rank = said_rank(second);
      // Somebody else: what the writer's prefix tells is not about it.
      if (!is_of_group) other.who.rank = other.who.group_rank;
      event.peer = other.who;
      event.second = other.seq.value_or(kUnknown);
      add(std::move(other), facts);
    }
    facts.add(std::move(event));
    facts.format("fingerprint");
    return true;
  }

  /// Both ranks of a pair print it: each call once.
  void add(OpFact op, Facts& facts) {
    if (op.name.empty()) return;
    const std::string key = concat(op.who.rank, '|', op.who.group_rank, '|', op.seq.value_or(-1), '|',
                                   op.name, '|', op.elements_in.value_or(-1), '|', op.dtype);
    if (seen_.size() < kWritersMax && !seen_.insert(key).second) return;
    facts.add_of_other(std::move(op));
  }

  /// "[Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 30000 ms".
  bool read_barrier(std::string_view text, Facts& facts) {
    const std::size_t failed = text.find(" failed to pass");
    if (failed == std::string_view::npos) {
      EventFact event;
      event.kind = EventKind::aborted;
      event.peer.rank = small_number(number_after(text, "from rank "));
      event.detail = "monitored_barrier";
      facts.add(std::move(event));
      facts.format("fingerprint");
      return true;
    }
    const std::size_t begin = text.substr(0, failed).rfind("Rank");
    if (begin == std::string_view::npos) return false;
    std::string_view rest = text.substr(begin + 4, failed - begin - 4);
    take(rest, "s");
    OpFact op;
    op.op = OpClass::barrier;
    op.name = "monitored_barrier";
    op.is_timed_out = true;
    op.completed = Tri::no;
    op.timeout_ms = number_after(text.substr(failed), " in ");
    op.who.rank = facts.completed({}).rank;
    if (op.who.rank == kUnknown) op.who.rank = small_number(number_after(text, "[Rank "));
    const Who who = op.who;
    facts.add(std::move(op));
    for (std::size_t count = 0; count < kRanksMax; ++count) {
      const int rank = small_number(take_number(rest));
      if (rank == kUnknown) break;
      EventFact event;
      event.kind = EventKind::timeout;
      event.who = who;
      event.peer.rank = rank;
      event.detail = "monitored_barrier";
      facts.add(std::move(event));
      if (!take(rest, ",")) break;
    }
    facts.format("fingerprint");
    return true;
  }

  std::set<std::string> seen_{};
};

}  // namespace

std::unique_ptr<LineReader> make_fingerprint_reader() { return std::make_unique<FingerprintReader>(); }

}  // namespace ringcomm::inline v0::diag::text
