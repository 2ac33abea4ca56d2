// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "diag/evidence/text/line.hpp"
#include "diag/evidence/text/scan.hpp"
#include "diag/evidence/text/timestamp.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr int kPrefixesMax = 8;
constexpr std::size_t kHostsMax = 4096;
constexpr std::size_t kNameMax = 255;

/// What stands in brackets at the beginning, and what follows.
struct Bracket {
  std::string_view inside, rest;
};
std::optional<Bracket> bracket_at(std::string_view text) {
  if (!text.starts_with('[')) return std::nullopt;
  const std::size_t end = text.substr(0, kNameMax).find(']');
  if (end == std::string_view::npos) return std::nullopt;
  return Bracket{text.substr(1, end - 1), text.substr(end + 1)};
}

void drop_one_blank(std::string_view& text) {
  if (text.starts_with(' ')) text.remove_prefix(1);
}

std::optional<int> whole_number(std::string_view text) {
  const auto number = take_number(text);
  const int value = small_number(number);
  return text.empty() && value != kUnknown ? std::optional(value) : std::nullopt;
}

/// mpirun --tag-output: "[1,2]<stdout>:", "[prterun-host-1@1,2]<stderr>: ".
bool take_mpi(Line& line) {
  const auto bracket = bracket_at(line.text);
  if (!bracket) return false;
  std::string_view rest = bracket->rest;
  bool is_tagged = false;
  for (const std::string_view stream : {"<stdout>", "<stderr>", "<stdin>", "<stddiag>"})
    is_tagged = is_tagged || take(rest, stream);
  const std::size_t comma = bracket->inside.rfind(',');
  if (!is_tagged || comma == std::string_view::npos) return false;
  const auto rank = whole_number(bracket->inside.substr(comma + 1));
  if (!rank) return false;
  take(rest, ":");
  drop_one_blank(rest);
  line.who.rank = *rank;
  line.launcher = "mpi_prefix";
  line.text = rest;
  return true;
}

/// A kernel's "   12.345678": seconds since it was booted, which no other line is dated by.
bool is_uptime(std::string_view inside) {
  const auto seconds = take_number(inside);
  return seconds && inside.size() == 7 && inside.front() == '.' &&
         std::ranges::all_of(inside.substr(1), [](char c) { return is_digit(c); });
}

/// "[rank3]:", "[rank3] ", "[default3]:", "[trainer22|6]:", "[pod/worker-3/main] ", "[80740] [rank0]".
bool take_bracket(Line& line) {
  const auto bracket = bracket_at(line.text);
  if (!bracket) return false;
  std::string_view inside = bracket->inside;
  std::string_view rest = bracket->rest;
  const bool has_colon = rest.starts_with(':');
  if (has_colon) rest.remove_prefix(1);
  if (inside.starts_with("rank")) {
    inside.remove_prefix(4);
    take(inside, "");
    const auto rank = whole_number(inside);
    if (!rank) return false;
    line.who.rank = *rank;
  } else if (inside.starts_with("default") && has_colon) {
    const auto local = whole_number(inside.substr(7));
    if (!local) return false;
    line.who.name = inside;
    line.launcher = "torchrun_prefix";
  } else if (inside.find('|') != std::string_view::npos && has_colon) {
    if (!whole_number(inside.substr(inside.rfind('|') + 1))) return false;
    line.who.name = inside;
    line.launcher = "torchrun_prefix";
  } else if (inside.starts_with("pod/")) {
    inside.remove_prefix(4);
    line.who.host = inside.substr(0, inside.find('/'));
    line.launcher = "kubectl_prefix";
  } else if (is_uptime(inside) && rest.starts_with(' ')) {
    line.launcher = "dmesg_prefix";
  } else if (!whole_number(inside) || !(rest.starts_with(" [rank") || rest.starts_with(" [E"))) {
    return false;
  }
  drop_one_blank(rest);
  line.text = rest;
  return true;
}

/// Ray: "(RayTrainWorker pid=12, ip=10.0.0.1) ", "(pid=12) ". A comma behind the name is another launcher's,
/// whose number is the launcher's own process.
bool take_ray(Line& line) {
  if (!line.text.starts_with('(')) return false;
  const std::size_t end = line.text.substr(0, kNameMax).find(')');
  if (end == std::string_view::npos) return false;
  const std::string_view inside = line.text.substr(1, end - 1);
  const std::size_t at = inside.find("pid=");
  const auto pid = number_after(inside, "pid=");
  if (!pid || (at > 0 && inside[at - 1] != ' ')) return false;
  const bool is_own = !inside.substr(0, at).ends_with(", ");
  if (is_own) line.who.pid = *pid;
  if (const std::string_view ip = word_after(inside, "ip="); !ip.empty()) line.who.address = ip;
  if (const int rank = small_number(number_after(inside, "rank=")); rank != kUnknown) line.who.rank = rank;
  line.launcher = "ray_prefix";
  line.text.remove_prefix(end + 1);
  drop_one_blank(line.text);
  return true;
}

