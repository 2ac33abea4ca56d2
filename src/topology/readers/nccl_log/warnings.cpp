// SPDX-License-Identifier: Apache-2.0
// What went wrong. Some versions of NCCL print the same sentence as INFO and others as WARN.
#include <array>

#include "core/parse.hpp"
#include "topology/readers/nccl_log/collector.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

constexpr std::size_t kWarningBytesMax = 400;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string limited(std::string_view text) { return std::string(trimmed(text).substr(0, kWarningBytesMax)); }

/// The whole word that holds `part`.
std::string word_with(std::string_view text, std::string_view part) {
  for (const std::string_view word : words_of(text)) {
    if (has(word, part)) return std::string(word);
  }
  return {};
}

bool parse_verbs(const Message& message, Collector& collector) {
  if (!has(message.text, "Failed to open libibverbs")) return false;
  collector.add_event(message, LogEventKind::verbs_missing,
                      {{"library", word_with(message.text, "libibverbs")}}, Repeats::per_host);
  return true;
}

bool parse_queue_pair(const Message& message, Collector& collector) {
  const auto error = between(message.text, " failed with ", "");
  const std::string call = word_with(message.text, "ibv_");
  if (!error || call.empty()) return false;
  Values values{{"call", call}};
  const auto words = words_of(*error);
  std::string_view text = error->substr(0, error->find(','));
  if (!words.empty() && parse_count(words[0])) {
    values.emplace_back("code", words[0]);
    text.remove_prefix(std::min(text.size(), words[0].size()));
  }
  values.emplace_back("error", limited(text));
  if (const auto device = between(*error, "on dev ", ",")) values.emplace_back("device", limited(*device));
  if (const auto index = between(*error, "local GID index ", ","))
    values.emplace_back("gid_index", limited(*index));
  if (const auto now = between(*error, "curr state ", ",")) values.emplace_back("state", limited(*now));
  if (const auto next = between(*error, "next state ", ","))
    values.emplace_back("next_state", limited(*next));
  collector.add_event(message, LogEventKind::qp_failure, std::move(values), Repeats::per_device);
  return true;
}

bool parse_shm(const Message& message, Collector& collector) {
  static constexpr std::array<std::string_view, 6> kSigns{
      "posix_fallocate", "shm_open", "/dev/shm", "ftruncate", "shared memory segment", "fallocate"};
  const std::string_view text = message.text;
  if (!has(text, "failed") && !has(text, "Error") && !has(text, "Could not")) return false;
  for (const std::string_view sign : kSigns) {
    if (!has(text, sign)) continue;
    const std::size_t colon = text.rfind(" : ");
    const std::string_view error = colon == std::string_view::npos ? text : text.substr(colon + 3);
    collector.add_event(message, LogEventKind::shm_failure,
                        {{"call", std::string(sign)}, {"error", limited(error)}}, Repeats::per_device);
    return true;
  }
  return false;
}

bool parse_p2p(const Message& message, Collector& collector) {
  if (!has(message.text, "P2P is disabled between") && !has(message.text, "Could not enable P2P"))
    return false;
  collector.add_event(message, LogEventKind::p2p_disabled, {{"text", limited(message.text)}},
                      Repeats::per_device);
  return true;
}

bool parse_out_of_date(const Message& message, Collector& collector) {
  const bool is_dictionary = has(message.text, "in dictionary, falling back");
  const bool is_version = has(message.text, "topology version") || has(message.text, "XML Version");
  if (!is_dictionary && !is_version) return false;
  collector.add_event(message, LogEventKind::out_of_date, {{"text", limited(message.text)}},
                      Repeats::per_host);
  return true;
}

}  // namespace

bool parse_trouble(const Message& message, Collector& collector) {
  static constexpr std::array kParsers{parse_verbs, parse_queue_pair, parse_shm, parse_p2p,
                                       parse_out_of_date};
  for (const auto parse : kParsers) {
    if (parse(message, collector)) return true;
  }
  return false;
}

bool parse_warning(const Message& message, Collector& collector) {
  if (!message.is_warning) return false;
  collector.add_event(message, LogEventKind::warning, {{"text", limited(message.text)}}, Repeats::per_device);
  return true;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
