// SPDX-License-Identifier: Apache-2.0
// nccl-tests, p2p tests, and what people write down of them: which pair of GPUs worked and which hung.
#include <array>
#include <string>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

struct Outcome {
  std::string_view word;
  std::string_view detail;
};
constexpr std::array kOutcomes{
    Outcome{"hang", "hang"},      Outcome{"hung", "hang"},    Outcome{"stuck", "hang"},
    Outcome{"timed out", "hang"}, Outcome{"timeout", "hang"}, Outcome{"no output", "hang"},
    Outcome{"fail", "failed"},    Outcome{"wrong", "failed"}, Outcome{"corrupt", "failed"},
    Outcome{"works", "ok"},       Outcome{"ok", "ok"},        Outcome{"pass", "ok"},
    Outcome{"busbw", "ok"},       Outcome{"success", "ok"},   Outcome{"fine", "ok"},
    Outcome{"gb/s", "ok"},
};
constexpr std::array<std::string_view, 6> kClasses{"PIX", "PXB", "PHB", "NODE", "SYS", "NV"};

class TestProgramReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    const std::string_view text = trimmed(line.text);
    const bool is_known = read_command(text, facts) || read_device(text, facts) || read_pair(text, facts) ||
                          (contains(text, "Avg bus bandwidth") || contains(text, "Out of bounds values"));
    if (is_known) facts.format("text");
    return is_known;
  }

 private:
  /// "# all_reduce_perf -b 8 -e 128M -f 2 -g 2".
  static bool read_command(std::string_view text, Facts& facts) {
    const std::size_t end = text.find("_perf");
    if (end == std::string_view::npos || text.size() > 1000) return false;
    std::size_t begin = end;
    while (begin > 0 && (is_letter(text[begin - 1]) || text[begin - 1] == '_')) --begin;
    if (begin == end) return false;
    facts.event(EventKind::test_result,
                concat("command ", text.substr(begin, std::min<std::size_t>(end + 5 - begin, 80))));
    return true;
  }

  /// "#  Rank  0 Group  0 Pid  98 on  nodea device  0 [0x3b] NVIDIA H100".
  static bool read_device(std::string_view text, Facts& facts) {
    std::string_view rest = text;
    if (!take(rest, "#") || !take(rest, "Rank ")) return false;
    Who who;
    who.rank = small_number(take_number(rest));
    if (who.rank == kUnknown) return false;
    who.pid = number_after(rest, "Pid").value_or(kUnknown);
    if (const auto on = after(rest, " on ")) {
      std::string_view host = *on;
      who.host = take_word(host).substr(0, 255);
      who.gpu = small_number(number_after(host, "device"));
    }
    facts.add_identity(std::move(who));
    return true;
  }

  /// "GPU0+GPU1 (PXB): hangs", "GPU 0 <-> GPU 1: OK", "NCCL_P2P_DISABLE=1 GPU0-GPU1: ok, busbw 4.9 GB/s".
  static bool read_pair(std::string_view text, Facts& facts) {
    if (text.size() > 1000) return false;
    const auto first = after(text, "GPU");
    if (!first) return false;
    std::string_view rest = *first;
    const int a = small_number(take_number(rest));
    if (a == kUnknown) return false;
    take(rest, "");
    const std::size_t gap = rest.find_first_of("0123456789");
    if (gap == std::string_view::npos || gap > 12) return false;
    const std::string_view between = rest.substr(0, gap);
    if (between.find_first_of("+-<>&,/") == std::string_view::npos && !contains(between, "and")) return false;
    rest.remove_prefix(gap);
    const int b = small_number(take_number(rest));
    if (b == kUnknown || b == a) return false;
    std::string_view detail;
    for (const Outcome& outcome : kOutcomes) {
      if (detail.empty() && contains_ignoring_case(rest, outcome.word)) detail = outcome.detail;
    }
    if (detail.empty()) return false;
    EventFact event;
    event.kind = EventKind::test_result;
    event.who.gpu = a;
    event.peer.gpu = b;
    event.code = detail == "ok" ? 0 : 1;
    event.detail = detail;
    for (const std::string_view path : kClasses) {
      if (!contains(rest, concat('(', path))) continue;
      event.detail += concat(
          ' ', rest.substr(rest.find(path), std::min<std::size_t>(rest.find(')') - rest.find(path), 6)));
      break;
    }
    // Settings in front make it another test.
    std::string_view before = text.substr(0, text.find("GPU"));
    while (!trimmed(before).empty()) {
      const std::string_view word = take_word(before);
      if (contains(word, "=")) event.detail += concat(' ', word.substr(0, 80));
    }
    facts.add(std::move(event));
    return true;
  }
};

}  // namespace

std::unique_ptr<LineReader> make_test_program_reader() { return std::make_unique<TestProgramReader>(); }

}  // namespace ringcomm::inline v0::diag::text
