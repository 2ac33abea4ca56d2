// SPDX-License-Identifier: Apache-2.0
// Drives a vector tile kernel over queries and keys: which tile meets which, in which order, by whom.
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "attention/host/aligned_bytes.hpp"
#include "attention/host/kernel_factories.hpp"
#include "attention/host/key_span.hpp"
#include "attention/host/tile_ops.hpp"
#include "device/host/far_lines.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

/// (query tile, head) pairs of one kv head that share a packed KV tile: enough to forget the cost of packing,
/// few enough that their states (32 KiB each at head_dim 128) and packed queries stay in a 1 MiB L2.
constexpr int kUnitsPerItem = 8;
/// Rows of K between their fetch and their use: a few hundred nanoseconds of work, as far as another core is.
constexpr int kKeysAhead = 16;
constexpr float kNoKeyMax = -std::numeric_limits<float>::infinity();
constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;

HeadRows head_rows(const TensorView& view, std::int64_t row, std::int64_t head, int rows) {
  const auto bytes = static_cast<std::int64_t>(bytes_of(view.dtype));
  const std::int64_t at = row * view.strides[0] + head * view.strides[1];
  return {static_cast<const std::byte*>(view.data) + at * bytes, view.strides[0] * bytes, rows};
}

/// 0 would make (-inf) * 0 = NaN of a hidden score; this is as good as 0 for every finite one.
float log2_scale(float scale) {
  const auto scaled = static_cast<float>(std::abs(double{scale}) * kLog2E);
  return std::max(scaled, std::numeric_limits<float>::min());
}

class TiledKernel final : public BlockKernel {
 public:
  TiledKernel(const KernelShape& shape, const TileOps& ops, CpuLevel level, WorkerTeam& team)
      : shape_(shape),
        ops_(ops),
        level_(level),
        team_(team),
        state_(states() * state_floats() * sizeof(float)),
        scratch_(static_cast<std::size_t>(team.size()) * worker_bytes()) {}

  void begin(const TensorView& q) override {
    q_ = q;
    const auto body = [this](std::int64_t index, int) {
      const TileState state = state_at(static_cast<std::size_t>(index));
      std::fill_n(state.out, state_floats(), 0.0F);
      std::fill_n(state.max, ops_.queries, kNoKeyMax);
    };
    team_.for_each(static_cast<std::int64_t>(states()), std::cref(body));
  }

  void accumulate(const BlockRange& range, const TensorView& k, const TensorView& v) override {
    if (range.q_count == 0 || k.shape[0] == 0) return;
    const std::int64_t first = range.q_first / ops_.queries;
    const std::int64_t final = (range.q_first + range.q_count - 1) / ops_.queries + 1;
    const std::int64_t units = (final - first) * group();
    const std::int64_t items = (units + kUnitsPerItem - 1) / kUnitsPerItem;
    const auto body = [&](std::int64_t index, int worker) {
      const auto kv_head = static_cast<int>(index / items);
      const std::int64_t unit = index % items * kUnitsPerItem;
      Item item{.range = range, .band = band_of_range(range), .k = k, .v = v, .kv_head = kv_head};
      item.count = static_cast<int>(std::min<std::int64_t>(kUnitsPerItem, units - unit));
      fetch_first_keys(item);
      std::byte* scratch = scratch_.data() + static_cast<std::size_t>(worker) * worker_bytes();
      for (int slot = 0; slot < item.count; ++slot) {
        place(item, slot, first + (unit + slot) / group(), static_cast<int>((unit + slot) % group()),
              scratch);
      }
      run(item, scratch);
    };
    team_.for_each(items * shape_.kv_heads, std::cref(body));
  }

  void finish(const TensorView& out, const TensorView& lse) override {
    // An out that peers read goes around the caches while writing it through them is slow: decision 14.
    const std::size_t of_worker = out.bytes() / static_cast<std::size_t>(team_.size());
    const bool is_shared =
        shape_.peers_read_out && out.dtype == DType::float32 && of_worker >= kTimedLineBytes;
    streams_ = is_shared && is_far_ && ++finishes_ % kWritesPerLook != 0;
    const std::int64_t begun_ns = now_ns();
    const auto body = [&](std::int64_t index, int) {
      const std::int64_t tiles = tiles_of_head();
      write(out, lse, index % tiles, static_cast<int>(index / tiles));
    };
    team_.for_each(static_cast<std::int64_t>(states()), std::cref(body));
    if (is_shared && !streams_) is_far_ = was_far(of_worker, now_ns() - begun_ns);
  }

