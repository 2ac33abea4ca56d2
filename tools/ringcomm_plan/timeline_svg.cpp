// SPDX-License-Identifier: Apache-2.0
#include "timeline_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report.hpp"

namespace ringcomm::planner {
namespace {

constexpr double kWidth = 1200, kLeft = 80, kRight = 20, kTop = 84, kLane = 18, kRow = 46;
constexpr const char* kComputeColours[] = {"#4c78a8", "#72a0cc"};  // alternating by step
constexpr const char* kTransfer = "#9ecae9";
constexpr const char* kOuter = "#b7a3d0";
constexpr const char* kWaited = "#e45756";

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else
      safe += c;
  }
  return safe;
}

/// The transfers that end exactly when a compute of their rank begins, later than that rank was free.
std::vector<bool> waited_for(const Schedule& schedule) {
  std::vector<bool> waited(schedule.bars.size(), false);
  std::vector<double> free_at(static_cast<std::size_t>(schedule.ranks), 0.0);
  for (const Bar& bar : schedule.bars) {
    if (!bar.is_compute) continue;
    double& free = free_at[static_cast<std::size_t>(bar.rank)];
    const double slack = 1e-9 * schedule.end_us;
    for (std::size_t i = 0; i < schedule.bars.size() && bar.from_us > free + slack; ++i) {
      const Bar& other = schedule.bars[i];
      if (!other.is_compute && other.rank == bar.rank && std::abs(other.to_us - bar.from_us) <= slack)
        waited[i] = true;
    }
    free = bar.to_us;
  }
  return waited;
}

/// 1, 2 or 5 times a power of ten: about eight marks.
double tick_of(double end_us) {
  const double rough = end_us / 8;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

class Drawing {
 public:
  Drawing(const Schedule& schedule, int rows)
      : schedule_(schedule),
        rows_(rows),
        scale_((kWidth - kLeft - kRight) / std::max(schedule.end_us, 1e-9)) {}

  std::string finish(const TimelineText& text) {
    const double bottom = kTop + rows_ * kRow;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} {1:.0f}\" "
        "font-family=\"DejaVu Sans, Helvetica, sans-serif\" font-size=\"11\">\n<rect width=\"100%\" "
        "height=\"100%\" fill=\"white\"/>\n",
        kWidth, bottom + 40);
    svg += label(kLeft, 22, escaped(text.title), "font-size=\"15\" font-weight=\"bold\"");
    svg += label(kLeft, 40, escaped(text.subtitle), "fill=\"#555\"");
    svg += legend();
    for (double at = 0; at <= schedule_.end_us * (1 + 1e-9) && schedule_.end_us > 0;
         at += tick_of(schedule_.end_us)) {
      svg +=
          fmt::format("<line x1=\"{0:.2f}\" y1=\"{1:.1f}\" x2=\"{0:.2f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n",
                      x(at), kTop - 4, bottom);
      svg += label(x(at), bottom + 14, format_us(at), "text-anchor=\"middle\" fill=\"#555\"");
    }
    return svg + bars_ + "</svg>\n";
  }
  void add_row(int row, int rank) {
    bars_ += label(kLeft - 8, kTop + row * kRow + kLane, fmt::format("rank {}", rank), "text-anchor=\"end\"");
  }
  void add_bar(const Bar& bar, int row, bool is_waited_for) {
    const double width = std::max(0.4, (bar.to_us - bar.from_us) * scale_);
    const double y = kTop + row * kRow + (bar.is_compute ? 0 : kLane + 2);
    const char* colour = bar.is_compute  ? kComputeColours[bar.step % 2]
                         : is_waited_for ? kWaited
                         : bar.is_outer  ? kOuter
                                         : kTransfer;
    const double height = bar.is_compute ? kLane : bar.is_outer ? kLane / 3 : kLane * 2 / 3;
    const double top = bar.is_outer ? y + kLane * 2 / 3 + 1 : y;
    bars_ += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"white\" "
        "stroke-width=\"0.5\">"
        "<title>rank {} step {} block {} {}: {} to {}</title></rect>\n",
        x(bar.from_us), top, width, height, colour, bar.rank, bar.step, bar.block,
        bar.is_compute ? "compute" : "transfer", format_us(bar.from_us), format_us(bar.to_us));
    if (width >= 22 && bar.is_compute)
      bars_ += label(x(bar.from_us) + width / 2, y + 13, std::to_string(bar.block),
                     "text-anchor=\"middle\" fill=\"white\"");
  }

 private:
  double x(double us) const { return kLeft + us * scale_; }
  static std::string label(double x, double y, const std::string& text, const char* style) {
    return fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style, text);
  }
  /// Of what is drawn.
  std::string legend() const {
    std::string svg;
    double at = kLeft;
    for (const auto& [colour, text] : {std::pair{kComputeColours[0], "compute (whose K and V)"},
                                       {kTransfer, "transfer, hidden"},
                                       {kOuter, "transfer between hosts, hidden"},
                                       {kWaited, "transfer that its rank waits for: the bottleneck"}}) {
      if (bars_.find(colour) == std::string::npos) continue;
      svg +=
          fmt::format("<rect x=\"{:.1f}\" y=\"52\" width=\"14\" height=\"12\" fill=\"{}\"/>\n", at, colour);
      svg += label(at + 20, 62, text, "fill=\"#333\"");
      at += 40 + 6.4 * static_cast<double>(std::string_view(text).size());
    }
    return svg;
  }

  const Schedule& schedule_;
  int rows_;
  double scale_;
  std::string bars_;
};

}  // namespace

std::string timeline_svg(const Schedule& schedule, const TimelineText& text) {
  const int rows = std::min(schedule.ranks, kRanksDrawn);
  Drawing drawing(schedule, rows);
  for (int row = 0; row < rows; ++row) drawing.add_row(row, row);
  const std::vector<bool> waited = waited_for(schedule);
  for (std::size_t i = 0; i < schedule.bars.size(); ++i) {
    if (schedule.bars[i].rank < rows) drawing.add_bar(schedule.bars[i], schedule.bars[i].rank, waited[i]);
  }
  TimelineText shown = text;
  if (rows < schedule.ranks)
    shown.subtitle += fmt::format("; ranks 0 to {} of {} are drawn", rows - 1, schedule.ranks);
  return drawing.finish(shown);
}

}  // namespace ringcomm::planner
