// SPDX-License-Identifier: Apache-2.0
// A verdict as one screen: parts with a label in front, the least important ones cut first.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/terminal_text.hpp"
#include "diag/explain/edge_list.hpp"
#include "diag/explain/group_table.hpp"
#include "diag/explain/rank_list.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/watchdog.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kScreenLines = 50;
constexpr std::size_t kLabel = 10;  // columns in front of every line

/// Lines below one label. Of `least` lines nothing is cut; a part with a higher `cut_first` loses lines
/// before others do.
struct Part {
  std::string_view label;
  std::vector<std::string> lines;
  std::size_t least = 1;
  int cut_first = 0;
};

struct Page {
  std::size_t columns = kScreenColumns;
  bool is_verbose = false;
  std::string folder{};  ///< that all files lie in, with the slash
  std::vector<Part> parts{};

  std::size_t width() const { return columns - kLabel; }
  void add(Part part) {
    if (!part.lines.empty()) parts.push_back(std::move(part));
  }
  std::string short_name(const std::string& file) const {
    return file.size() > folder.size() && file.starts_with(folder) ? file.substr(folder.size()) : file;
  }
};

/// What is foreign is made printable before columns are counted: a byte that is no character becomes one.
void append_wrapped(std::vector<std::string>& lines, std::string_view first, std::string_view text,
                    std::size_t columns) {
  const std::string wrapped = wrap(first, printable(std::string(text), false), columns);
  for (std::size_t begin = 0; begin < wrapped.size();) {
    const std::size_t end = wrapped.find('\n', begin);
    lines.push_back(wrapped.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  if (!text.empty()) append_wrapped(lines, "", text, columns);
  return lines;
}

std::string folder_of(const HangEvidence& evidence) {
  std::string folder;
  bool is_first = true;
  const auto join = [&](const std::string& path) {
    const std::string one = path.substr(0, path.rfind('/') + 1);
    if (is_first) folder = one;
    is_first = false;
    while (!one.starts_with(folder))
      folder = folder.size() < 2 ? std::string() : folder.substr(0, folder.rfind('/', folder.size() - 2) + 1);
  };
  for (const FileRead& file : evidence.files) join(file.path);
  for (const UnreadFile& file : evidence.unread) join(file.file);
  return folder;
}

std::string culprits_in_words(const Verdict& verdict) {
  if (!verdict.culprits.empty()) return ranks_in_words(verdict.culprits, 12);
  if (verdict.kind == FaultKind::none) return "nobody";
  return "cannot be named from this evidence";
}

std::string stuck_in_words(const Verdict& verdict) {
  std::string out = verdict.op;
  if (!verdict.seq.empty()) out += concat(out.empty() ? "" : ", ", "sequence ", verdict.seq);
  if (!verdict.group.empty()) out += concat(out.empty() ? "" : ", ", "group ", verdict.group);
  return out;
}

std::string_view meaning_of(Grade grade) {
  switch (grade) {
    case Grade::certain:
      return "certain: nothing else explains these lines";
    case Grade::likely:
      return "likely: it explains these lines best";
    case Grade::possible:
      return "possible: one of several explanations";
    case Grade::cannot_tell:
      break;
  }
  return "cannot tell: the evidence leaves it open";
}

void add_answer(Page& page, const Verdict& verdict) {
  const std::string title = verdict.title.empty() ? std::string(sentence_of(verdict.kind)) : verdict.title;
  page.add({"VERDICT", wrapped(title, page.width()), 3, 1});
  page.add(
      {"kind", wrapped(concat(name_of(verdict.kind), ": ", sentence_of(verdict.kind)), page.width()), 2});
  page.add({"culprit", wrapped(culprits_in_words(verdict), page.width()), 2});
  if (!verdict.suspects.empty())
    page.add({"suspects", wrapped(ranks_in_words(verdict.suspects, 12), page.width()), 2});
  page.add({"stuck", wrapped(stuck_in_words(verdict), page.width()), 2});
  page.add({"grade", {std::string(meaning_of(verdict.grade))}});
}

/// What follows from several lines is said once, behind the last of them.
std::vector<std::string> quotes(const Page& page, const std::vector<Quote>& evidence) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    const Quote& quote = evidence[i];
    const std::string place = Where{page.short_name(quote.where.file), quote.where.line}.to_text();
    const std::string line = concat(place, place.empty() ? "" : "  ", quote.text);
    if (page.is_verbose)
      append_wrapped(lines, "", line, page.width());
    else
      lines.push_back(shorten(printable(line, false), page.width()));
    const bool is_said_again = i + 1 < evidence.size() && evidence[i + 1].says == quote.says;
    if (!quote.says.empty() && !is_said_again) append_wrapped(lines, "  => ", quote.says, page.width());
  }
  return lines;
}

std::vector<std::string> numbered(const std::vector<std::string>& steps, std::size_t columns) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < steps.size(); ++i)
    append_wrapped(lines, steps.size() == 1 ? std::string() : concat(i + 1, ". "), steps[i], columns);
  return lines;
}

void add_reasons(Page& page, const Verdict& verdict) {
  std::vector<std::string> why;
  std::set<std::string> said;
  for (const std::string& sentence : verdict.why) {
    if (said.insert(sentence).second) append_wrapped(why, "", sentence, page.width());
  }
  page.add({"why", std::move(why), 4, 4});
  page.add({"evidence", quotes(page, verdict.evidence), 4, 6});
}