  std::size_t state_bytes() const override { return state_.bytes() + scratch_.bytes(); }
  CpuLevel level() const override { return level_; }

 private:
  /// One query tile of one head within an item.
  struct Unit {
    KeySpan keys;            // of the block, seen by any of its lanes
    std::int64_t first_row;  // of lane 0, counted from the range's first row; may be negative
    int lane_first, lane_final;
    TileState state;
    const std::byte* q;
  };
  /// What one worker does at a time: the units of one kv head against all keys of the block.
  struct Item {
    const BlockRange& range;
    VisibleBand band;
    const TensorView &k, &v;
    int kv_head;
    int count = 0;
    std::array<Unit, kUnitsPerItem> units{};
  };

  int row_bytes() const { return shape_.head_dim * static_cast<int>(bytes_of(shape_.dtype)); }
  int group() const { return shape_.q_heads / shape_.kv_heads; }
  std::int64_t tiles_of_head() const { return (shape_.q_rows + ops_.queries - 1) / ops_.queries; }
  std::size_t states() const {
    return static_cast<std::size_t>(tiles_of_head()) * static_cast<std::size_t>(shape_.q_heads);
  }
  std::size_t state_floats() const {
    return static_cast<std::size_t>(shape_.head_dim + 2) * static_cast<std::size_t>(ops_.queries);
  }
  std::size_t q_bytes() const { return ops_.q_bytes(shape_.head_dim); }
  std::size_t kv_bytes() const { return ops_.kv_bytes(shape_.head_dim); }
  std::size_t worker_bytes() const { return kUnitsPerItem * q_bytes() + kv_bytes() + ops_.scratch_bytes(); }
  TileState state_at(std::size_t index) const {
    float* out = state_.floats() + index * state_floats();
    float* max = out + shape_.head_dim * ops_.queries;
    return {.out = out, .max = max, .sum = max + ops_.queries};
  }
  TileState state_of(std::int64_t tile, int head) const {
    return state_at(static_cast<std::size_t>(head * tiles_of_head() + tile));
  }
  int rows_of(std::int64_t tile) const {
    return static_cast<int>(std::min<std::int64_t>(ops_.queries, shape_.q_rows - tile * ops_.queries));
  }

  /// Keys that arrive while the queries are packed.
  void fetch_first_keys(const Item& item) const {
    const auto rows = static_cast<int>(std::min<std::int64_t>(kKeysAhead, item.k.shape[0]));
    prefetch_rows(head_rows(item.k, 0, item.kv_head, rows), row_bytes(), 0, 1);
  }

  /// Fills a slot of the item and packs its queries.
  void place(Item& item, int slot, std::int64_t tile, int head_of_group, std::byte* scratch) const {
    const int head = item.kv_head * group() + head_of_group;
    const BlockRange& range = item.range;
    Unit& unit = item.units[static_cast<std::size_t>(slot)];
    unit.first_row = tile * ops_.queries - range.q_first;
    unit.lane_first = static_cast<int>(std::max<std::int64_t>(0, -unit.first_row));
    unit.lane_final = static_cast<int>(std::min<std::int64_t>(ops_.queries, range.q_count - unit.first_row));
    unit.keys = keys_seen(item.band, unit.first_row + unit.lane_first, unit.first_row + unit.lane_final - 1,
                          item.k.shape[0]);
    unit.state = state_of(tile, head);
    std::byte* packed = scratch + static_cast<std::size_t>(slot) * q_bytes();
    unit.q = packed;
    if (unit.keys.first >= unit.keys.final) return;
    ops_.pack_queries(head_rows(q_, tile * ops_.queries, head, rows_of(tile)), shape_.head_dim,
                      shape_.scale < 0, packed);
  }

  /// KV tiles outside, units inside: each KV tile is packed once for all units.
  void run(const Item& item, std::byte* scratch) const {
    std::byte* packed = scratch + kUnitsPerItem * q_bytes();
    std::byte* tile_scratch = packed + kv_bytes();
    const std::int64_t all_keys = item.k.shape[0];
    for (std::int64_t base = 0; base < all_keys; base += kTileKeys) {
      const int keys = static_cast<int>(std::min<std::int64_t>(kTileKeys, all_keys - base));
      PackedKeys tile{};
      for (int slot = 0; slot < item.count; ++slot) {
        const Unit& unit = item.units[static_cast<std::size_t>(slot)];
        const auto first = static_cast<int>(std::max<std::int64_t>(0, unit.keys.first - base));
        const auto final = static_cast<int>(std::min<std::int64_t>(keys, unit.keys.final - base));
        if (first >= final) continue;
        if (tile.keys == 0) {
          ops_.pack_keys(head_rows(item.k, base, item.kv_head, keys), shape_.head_dim, packed, tile);
        }
        ops_.accumulate({.q = unit.q,
                         .keys = tile,
                         .v = head_rows(item.v, base, item.kv_head, keys),
                         .head_dim = shape_.head_dim,
                         .key_first = first / kKeyAlignment * kKeyAlignment,
                         .key_final = final,
                         .mask = mask_of(item.band, unit, base),
                         .scale = log2_scale(shape_.scale),
                         .state = unit.state,
                         .scratch = tile_scratch,
                         .next = rows_wanted_soon(item, slot, base)});
      }
    }
  }

