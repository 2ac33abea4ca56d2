// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nccl_log/message.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "core/parse.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

constexpr std::string_view kInfo = "NCCL INFO";
constexpr std::string_view kWarn = "NCCL WARN";
// Hosts of which the beginning is known, to find a header that is glued to the end of a torn message.
constexpr std::size_t kHostsMax = 4096;
constexpr std::size_t kHostBytesMax = 255;
// A ring of 131,072 ranks fits; words of a longer message would cost many times its size.
constexpr std::size_t kMessageBytesMax = 1 << 20;

struct Header {
  std::size_t begin = 0;  ///< of its host, or of the bracket
  std::size_t marker = 0;
  std::string_view host{};
  std::string_view writer{};
  std::optional<int> device{};
};

std::size_t find_marker(std::string_view line, std::size_t from) {
  return std::min(line.find(kInfo, from), line.find(kWarn, from));
}

std::size_t back_over_blanks(std::string_view line, std::size_t first, std::size_t at) {
  while (at > first && (line[at - 1] == ' ' || line[at - 1] == '\t')) --at;
  return at;
}

std::size_t back_over_word(std::string_view line, std::size_t first, std::size_t at) {
  while (at > first && line[at - 1] != ' ' && line[at - 1] != '\t') --at;
  return at;
}

/// "misc/ibvwrap.cc:63", which stands between the bracket and the marker of a warning.
bool is_source_place(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  return colon != std::string_view::npos && word.substr(0, colon).find('.') != std::string_view::npos &&
         parse_count(word.substr(colon + 1)).has_value();
}

/// "[3]" at the end of the line's first `at` characters.
std::optional<int> bracket_before(std::string_view line, std::size_t first, std::size_t& at) {
  if (at == first || line[at - 1] != ']') return std::nullopt;
  // No further back than a number is long: a line may hold a million brackets.
  std::size_t open = at - 1;
  while (open > first && line[open] != '[' && at - open < 12) --open;
  if (line[open] != '[') return std::nullopt;
  const auto number = parse_decimal<int>(line.substr(open + 1, at - open - 2));
  if (!number || *number < 0) return std::nullopt;
  at = open;
  return number;
}

/// Launchers and terminals glue their prefixes to the host: "[1,3]<stdout>:node01", "\x1b[0mnode01".
std::string_view without_prefix(std::string_view word) {
  if (const std::size_t past = word.rfind(">:"); past != std::string_view::npos) word.remove_prefix(past + 2);
  if (const std::size_t escape = word.rfind('\x1b'); escape != std::string_view::npos) {
    const std::size_t end = word.find('m', escape);
    word.remove_prefix(end == std::string_view::npos ? escape + 1 : end + 1);
  }
  return word;
}

bool is_process_part(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == ':' || c == 'X'; });
}

/// Reads backwards from a marker; `first` is where the message before it began.
Header header_before(std::string_view line, std::size_t first, std::size_t marker) {
  Header header{.begin = marker, .marker = marker};
  std::size_t at = back_over_blanks(line, first, marker);
  const std::size_t word = back_over_word(line, first, at);
  if (is_source_place(line.substr(word, at - word)) && !line.substr(word, at - word).starts_with('['))
    at = header.begin = back_over_blanks(line, first, word);
  const std::size_t end = at;
  header.device = bracket_before(line, first, at);
  if (!header.device) return header;
  header.begin = at;
  header.writer = line.substr(at, end - at);
  at = back_over_blanks(line, first, at);
  const std::size_t begin = back_over_word(line, first, at);
  const std::string_view token = without_prefix(line.substr(begin, at - begin));
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_process_part(token.substr(colon + 1)))
    return header;
  header.host = token.substr(0, colon);
  header.begin = at - token.size();
  header.writer = line.substr(header.begin, end - header.begin);
  return header;
}

class MessageFinder {
 public:
  explicit MessageFinder(const std::function<void(const Message&)>& visit) : visit_(visit) {}

  /// Hosts as they stand at the beginning of a line.
  void learn_host(std::string_view line) {
    const std::size_t marker = find_marker(line, 0);
    if (marker == std::string_view::npos || hosts_.size() >= kHostsMax) return;
    const Header header = header_before(line, 0, marker);
    if (!header.host.empty() && header.host.size() <= kHostBytesMax) hosts_.insert(header.host);
  }

  /// False when there is no message.
  bool read_line(std::string_view line, int number) {
    headers_.clear();
    std::size_t first = 0;
    for (std::size_t marker = find_marker(line, 0); marker != std::string_view::npos;
         marker = find_marker(line, first)) {
      headers_.push_back(header_before(line, first, marker));
      if (first > 0) cut_glued_host(headers_.back());
      first = marker + kInfo.size();
    }
    for (std::size_t i = 0; i < headers_.size(); ++i) tell(line, number, i);
    return !headers_.empty();
  }

 private:
  // "-1node01" is the end of another message and a host: the longest host that is known ends it.
  void cut_glued_host(Header& header) const {
    if (header.host.empty() || hosts_.contains(header.host)) return;
    std::string_view best;
    const std::size_t longest = std::min(header.host.size() - 1, kHostBytesMax);
    for (std::size_t cut = header.host.size() - longest; cut < header.host.size() && best.empty(); ++cut) {
      const auto known = hosts_.find(header.host.substr(cut));
      if (known != hosts_.end()) best = header.host.substr(cut);
    }
    const std::size_t cut = header.host.size() - best.size();
    header.host = best;
    header.begin += cut;
    header.writer.remove_prefix(cut);
  }

  void tell(std::string_view line, int number, std::size_t i) const {
    const Header& header = headers_[i];
    const bool is_last = i + 1 == headers_.size();
    const std::size_t begin = header.marker + kInfo.size();
    const std::size_t end = is_last ? line.size() : std::max(begin, headers_[i + 1].begin);
    std::string_view text = line.substr(begin, end - begin);
    if (text.starts_with(' ')) text.remove_prefix(1);
    const bool is_cut = text.size() > kMessageBytesMax;
    if (is_cut) text = text.substr(0, kMessageBytesMax);
    visit_({.host = header.host,
            .writer = header.writer,
            .device = header.device,
            .is_warning = line.substr(header.marker).starts_with(kWarn),
            .is_torn = !is_last || is_cut,
            .text = text,
            .line = number});
  }

  const std::function<void(const Message&)>& visit_;
  std::set<std::string_view> hosts_;
  std::vector<Header> headers_;
};

}  // namespace

int for_each_message(std::string_view text, const std::function<void(const Message&)>& visit) {
  MessageFinder finder(visit);
  for_each_line(text, [&](std::string_view line, int) { finder.learn_host(line); });
  int without = 0;
  for_each_line(text, [&](std::string_view line, int number) {
    if (!finder.read_line(line, number) && !trimmed(line).empty()) ++without;
  });
  return without;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
