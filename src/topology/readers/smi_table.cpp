// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/smi_table.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

constexpr std::string_view kSelf = "X";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name(std::string_view word) {
  return std::ranges::all_of(
      word, [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

/// A device's name with its number blanked out.
bool lacks_number(std::string_view name) { return name == "GPU" || name == "NIC"; }

std::string join(const std::vector<std::string_view>& words, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < words.size(); ++i) text += concat(i == first ? "" : " ", words[i]);
  return text;
}

Status corrupt(std::string_view text, const std::string& file, int line, std::string_view reason) {
  return Status(StatusCode::corrupt_data,
                concat("'", shown(trimmed(text)), "' at ", Where{file, line}.to_text(), ": ", reason));
}

}  // namespace

std::string without_ansi(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool has_escape = line[i] == '\x1b';
    const std::size_t open = has_escape ? i + 1 : i;
    if (open < line.size() && line[open] == '[') {
      std::size_t end = open + 1;
      while (end < line.size() && (is_digit(line[end]) || line[end] == ';')) ++end;
      if (end < line.size() && (line[end] == 'm' || (has_escape && line[end] >= '@' && line[end] <= '~'))) {
        i = end;
        continue;
      }
    }
    if (!has_escape) out += line[i];
  }
  return out;
}

std::optional<int> gpu_number(std::string_view name) {
  if (!name.starts_with("GPU")) return std::nullopt;
  if (name.size() > 4 && name[3] == '0') return std::nullopt;  // "GPU01" is torn, and no second GPU1
  const auto number = parse_count(name.substr(3));
  if (!number || *number > 1000000) return std::nullopt;
  return static_cast<int>(*number);
}

/// Words, where "SYS0-55" is two: the cell and a CPU list that follows without a blank.
std::vector<std::string_view> SmiTableReader::split_words(std::string_view text) const {
  std::vector<std::string_view> words;
  for (const std::string_view word : words_of(text)) {
    std::size_t letters = 0;
    while (letters < word.size() && word[letters] >= 'A' && word[letters] <= 'Z') ++letters;
    if (!words.empty() && letters > 0 && letters < word.size() && is_digit(word[letters]) &&
        is_cell_(word.substr(0, letters))) {
      words.push_back(word.substr(0, letters));
      words.push_back(word.substr(letters));
    } else {
      words.push_back(word);
    }
  }
  return words;
}

bool SmiTableReader::starts_header(const std::vector<std::string_view>& words) const {
  if (!words[0].starts_with("GPU") || (words.size() > 1 && is_cell_(words[1]))) return false;
  bool has_affinity = false;
  for (const std::string_view word : words) has_affinity = has_affinity || word == "Affinity";
  for (const std::string_view word : words) {
    if (word == "CPU" || word == "NUMA") break;
    if (!is_name(word) || (!has_affinity && !is_digit(word.back()) && !lacks_number(word))) return false;
  }
  return true;
}

Result<SmiTableReader::Taken> SmiTableReader::take(std::string_view raw_line, int line, bool is_last_line,
                                                   std::vector<Skipped>& skipped) {
  if (raw_line.size() > kTableLineBytesMax) {
    add_skipped(skipped, {file_, line}, raw_line, concat("a line above ", kTableLineBytesMax, " bytes"));
    return Taken::part;
  }
  const std::string text = without_ansi(raw_line);
  const auto words = split_words(text);
  if (words.empty() || (words.size() > 1 && words[1] == "=")) return Taken::other;
  if (starts_header(words)) {
    if (table_.has_header || !table_.rows.empty()) return Taken::next_table;
    return take_header(words, line);
  }
  const bool is_nameless =
      is_cell_(words[0]) && (words.size() > 1 ? is_cell_(words[1]) || table_.columns.size() == 1
                                              : words[0] == kSelf && table_.columns.size() == 1);
  if (is_nameless) return corrupt(text, file_, line, "a row of cells without the device's name");
  if (words.size() < 2 || !is_name(words[0])) return Taken::other;
  const auto known = columns_by_name_.find(words[0]);
  const bool is_known = known != columns_by_name_.end();
  if (!is_cell_(words[1]) && !is_known) return Taken::other;
  if (lacks_number(words[0])) return corrupt(text, file_, line, "the row's device has no number");
  if (table_.has_header && !is_known) return Taken::other;
  if (!table_.has_header && !gpu_number(words[0]) && table_.rows.empty()) return Taken::other;
  if (is_known && has_row_[known->second]) return Taken::next_table;
  return take_row(text, words, line, is_last_line, skipped);
}