  /// What a unit fetches while it scores the keys of the tile at `base`. Units share the next tile. The first
  /// tile, and every tile of a unit that is alone, fetch for themselves: keys some rows ahead of the score,
  /// values until they are packed behind it.
  TilePrefetch rows_wanted_soon(const Item& item, int slot, std::int64_t base) const {
    const std::int64_t keys = item.k.shape[0];
    const auto rows_from = [&](const TensorView& view, std::int64_t first, std::int64_t rows) {
      first = std::min(first, keys);
      return head_rows(view, first, item.kv_head, static_cast<int>(std::min(rows, keys - first)));
    };
    if (item.count == 1 || (base == 0 && slot == 0)) {
      return {.k = rows_from(item.k, base + kKeysAhead, kTileKeys),
              .v = rows_from(item.v, base, kTileKeys),
              .row_bytes = row_bytes()};
    }
    const std::int64_t first = base + kTileKeys + kTileKeys * slot / item.count;
    const std::int64_t share = base + kTileKeys + kTileKeys * (slot + 1) / item.count - first;
    return {
        .k = rows_from(item.k, first, share), .v = rows_from(item.v, first, share), .row_bytes = row_bytes()};
  }

  /// The band in lane and key numbers of a tile; distances there are below kFar.
  static TileMask mask_of(const VisibleBand& band, const Unit& unit, std::int64_t base) {
    constexpr std::int64_t kFar = kWideTileQueries + kTileKeys;
    const std::int64_t shift = base - unit.first_row;
    return {.lower = static_cast<int>(std::clamp(band.lower + shift, -kFar, kFar)),
            .upper = static_cast<int>(std::clamp(band.upper + shift, -kFar, kFar)),
            .lane_first = unit.lane_first,
            .lane_final = unit.lane_final};
  }

  void write(const TensorView& out, const TensorView& lse, std::int64_t tile, int head) const {
    const TileState state = state_of(tile, head);
    const int rows = rows_of(tile);
    std::array<float, kWideTileQueries> inverse{};
    for (int lane = 0; lane < rows; ++lane) {
      const float sum = state.sum[lane];
      const std::int64_t row = tile * ops_.queries + lane;
      float& to = static_cast<float*>(lse.data)[head * lse.strides[0] + row * lse.strides[1]];
      to = sum == 0.0F ? kNoKeyMax
                       : static_cast<float>((double{state.max[lane]} + std::log2(double{sum})) * kLn2);
      inverse[static_cast<std::size_t>(lane)] = sum == 0.0F ? 0.0F : 1.0F / sum;
    }
    const HeadRows to = head_rows(out, tile * ops_.queries, head, rows);
    const auto write_rows = streams_                    ? ops_.write_rows_streamed
                            : out.dtype == shape_.dtype ? ops_.write_rows
                                                        : ops_.write_rows_float32;
    write_rows({.out = state.out,
                .inverse_sum = inverse.data(),
                .head_dim = shape_.head_dim,
                .to = const_cast<void*>(to.data),
                .stride_bytes = to.stride_bytes,
                .rows = rows});
  }

  KernelShape shape_;
  TileOps ops_;
  CpuLevel level_;
  WorkerTeam& team_;
  TensorView q_;
  bool is_far_ = false, streams_ = false;  // the out that peers read
  std::uint32_t finishes_ = 0;
  AlignedBytes state_;    // [q_heads, query tiles] of TileState
  AlignedBytes scratch_;  // [workers] of packed query tiles, one packed KV tile, the tile kernel's scratch
};

}  // namespace

std::unique_ptr<BlockKernel> make_tiled_kernel(const KernelShape& shape, const TileOps& ops, CpuLevel level,
                                               WorkerTeam& team) {
  return std::make_unique<TiledKernel>(shape, ops, level, team);
}

}  // namespace ringcomm::inline v0::attention::host
