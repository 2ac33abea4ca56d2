// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/comm/parallel_grid.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "comm/guard.hpp"
#include "core/try.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace comm {
namespace {

constexpr std::int64_t kWorldMax = 1 << 20;
/// Ordinals of grid channels begin here, one for each kind.
constexpr std::uint32_t kGridOrdinals = 0x7000'0000;

struct Axis {
  std::string word;
  int size = 1;
  std::int64_t stride = 1;  ///< ranks from one to the next
};

bool is_in_group(ParallelKind kind, std::string_view word) {
  switch (kind) {
    case ParallelKind::tp:
    case ParallelKind::sp:
      return word == "tp";
    case ParallelKind::cp:
      return word == "cp";
    case ParallelKind::pp:
      return word == "pp";
    case ParallelKind::dp:
      return word == "dp";
    default:
      return word == "dp" || word == "cp";
  }
}

std::string multiplied(const ParallelSizes& sizes) {
  return concat("tp ", sizes.tp, " x cp ", sizes.cp, " x pp ", sizes.pp);
}

/// Fills in dp.
Result<ParallelSizes> check_sizes(ParallelSizes sizes, int world) {
  if (world < 1 || world > kWorldMax)
    return Status::invalid_argument(concat("parallel grid of ", world, " ranks (1 to ", kWorldMax, ")"));
  for (const auto& [word, size] : {std::pair{"tp", sizes.tp}, {"cp", sizes.cp}, {"pp", sizes.pp}}) {
    if (size >= 1 && size <= world) continue;
    return Status::invalid_argument(
        concat("parallel grid: ", word, " = ", size, " is not between 1 and the ", world, " ranks"));
  }
  const std::int64_t model = std::int64_t{sizes.tp} * sizes.cp * sizes.pp;  // each at most 2^20
  if (sizes.dp < 0) return Status::invalid_argument(concat("parallel grid: dp = ", sizes.dp, " (negative)"));
  if (sizes.dp == 0) {
    if (world % model != 0) {
      return Status::invalid_argument(
          concat("parallel grid: ", multiplied(sizes), " = ", model, " does not divide ", world, " ranks"));
    }
    sizes.dp = static_cast<int>(world / model);
  }
  if (model > world || model * sizes.dp != world) {
    return Status::invalid_argument(concat("parallel grid: ", multiplied(sizes), " x dp ", sizes.dp,
                                           " is not the world of ", world, " ranks"));
  }
  return sizes;
}

std::vector<std::string> words_of(std::string_view order) {
  std::vector<std::string> words(1);
  for (const char letter : order) {
    if (letter == '-') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
  }
  return words;
}

Result<std::vector<Axis>> axes_of(const ParallelSizes& sizes, std::string_view order) {
  std::vector<std::pair<std::string, int>> left{
      {"tp", sizes.tp}, {"cp", sizes.cp}, {"dp", sizes.dp}, {"pp", sizes.pp}, {"ep", 1}};
  std::vector<Axis> axes;
  std::int64_t stride = 1;
  for (const std::string& word : words_of(order)) {
    const auto found = std::ranges::find(left, word, &std::pair<std::string, int>::first);
    if (found == left.end()) {
      return Status::invalid_argument(concat("parallel grid: order \"", order, "\" has \"", word,
                                             "\" twice, or it is none of tp, cp, ep, dp, pp"));
    }
    if (word != "ep") axes.push_back({word, found->second, stride});
    stride *= found->second;
    left.erase(found);
  }
  for (const auto& [word, size] : left) {
    if (size == 1) continue;
    return Status::invalid_argument(
        concat("parallel grid: order \"", order, "\" lacks ", word, ", whose size is ", size));
  }
  return axes;
}

/// Positions along `axes`, the first one fastest: their rank offsets in that order.
std::vector<int> offsets(const std::vector<Axis>& axes) {
  std::vector<int> all{0};
  for (const Axis& axis : axes) {
    const std::vector<int> before = all;
    for (int i = 1; i < axis.size; ++i) {
      for (const int offset : before) all.push_back(offset + i * static_cast<int>(axis.stride));
    }
  }
  return all;
}

}  // namespace
}  // namespace comm

std::string_view name_of(ParallelKind kind) {
  constexpr std::array<std::string_view, 6> kNames{"TP", "SP", "CP", "PP", "DP", "DP-CP"};
  return kNames[static_cast<std::size_t>(kind)];
}

