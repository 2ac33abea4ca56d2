// SPDX-License-Identifier: Apache-2.0
// The square tables of nvidia-smi topo: a row and a column for each device, tabs or runs of spaces between,
// often pasted without the header or cut at the end.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology {

// The largest table is 16 GPUs and some 40 NICs; the square of this is what a hostile file may cost.
inline constexpr std::size_t kTableColumnsMax = 1024;
inline constexpr std::size_t kTableLineBytesMax = 65536;

/// Without ANSI sequences ("\x1b[4m", and "[4m" whose escape character was lost in a paste).
std::string without_ansi(std::string_view line);
/// "GPU7" -> 7.
std::optional<int> gpu_number(std::string_view name);

struct SmiRow {
  std::string name{};
  std::size_t column = 0;            ///< its own column
  std::vector<std::string> cells{};  ///< one for each column; empty: not shown
  std::string tail{};                ///< what follows the cells
  bool is_cut = false;               ///< the text ends in it
  int line = 0;
};

struct SmiTable {
  std::vector<std::string> columns{};  ///< device names; empty: no header and no row told
  std::vector<SmiRow> rows{};
  std::string header_tail{};  ///< "CPU Affinity NUMA Affinity"; empty without header
  bool has_header = false;
  int line = 0;  ///< first line of it
};

/// Takes one table line by line.
class SmiTableReader {
 public:
  using IsCell = bool (*)(std::string_view word);
  enum class Taken { part, other, next_table };

  SmiTableReader(IsCell is_cell, std::string file) : is_cell_(is_cell), file_(std::move(file)) {}

  /// next_table: the line belongs to a second table and was not taken. corrupt_data: a row or column without
  /// its name, more cells than columns, too many columns.
  Result<Taken> take(std::string_view raw_line, int line, bool is_last_line, std::vector<Skipped>& skipped);
  /// Names the columns that only rows can name. The reader is empty afterwards.
  SmiTable finish(std::vector<Skipped>& skipped);

 private:
  Result<Taken> take_header(const std::vector<std::string_view>& words, int line);
  Result<Taken> take_row(std::string_view text, const std::vector<std::string_view>& words, int line,
                         bool is_last_line, std::vector<Skipped>& skipped);
  bool starts_header(const std::vector<std::string_view>& words) const;
  std::vector<std::string_view> split_words(std::string_view text) const;
  bool split_at_tabs(std::string_view text, SmiRow& row) const;
  void split_at_blanks(const std::vector<std::string_view>& words, SmiRow& row) const;
  bool find_column(SmiRow& row) const;
  void align(SmiRow& row, bool has_tabs, bool is_last_line, std::vector<Skipped>& skipped) const;

  IsCell is_cell_;
  std::string file_;
  SmiTable table_{};
  std::map<std::string, std::size_t, std::less<>> columns_by_name_{};
  std::vector<bool> has_row_{};  ///< by column
};

}  // namespace ringcomm::inline v0::topology