Result<SmiTableReader::Taken> SmiTableReader::take_header(const std::vector<std::string_view>& words,
                                                          int line) {
  std::set<std::string_view> seen;
  std::size_t past = 0;
  while (past < words.size() && words[past] != "CPU" && words[past] != "NUMA") {
    if (past + 1 < words.size() && words[past] == "GPU" && words[past + 1] == "NUMA") break;
    if (lacks_number(words[past]))
      return corrupt(join(words, 0), file_, line, "a column's device has no number");
    if (!seen.insert(words[past]).second)
      return corrupt(join(words, 0), file_, line, concat("two columns are named ", words[past]));
    if (++past > kTableColumnsMax)
      return corrupt(join(words, 0), file_, line,
                     concat("a table of more than ", kTableColumnsMax, " columns"));
  }
  table_.columns.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(past));
  for (std::size_t i = 0; i < past; ++i) columns_by_name_.emplace(words[i], i);
  has_row_.assign(past, false);
  table_.header_tail = join(words, past);
  table_.has_header = true;
  table_.line = line;
  return Taken::part;
}

/// Tabs keep the place of an empty cell. False: blanks and tabs are mixed, so tabs tell nothing.
bool SmiTableReader::split_at_tabs(std::string_view text, SmiRow& row) const {
  text = text.substr(text.find(row.name) + row.name.size());
  if (!text.starts_with('\t')) return false;
  std::vector<std::string_view> fields;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::size_t past = std::min(text.find('\t'), text.size());
    fields.push_back(trimmed(text.substr(0, past)));
    text.remove_prefix(past);
  }
  std::size_t count = table_.columns.size();
  if (count == 0) {
    for (std::size_t i = 0; i < fields.size(); ++i) count = is_cell_(fields[i]) ? i + 1 : count;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i >= count) {
      row.tail += concat(row.tail.empty() ? "" : "\t", fields[i]);
      continue;
    }
    if (words_of(fields[i]).size() > 1 || (!fields[i].empty() && is_digit(fields[i].front()))) return false;
    row.cells.emplace_back(fields[i]);
  }
  const bool has_more = std::ranges::any_of(words_of(row.tail), is_cell_);
  return !has_more;
}

void SmiTableReader::split_at_blanks(const std::vector<std::string_view>& words, SmiRow& row) const {
  std::size_t past = 1;
  for (std::size_t i = 1; i < words.size(); ++i) past = is_cell_(words[i]) ? i + 1 : past;
  row.cells.assign(words.begin() + 1, words.begin() + static_cast<std::ptrdiff_t>(past));
  row.tail = join(words, past);
}

bool SmiTableReader::find_column(SmiRow& row) const {
  if (const auto named = columns_by_name_.find(row.name); named != columns_by_name_.end()) {
    row.column = named->second;
    return true;
  }
  // Without a header the cell of the device itself tells the place.
  const auto self = std::ranges::find(row.cells, kSelf);
  row.column = static_cast<std::size_t>(self - row.cells.begin());
  return self != row.cells.end();
}

