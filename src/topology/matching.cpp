// SPDX-License-Identifier: Apache-2.0
#include "topology/matching.hpp"

#include <cstddef>
#include <limits>

namespace ringcomm::inline v0::topology {
namespace {

constexpr MatchCost kUnreached{.first = std::numeric_limits<std::int64_t>::max(),
                               .second = std::numeric_limits<std::int64_t>::max()};

/// Rows and columns from 1; column 0 stands for "none yet".
class Assignment {
 public:
  Assignment(const std::vector<MatchCost>& costs, std::size_t rows, std::size_t columns)
      : costs_(costs),
        columns_(columns),
        row_of_(columns + 1, 0),
        row_price_(rows + 1),
        column_price_(columns + 1) {}

  void add_row(std::size_t row) {
    slack_.assign(columns_ + 1, kUnreached);
    previous_.assign(columns_ + 1, 0);
    is_done_.assign(columns_ + 1, false);
    row_of_[0] = row;
    std::size_t column = 0;
    while (row_of_[column] != 0) {
      is_done_[column] = true;
      column = relax_from(column);
    }
    while (column != 0) {
      row_of_[column] = row_of_[previous_[column]];
      column = previous_[column];
    }
  }
  std::size_t row_of(std::size_t column) const { return row_of_[column]; }

 private:
  /// Opens the nearest column that is not done and moves the prices by its distance.
  std::size_t relax_from(std::size_t column) {
    const std::size_t row = row_of_[column];
    MatchCost least = kUnreached;
    std::size_t nearest = 0;
    for (std::size_t next = 1; next <= columns_; ++next) {
      if (is_done_[next]) continue;
      const MatchCost reduced =
          costs_[((row - 1) * columns_) + next - 1] - row_price_[row] - column_price_[next];
      if (reduced < slack_[next]) {
        slack_[next] = reduced;
        previous_[next] = column;
      }
      if (slack_[next] < least) {
        least = slack_[next];
        nearest = next;
      }
    }
    for (std::size_t done = 0; done <= columns_; ++done) {
      if (is_done_[done]) {
        row_price_[row_of_[done]] += least;
        column_price_[done] -= least;
      } else if (slack_[done] != kUnreached) {
        slack_[done] -= least;
      }
    }
    return nearest;
  }

  const std::vector<MatchCost>& costs_;
  std::size_t columns_;
  std::vector<std::size_t> row_of_;
  std::vector<MatchCost> row_price_;
  std::vector<MatchCost> column_price_;
  std::vector<MatchCost> slack_;
  std::vector<std::size_t> previous_;
  std::vector<bool> is_done_;
};

}  // namespace

std::vector<std::size_t> assign_rows(const std::vector<MatchCost>& costs, std::size_t rows,
                                     std::size_t columns) {
  Assignment assignment(costs, rows, columns);
  for (std::size_t row = 1; row <= rows; ++row) assignment.add_row(row);
  std::vector<std::size_t> column_of(rows, 0);
  for (std::size_t column = 1; column <= columns; ++column) {
    if (assignment.row_of(column) != 0) column_of[assignment.row_of(column) - 1] = column - 1;
  }
  return column_of;
}

}  // namespace ringcomm::inline v0::topology