void add_actions(Page& page, const Verdict& verdict) {
  page.add({"FIX", wrapped(verdict.fix, page.width()), 4, 2});
  page.add({"collect", numbered(verdict.collect, page.width()), 3, 5});
  if (!verdict.victims.empty()) {
    const std::string words = ranks_in_words(verdict.victims, 12);
    page.add(
        {"victims",
         wrapped(concat(words, words.find_first_of(",-") == std::string::npos ? " only waits" : " only wait",
                        ": nothing is wrong there"),
                 page.width()),
         2, 3});
  }
  page.add({"but", wrapped(verdict.counter_check, page.width()), 2, 5});
}

std::vector<std::string> drawn_edges(const std::vector<WaitEdge>& edges, std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& line : edge_list(edges)) append_wrapped(lines, "", line, columns);
  return lines;
}

void add_pictures(Page& page, const Verdict& verdict) {
  page.add({"cycle", drawn_edges(verdict.cycle, page.width()), 4, 3});
  if (page.is_verbose) page.add({"waits", drawn_edges(verdict.graph, page.width())});
  page.add({"groups", group_table(verdict, page.width(), page.is_verbose), 3, 7});
}

std::string formats_read(const HangEvidence& evidence) {
  std::map<std::string, std::size_t> formats;
  for (const FileRead& file : evidence.files) {
    for (const std::string& format : file.formats) ++formats[format];
  }
  std::vector<std::string> words;
  for (const auto& [format, count] : formats)
    words.push_back(count == 1 ? format : concat(format, " x", count));
  return list_of(words, 8);
}

void add_read(Page& page, const Verdict& verdict, const HangEvidence& evidence) {
  const auto read =
      static_cast<std::size_t>(std::count_if(evidence.files.begin(), evidence.files.end(),
                                             [](const FileRead& file) { return !file.formats.empty(); }));
  const std::string formats = formats_read(evidence);
  std::string line = count_of(read, "file");
  if (!page.folder.empty()) line += concat(" in ", page.folder);
  if (!formats.empty()) line += concat(": ", formats);
  if (verdict.world_size) line += concat("; world size ", *verdict.world_size);
  page.add({"read", wrapped(line, page.width()), 2, 8});
  std::vector<std::string> lines;
  for (const UnreadFile& file : evidence.unread)
    append_wrapped(lines, "", concat(page.short_name(file.file), ": ", file.status.message()), page.width());
  for (const FileRead& file : evidence.files) {
    if (!file.note.empty())
      append_wrapped(lines, "", concat(page.short_name(file.path), ": ", file.note), page.width());
    if (page.is_verbose && file.lines_skipped > 0)
      append_wrapped(lines, "",
                     concat(page.short_name(file.path), ": ", count_of(file.lines_skipped, "line"),
                            " of no known format"),
                     page.width());
  }
  page.add({"not read", std::move(lines), 2, 8});
  if (!verdict.ranks_without_evidence.empty())
    page.add(
        {"missing",
         wrapped(concat("nothing from ", ranks_in_words(verdict.ranks_without_evidence, 12)), page.width()),
         1, 3});
}

std::size_t lines_of(const Page& page) {
  std::size_t lines = 0;
  for (const Part& part : page.parts) lines += part.lines.size();
  return lines;
}

void cut_to(Page& page, std::size_t limit) {
  std::vector<std::size_t> cut(page.parts.size(), 0);
  for (std::size_t lines = lines_of(page); lines > limit;) {
    Part* widest = nullptr;
    for (Part& part : page.parts) {
      const bool is_cuttable = part.lines.size() > part.least;
      if (is_cuttable && (widest == nullptr || part.cut_first > widest->cut_first)) widest = &part;
    }
    if (widest == nullptr) return;
    const std::size_t more = std::min(lines - limit, widest->lines.size() - widest->least);
    widest->lines.resize(widest->lines.size() - more);
    cut[static_cast<std::size_t>(widest - page.parts.data())] += more;
    lines -= more;
  }
  for (std::size_t i = 0; i < cut.size(); ++i) {
    if (cut[i] > 0)
      page.parts[i].lines.back() = concat("... ", count_of(cut[i] + 1, "more line"), " (--verbose)");
  }
}

std::string drawn(const Page& page, bool has_gaps) {
  std::string out;
  for (const Part& part : page.parts) {
    const bool begins_block = part.label == "why" || part.label == "FIX" || part.label == "victims" ||
                              part.label == "cycle" || part.label == "groups" || part.label == "read";
    if (has_gaps && begins_block) out += "\n";
    for (std::size_t i = 0; i < part.lines.size(); ++i)
      out += concat(fit(i == 0 ? part.label : "", kLabel), part.lines[i], "\n");
  }
  return printable(out, false);  // blanks at the ends of lines
}

}  // namespace

std::string to_text(const Verdict& verdict, const HangEvidence& evidence, std::size_t columns,
                    bool is_verbose) {
  constexpr std::size_t kGaps = 6, kColumnsMin = 40;
  Page page{std::max(columns, kColumnsMin), is_verbose, folder_of(evidence)};
  add_answer(page, verdict);
  add_reasons(page, verdict);
  add_actions(page, verdict);
  add_pictures(page, verdict);
  add_read(page, verdict, evidence);
  if (!is_verbose) cut_to(page, kScreenLines - kGaps);
  return drawn(page, true);
}

}  // namespace ringcomm::inline v0::diag
