// SPDX-License-Identifier: Apache-2.0
// barrier, all_gather, broadcast and all_to_all: every byte says where it comes from.
#include <numeric>
#include <vector>

#include "conformance/suite_case.hpp"
#include "ringcomm/collectives/exchange.hpp"

namespace ringcomm::conformance {
namespace {

constexpr DType kTypes[] = {DType::int8,    DType::float16,     DType::bfloat16,   DType::float32,
                            DType::float64, DType::float8_e4m3, DType::float8_e5m2};
constexpr std::string_view kPlaceNames[] = {" window", " shifted", " strided"};
std::string_view name_of_place(Place place) { return kPlaceNames[static_cast<int>(place)]; }

/// Counts by rank: equal ones, and some with zeros between.
std::vector<std::vector<std::int64_t>> count_lists(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::int64_t> uneven;
  std::vector<std::int64_t> one_rank(n, 0);
  for (int rank = 0; rank < ranks; ++rank) uneven.push_back(rank % 3 == 1 ? 0 : 3 + 7 * rank);
  one_rank.back() = 333;
  return {std::vector<std::int64_t>(n, 0), std::vector<std::int64_t>(n, 1), std::vector<std::int64_t>(n, 37),
          uneven, one_rank};
}

Status gather(Suite& suite, DType dtype, const std::vector<std::int64_t>& counts, Place place, bool in_place,
              bool in_stream) {
  const auto own = static_cast<std::size_t>(suite.rank());
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int64_t first = std::accumulate(counts.begin(), counts.begin() + suite.rank(), std::int64_t{0});
  const Place output_place = place == Place::strided ? Place::shifted : place;
  const TensorView output = suite.tensor(1, dtype, total, output_place);
  TensorView input = suite.tensor(0, dtype, counts[own], place);
  if (in_place) {
    input = output;
    input.shape[0] = counts[own];
    input.data = static_cast<std::byte*>(output.data) + static_cast<std::size_t>(first) * bytes_of(dtype);
  }
  fill_pattern(input, suite.rank(), 1);
  RINGCOMM_TRY(Suite::finish(all_gather(suite.channel(), input, output, counts, suite.options(in_stream))));
  std::int64_t at = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    RINGCOMM_TRY(check_pattern(output, at, counts[rank], static_cast<int>(rank), 1));
    at += counts[rank];
  }
  return expect(suite.are_guards_whole(1, output), "bytes outside of the output were written");
}

Status gathers(Suite& suite) {
  for (const DType dtype : kTypes) {
    for (const auto& counts : count_lists(suite.ranks())) {
      for (const Place place : kPlaces) {
        for (const bool in_place : {false, true}) {
          if (in_place && place == Place::strided) continue;
          const std::string name = concat("all_gather ", name_of(dtype), name_of_place(place),
                                          in_place ? " in place" : "", " count of rank 0 ", counts[0]);
          const bool in_stream = dtype == DType::float32;
          RINGCOMM_TRY(
              suite.run(name, [&] { return gather(suite, dtype, counts, place, in_place, in_stream); }));
        }
      }
    }
  }
  return {};
}

Status broadcast_once(Suite& suite, DType dtype, std::int64_t count, int root, Place place, bool in_place,
                      bool in_stream) {
  const bool is_root = suite.rank() == root;
  const Place output_place = place == Place::strided ? Place::shifted : place;
  const TensorView output = suite.tensor(1, dtype, count, output_place);
  TensorView input = TensorView::contiguous(nullptr, dtype, {0});
  if (is_root) input = in_place ? output : suite.tensor(0, dtype, count, place);
  if (is_root) fill_pattern(input, root, 2);
  RINGCOMM_TRY(Suite::finish(broadcast(suite.channel(), input, output, root, suite.options(in_stream))));
  RINGCOMM_TRY(check_pattern(output, 0, count, root, 2));
  return expect(suite.are_guards_whole(1, output), "bytes outside of the output were written");
}

Status broadcasts(Suite& suite) {
  for (const DType dtype : kTypes) {
    for (const std::int64_t count : {0, 1, 37, 3001}) {
      for (int root = 0; root < suite.ranks(); ++root) {
        if (dtype != DType::float32 && root + 1 < suite.ranks()) continue;  // float32 stands for all types
        for (const Place place : kPlaces) {
          const bool in_place = place != Place::strided && (root + count) % 2 == 0;
          RINGCOMM_TRY(suite.run(concat("broadcast ", name_of(dtype), " ", count, " root ", root,
                                        name_of_place(place), in_place ? " in place" : ""),
                                 [&] {
                                   return broadcast_once(suite, dtype, count, root, place, in_place,
                                                         dtype == DType::float64);
                                 }));
        }
      }
    }
  }
  return {};
}

/// Elements from one member to another.
using CountOf = std::int64_t (*)(int from, int to);
std::int64_t equal_counts(int, int) { return 21; }
std::int64_t no_counts(int, int) { return 0; }
std::int64_t uneven_counts(int from, int to) { return (from * 5 + to * 3) % 7 * 4; }
std::int64_t only_to_first(int, int to) { return to == 0 ? 55 : 0; }

Status exchange(Suite& suite, DType dtype, CountOf count_of, Place place, bool gives_counts, bool in_stream) {
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;
  for (int peer = 0; peer < suite.ranks(); ++peer) {
    sent.push_back(count_of(suite.rank(), peer));
    received.push_back(count_of(peer, suite.rank()));
  }
  const auto sum = [](const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  const TensorView input = suite.tensor(0, dtype, sum(sent), place);
  const TensorView output =
      suite.tensor(1, dtype, sum(received), place == Place::strided ? Place::shifted : place);
  std::int64_t at = 0;
  for (int peer = 0; peer < suite.ranks(); ++peer) {
    TensorView part = input;
    part.shape[0] = sent[static_cast<std::size_t>(peer)];
    if (part.shape[0] == 0) continue;
    part.data = bytes_at(input, at).data();
    fill_pattern(part, suite.rank(), 3 + peer);
    at += part.shape[0];
  }
  if (!gives_counts) sent.clear();
  RINGCOMM_TRY(Suite::finish(all_to_all(suite.channel(), input, output, sent,
                                        gives_counts ? received : std::vector<std::int64_t>{},
                                        suite.options(in_stream))));
  at = 0;
  for (int peer = 0; peer < suite.ranks(); ++peer) {
    const std::int64_t count = received[static_cast<std::size_t>(peer)];
    RINGCOMM_TRY(check_pattern(output, at, count, peer, 3 + suite.rank()));
    at += count;
  }
  return expect(suite.are_guards_whole(1, output), "bytes outside of the output were written");
}

Status exchanges(Suite& suite) {
  struct Counts {
    std::string_view name;
    CountOf of;
    bool is_given;
  };
  constexpr Counts kCounts[] = {{" equal", equal_counts, false},
                                {" equal, listed", equal_counts, true},
                                {" none", no_counts, true},
                                {" uneven", uneven_counts, true},
                                {" all to one", only_to_first, true}};
  for (const DType dtype : kTypes) {
    for (const Counts& counts : kCounts) {
      for (const Place place : kPlaces) {
        RINGCOMM_TRY(suite.run(concat("all_to_all ", name_of(dtype), counts.name, name_of_place(place)), [&] {
          return exchange(suite, dtype, counts.of, place, counts.is_given, dtype == DType::bfloat16);
        }));
      }
    }
  }
  return {};
}

}  // namespace

Status suite_of_moves(Suite& suite) {
  for (const bool in_stream : {false, true}) {
    RINGCOMM_TRY(suite.run(
        "barrier", [&] { return Suite::finish(barrier(suite.channel(), suite.options(in_stream))); }));
  }
  RINGCOMM_TRY(gathers(suite));
  RINGCOMM_TRY(broadcasts(suite));
  return exchanges(suite);
}

}  // namespace ringcomm::conformance