Result<ParallelGrid> ParallelGrid::create(const ParallelSizes& sizes, int world, std::string_view order) {
  return comm::guard("ParallelGrid::create", [&]() -> Result<ParallelGrid> {
    ParallelGrid grid;
    RINGCOMM_TRY_ASSIGN(grid.sizes_, comm::check_sizes(sizes, world));
    RINGCOMM_TRY_ASSIGN(const std::vector<comm::Axis> axes, comm::axes_of(grid.sizes_, order));
    grid.world_ = world;
    for (const comm::Axis& axis : axes) grid.order_ += (grid.order_.empty() ? "" : "-") + axis.word;
    for (const ParallelKind kind : kParallelKinds) {
      std::vector<comm::Axis> inside, outside;
      for (const comm::Axis& axis : axes)
        (comm::is_in_group(kind, axis.word) ? inside : outside).push_back(axis);
      Table table{{},
                  std::vector<int>(static_cast<std::size_t>(world), -1),
                  std::vector<int>(static_cast<std::size_t>(world), -1)};
      for (const int first : comm::offsets(outside)) {
        std::vector<int> members = comm::offsets(inside);
        for (std::size_t place = 0; place < members.size(); ++place) {
          const auto rank = static_cast<std::size_t>(members[place] += first);
          table.group_of[rank] = static_cast<int>(table.groups.size());
          table.place[rank] = static_cast<int>(place);
        }
        table.groups.push_back(std::move(members));
      }
      grid.tables_.push_back(std::move(table));
    }
    RINGCOMM_TRY(grid.check());
    return grid;
  });
}

Status ParallelGrid::check() const {
  for (const ParallelKind kind : kParallelKinds) {
    std::vector<int> seen(static_cast<std::size_t>(world_), 0);
    for (const auto& members : groups(kind)) {
      for (const int rank : members) ++seen[static_cast<std::size_t>(rank)];
    }
    for (int rank = 0; rank < world_; ++rank) {
      if (const int times = seen[static_cast<std::size_t>(rank)]; times != 1)
        return Status::internal(
            concat("parallel grid: rank ", rank, " is in ", times, " ", name_of(kind), " groups"));
    }
  }
  for (int rank = 0; rank < world_; ++rank) {
    for (const int other :
         groups(ParallelKind::tp)[static_cast<std::size_t>(group_of(ParallelKind::tp, rank))]) {
      if (other != rank && group_of(ParallelKind::cp, other) == group_of(ParallelKind::cp, rank))
        return Status::internal(
            concat("parallel grid: TP and CP groups meet in ranks ", rank, " and ", other));
    }
  }
  return {};
}

int ParallelGrid::size(ParallelKind kind) const { return static_cast<int>(groups(kind).front().size()); }
const std::vector<std::vector<int>>& ParallelGrid::groups(ParallelKind kind) const {
  return table(kind).groups;
}
int ParallelGrid::group_of(ParallelKind kind, int rank) const {
  return table(kind).group_of[static_cast<std::size_t>(rank)];
}
int ParallelGrid::place_in_group(ParallelKind kind, int rank) const {
  return table(kind).place[static_cast<std::size_t>(rank)];
}

namespace {

Status check_world(const Communicator& comm, const ParallelGrid& grid) {
  if (comm.size() == grid.world()) return {};
  return Status::invalid_argument(
      concat("a parallel grid of ", grid.world(), " ranks on a communicator of ", comm.size()));
}

}  // namespace

Result<Channel*> ParallelGrid::open(Communicator& comm, ParallelKind kind,
                                    const ChannelOptions& options) const {
  RINGCOMM_TRY(check_world(comm, *this));
  return comm.open_channel(groups(kind)[static_cast<std::size_t>(group_of(kind, comm.rank()))],
                           comm::kGridOrdinals + static_cast<std::uint32_t>(kind), options);
}

Result<Communicator> ParallelGrid::open_communicator(Communicator& comm, ParallelKind kind,
                                                     const CommunicatorOptions& options) const {
  RINGCOMM_TRY(check_world(comm, *this));
  RINGCOMM_TRY_ASSIGN(auto made,
                      comm.split(group_of(kind, comm.rank()), place_in_group(kind, comm.rank()), options));
  return std::move(*made);
}

std::string ParallelGrid::to_text() const {
  std::string text = concat(world_, " ranks in order ", order_, ": TP ", sizes_.tp, ", CP ", sizes_.cp,
                            ", DP ", sizes_.dp, ", PP ", sizes_.pp, " (SP groups are the TP groups)\n");
  for (const ParallelKind kind : kParallelKinds) {
    if (kind == ParallelKind::sp) continue;
    for (std::size_t group = 0; group < groups(kind).size(); ++group) {
      text += concat(name_of(kind), " group ", group, ":");
      for (const int rank : groups(kind)[group]) text += concat(" ", rank);
      text += '\n';
    }
  }
  return text;
}

}  // namespace ringcomm::inline v0