/// A cell that is missing between blanks moves the others: then only what surely stands in its place is kept,
/// and the symmetric half of the table gives the rest.
void SmiTableReader::align(SmiRow& row, bool has_tabs, bool is_last_line,
                           std::vector<Skipped>& skipped) const {
  const std::size_t count = table_.columns.size();
  const auto self = static_cast<std::size_t>(std::ranges::find(row.cells, kSelf) - row.cells.begin());
  const bool has_self = self < row.cells.size();
  const Where where{file_, row.line};
  const bool is_short = row.cells.size() < count;
  row.is_cut = is_short && row.tail.empty() && is_last_line;
  if ((has_self && self != row.column) || (!has_self && !has_tabs && !row.is_cut)) {
    add_skipped(skipped, where, row.name, "the cells do not stand under the header's columns");
    row.cells.clear();
  } else if (row.is_cut) {
    add_skipped(skipped, where, row.name,
                concat("the text ends after ", row.cells.size(), " of ", count, " cells of this row"));
    // "NV1" may be what is left of "NV18".
    if (!row.cells.empty() && is_digit(row.cells.back().empty() ? ' ' : row.cells.back().back()))
      row.cells.pop_back();
  } else if (is_short) {
    add_skipped(
        skipped, where, row.name,
        concat("only ", row.cells.size(), " of ", count, " cells: which one is missing is not shown"));
    if (!has_tabs) row.cells.resize(std::min(row.cells.size(), row.column + 1));
  }
  const auto empty = std::ranges::count(row.cells, std::string());
  if (empty > 0) add_skipped(skipped, where, row.name, concat(empty, " cells of this row are empty"));
  row.cells.resize(count);
  for (std::string& cell : row.cells) {
    if (cell.empty() || is_cell_(cell)) continue;
    add_skipped(skipped, where, cell, concat("no word of this table, in the row of ", row.name));
    cell.clear();
  }
}

Result<SmiTableReader::Taken> SmiTableReader::take_row(std::string_view text,
                                                       const std::vector<std::string_view>& words, int line,
                                                       bool is_last_line, std::vector<Skipped>& skipped) {
  SmiRow row{
      .name = std::string(words[0]), .column = 0, .cells = {}, .tail = {}, .is_cut = false, .line = line};
  const bool has_tabs = split_at_tabs(text, row);
  if (!has_tabs) {
    row.cells.clear();
    row.tail.clear();
    split_at_blanks(words, row);
  }
  if (table_.rows.empty() && !table_.has_header) {
    if (row.cells.size() > kTableColumnsMax)
      return corrupt(text, file_, line, concat("a table of more than ", kTableColumnsMax, " columns"));
    table_.columns.assign(row.cells.size(), "");
    has_row_.assign(row.cells.size(), false);
    table_.line = line;
  }
  if (row.cells.size() > table_.columns.size())
    return corrupt(
        text, file_, line,
        concat(row.cells.size(), " cells in a table of ", table_.columns.size(), " named columns"));
  if (!find_column(row)) {
    add_skipped(skipped, {file_, line}, text,
                "without a header the X of a row tells its column; it has none");
    return Taken::part;
  }
  if (table_.columns[row.column].empty()) {
    table_.columns[row.column] = row.name;
    columns_by_name_.emplace(row.name, row.column);
  }
  if (table_.columns[row.column] != row.name)
    return corrupt(text, file_, line, concat("its column is already ", table_.columns[row.column]));
  has_row_[row.column] = true;
  align(row, has_tabs, is_last_line, skipped);
  table_.rows.push_back(std::move(row));
  return Taken::part;
}

SmiTable SmiTableReader::finish(std::vector<Skipped>& skipped) {
  SmiTable table = std::exchange(table_, {});
  columns_by_name_.clear();
  has_row_.clear();
  // Only a GPU has NVLinks, and the GPUs stand first, in the order of their numbers.
  std::size_t gpu_count = 0;
  bool is_in_order = true;
  for (const SmiRow& row : table.rows) {
    const auto number = gpu_number(row.name);
    if (number) gpu_count = std::max(gpu_count, row.column + 1);
    is_in_order = is_in_order && (!number || *number == static_cast<int>(row.column));
    for (std::size_t i = gpu_count; i < row.cells.size() && !row.is_cut; ++i)
      gpu_count = row.cells[i].starts_with("NV") ? i + 1 : gpu_count;
  }
  std::string nameless;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.columns[i].empty()) continue;
    if (i < gpu_count && is_in_order) {
      table.columns[i] = concat("GPU", i);
    } else {
      nameless += concat(nameless.empty() ? "" : " ", i + 1);
    }
  }
  if (!nameless.empty())
    add_skipped(skipped, {file_, table.line}, nameless,
                "columns without a header or a row: what they are is not shown");
  return table;
}

}  // namespace ringcomm::inline v0::topology
