// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nccl_log.hpp"

#include <array>

#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_log/collector.hpp"
#include "topology/readers/nccl_log/message.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

/// False when no parser knows the message.
bool read_message(const Message& message, Collector& collector) {
  static constexpr std::array kParsers{parse_graph_line, parse_transport, parse_neighbours, parse_ring,
                                       parse_pattern,    parse_system,    parse_rank,       parse_trouble,
                                       parse_info,       parse_warning};
  for (const auto parse : kParsers) {
    if (parse(message, collector)) return true;
  }
  return false;
}

void count_skipped(std::vector<Skipped>& skipped, const std::string& file, int count, std::string_view what) {
  if (count > 0) add_skipped(skipped, {file, 0}, concat(count), std::string(what));
}

}  // namespace

bool looks_like(std::string_view text) {
  return text.find("NCCL INFO") != std::string_view::npos || text.find("NCCL WARN") != std::string_view::npos;
}

Result<Reading> read(std::string_view text, const std::string& file) {
  Collector collector(file);
  int unused = 0;
  const int without = for_each_message(text, [&](Message message) {
    // The last word of a torn message may be half of one.
    if (message.is_torn) message.text = message.text.substr(0, message.text.find_last_of(' ') + 1);
    if (!read_message(message, collector)) ++unused;
  });
  if (without > 0 && !looks_like(text))
    return Status::corrupt_data(concat(file, " holds no line of NCCL (NCCL INFO or NCCL WARN)"));
  collector.finish_rings();
  Reading reading;
  reading.machine = collector.machine().build();
  reading.skipped = std::move(collector.skipped());
  count_skipped(reading.skipped, file, without, "lines without an NCCL message (count)");
  count_skipped(reading.skipped, file, unused, "messages that tell nothing of the topology (count)");
  count_skipped(reading.skipped, file, collector.dropped(), "events beyond the limit (count)");
  reading.job = std::move(collector.job());
  return reading;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