/// srun --label: "3: ", "  12: ".
bool take_task(Line& line) {
  std::string_view rest = line.text;
  const auto number = take_number(rest);
  if (!number || *number < 0 || *number > 999'999 || !rest.starts_with(": ")) return false;
  rest.remove_prefix(2);
  line.who.rank = static_cast<int>(*number);
  line.launcher = "srun_prefix";
  line.text = rest;
  return true;
}

bool is_host_name(std::string_view word) {
  if (word.size() < 2 || word.size() > kNameMax || !is_letter(word.front())) return false;
  if (word.starts_with("GPU") || word.starts_with("NIC") || word.starts_with("mlx")) return false;
  const bool has_mark = word.find_first_of("0123456789-.") != std::string_view::npos;
  return has_mark && std::ranges::all_of(word, [](char c) {
           return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
         });
}

/// What begins a line that somebody's program printed, so that the word before it is a label.
bool is_known_beginning(std::string_view text) {
  constexpr std::array<std::string_view, 12> kBeginnings{"[rank", "[E",         "[W",        "[I",
                                                         "[2",    "Traceback ", "NVRM:",     "RuntimeError:",
                                                         "(",     "[default",   "  File \"", "E0"};
  if (std::ranges::any_of(kBeginnings, [&](std::string_view word) { return text.starts_with(word); }))
    return true;
  const std::size_t nccl = text.substr(0, 400).find(" NCCL ");
  return nccl != std::string_view::npos && text.substr(0, nccl).find('[') != std::string_view::npos;
}

}  // namespace

/// pdsh, clush, dshbak: "node07: text". Any word can stand before a colon, so it counts as a host only in
/// front of a known beginning, or when it did so before.
bool PrefixStripper::take_host(Line& line) {
  const std::size_t colon = line.text.substr(0, kNameMax).find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view word = line.text.substr(0, colon);
  if (!is_host_name(word)) return false;
  const bool is_seen = hosts_.contains(word);
  const std::string_view rest = line.text.substr(colon + 2);
  if (!is_seen && !is_known_beginning(rest)) return false;
  if (!is_seen && hosts_.size() < kHostsMax) hosts_.emplace(word);
  line.who.host = word;
  line.launcher = "pdsh_prefix";
  line.text = rest;
  return true;
}

bool PrefixStripper::take_one(Line& line) {
  if (line.text.empty()) return false;
  if (const auto time = take_time(line.text)) {
    line.time_ns = time;
    return true;
  }
  return take_mpi(line) || take_bracket(line) || take_ray(line) || take_task(line) || take_host(line);
}

Line PrefixStripper::strip(std::string_view whole) {
  Line line;
  line.text = line.whole = whole;
  for (int i = 0; i < kPrefixesMax && take_one(line); ++i) {
  }
  if (const auto time = glog_time(line.text)) line.time_ns = time;
  return line;
}

std::string_view without_escapes(std::string_view text, std::string& scratch) {
  if (text.find('\x1b') == std::string_view::npos) return text;
  scratch.clear();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      scratch += text[at];
      continue;
    }
    // "ESC [ parameters letter"; of others only the next character.
    if (at + 1 < text.size() && text[at + 1] == '[') {
      at += 2;
      while (at < text.size() && !is_letter(text[at])) ++at;
    } else {
      ++at;
    }
  }
  return scratch;
}

std::string_view without_scroll_mark(std::string_view text) {
  const std::string_view line = trimmed(text);
  const std::size_t open = line.rfind('[');
  if (!line.ends_with(']') || open == std::string_view::npos || open == 0 || line.size() - open > 16)
    return text;
  std::string_view inside = line.substr(open + 1, line.size() - open - 2);
  const auto line_number = take_number(inside);
  if (!line_number || !take(inside, "/") || !take_number(inside) || !inside.empty()) return text;
  // "step [30/1422]" has one blank before it; the mark of a scroll-back is glued or far to the right.
  const bool is_one_blank = line[open - 1] == ' ' && (open < 2 || line[open - 2] != ' ');
  if (is_one_blank) return text;
  std::string_view kept = text.substr(0, static_cast<std::size_t>(line.data() + open - text.data()));
  while (!kept.empty() && is_blank(kept.back())) kept.remove_suffix(1);
  return kept;
}

}  // namespace ringcomm::inline v0::diag::text
