// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "model.hpp"
#include "ringcomm/ringcomm.hpp"
#include "text_source.hpp"

namespace ringcomm::demo {
namespace {

constexpr std::uint64_t kSeed = 20240607;

/// Rank 0 tells a person what is going on; a log file gets no progress lines.
void say(const Communicator& comm, const char* what) {
  if (comm.rank() == 0 && isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K%s", what);
}

AttentionSpec make_spec(const DemoOptions& options, const ModelShape& shape) {
  return {.tokens = options.tokens,
          .q_heads = shape.q_heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim,
          .dtype = DType::bfloat16,
          .mask = Mask::causal,
          .layout = Layout::zigzag};
}

double tensor_bytes(const RingAttention& ring) {
  double bytes = 0;
  for (const TensorView& view : {ring.q(), ring.k(), ring.v(), ring.out(), ring.lse()}) {
    bytes += static_cast<double>(view.bytes());
  }
  return bytes;
}

Status gather(Communicator& comm, const RankNumbers& mine, const std::vector<double>& keys,
              DemoResult& result) {
  result.ranks.resize(static_cast<std::size_t>(comm.size()));
  RankNumbers sent = mine;
  constexpr auto kDoubles = static_cast<std::int64_t>(sizeof(RankNumbers) / sizeof(double));
  auto gathered =
      all_gather(comm.channel(), TensorView::contiguous(&sent, DType::float64, {kDoubles}),
                 TensorView::contiguous(result.ranks.data(), DType::float64, {kDoubles * comm.size()}));
  if (!gathered.is_ok()) return gathered.status();
  std::vector<std::int64_t> counts;
  std::int64_t total = 0;
  for (const RankNumbers& rank : result.ranks) {
    counts.push_back(static_cast<std::int64_t>(rank.effective_keys_count));
    total += counts.back();
  }
  result.effective_keys.resize(static_cast<std::size_t>(total));
  std::vector<double> own = keys;
  return all_gather(
             comm.channel(),
             TensorView::contiguous(own.data(), DType::float64, {static_cast<std::int64_t>(own.size())}),
             TensorView::contiguous(result.effective_keys.data(), DType::float64, {total}), counts)
      .status();
}

/// Every rank's view of its peers' transports, as text on all ranks.
Status gather_paths(Communicator& comm, DemoResult& result) {
  constexpr std::int64_t kNameBytes = 16;
  std::vector<char> mine(static_cast<std::size_t>(kNameBytes * comm.size()), '\0');
  for (int peer = 0; peer < comm.size(); ++peer) {
    const std::string_view name = comm.path_name(peer);
    std::copy_n(name.begin(), std::min<std::size_t>(name.size(), kNameBytes - 1),
                mine.begin() + peer * kNameBytes);
  }
  std::vector<char> all(mine.size() * static_cast<std::size_t>(comm.size()));
  const auto bytes = static_cast<std::int64_t>(mine.size());
  auto gathered = all_gather(comm.channel(), TensorView::contiguous(mine.data(), DType::uint8, {bytes}),
                             TensorView::contiguous(all.data(), DType::uint8, {bytes * comm.size()}));
  if (!gathered.is_ok()) return gathered.status();
  result.paths.assign(static_cast<std::size_t>(comm.size()), {});
  for (int i = 0; i < comm.size() * comm.size(); ++i) {
    result.paths[static_cast<std::size_t>(i / comm.size())].emplace_back(
        &all[static_cast<std::size_t>(i * kNameBytes)]);
  }
  return {};
}

RankNumbers numbers_of(const RingAttention& ring, double seconds, double flop, std::uint64_t copied,
                       double rehearsal, const CheckSums& sums) {
  return {.seconds = seconds,
          .rehearsal_seconds = rehearsal,
          .flop = flop,
          .tensor_bytes = tensor_bytes(ring),
          .extra_bytes = static_cast<double>(ring.extra_bytes()),
          .bytes_copied = static_cast<double>(copied),
          .rows = sums.rows,
          .error_squares = sums.error_squares,
          .value_squares = sums.value_squares,
          .rounding_squares = sums.rounding_squares,
          .error_max = sums.error_max,
          .lse_error_max = sums.lse_error_max,
          .not_finite = sums.not_finite,
          .effective_keys_count = static_cast<double>(sums.effective_keys.size())};
}

/// Wall time of one call that all ranks enter together.
template <class Call>
Result<double> timed(Communicator& comm, Call&& call) {
  if (auto entered = barrier(comm.channel()); !entered.is_ok()) return entered.status();
  const std::int64_t begun_ns = now_ns();
  if (Status status = call(); !status.is_ok()) return status;
  if (auto left = barrier(comm.channel()); !left.is_ok()) return left.status();
  return static_cast<double>(now_ns() - begun_ns) * 1e-9;
}

}  // namespace

Result<DemoResult> run_rank(Communicator& comm, const DemoOptions& options) {
  auto text = load_text(options.text, options.tokens);
  if (!text.is_ok()) return text.status();
  const ModelShape shape;
  say(comm, "making Q, K and V from the text ...");
  const auto model = std::make_unique<Model>(shape, kSeed);
  auto created = RingAttention::create(comm, make_spec(options, shape));
  if (!created.is_ok()) return created.status();
  RingAttention ring = std::move(created).value();
  model->fill_q(text->bytes, ring.positions(), ring.q());
  model->fill_k(text->bytes, ring.kv_positions(), ring.k());
  model->fill_v(text->bytes, ring.kv_positions(), ring.v());

  say(comm, "ring attention ...");
  auto seconds = timed(comm, [&] { return ring.forward(); });
  if (!seconds.is_ok()) return seconds.status();
  const AttentionReport report = ring.report();
  std::vector<std::byte> kept_out(ring.out().bytes()), kept_lse(ring.lse().bytes());
  std::copy_n(static_cast<std::byte*>(ring.out().data), kept_out.size(), kept_out.data());
  std::copy_n(static_cast<std::byte*>(ring.lse().data), kept_lse.size(), kept_lse.data());
  say(comm, "the same schedule on local blocks ...");
  auto rehearsal = timed(comm, [&] { return ring.rehearse(); });
  if (!rehearsal.is_ok()) return rehearsal.status();
  std::copy_n(kept_out.data(), kept_out.size(), static_cast<std::byte*>(ring.out().data));
  std::copy_n(kept_lse.data(), kept_lse.size(), static_cast<std::byte*>(ring.lse().data));

  say(comm, "checking against float64 ...");
  const auto rows = rows_to_check(ring.positions(), options.check_rows);
  const CheckSums sums = check_rows(*model, text->bytes, ring.positions(), rows, ring.out(), ring.lse());
  DemoResult result{.options = options,
                    .text_name = text->name,
                    .cpu_level = std::string(name_of(report.level)),
                    .ranks = {},
                    .effective_keys = {},
                    .paths = {}};
  const RankNumbers mine =
      numbers_of(ring, seconds.value(), report.flop, report.bytes_copied, rehearsal.value(), sums);
  if (Status status = gather(comm, mine, sums.effective_keys, result); !status.is_ok()) return status;
  if (Status status = gather_paths(comm, result); !status.is_ok()) return status;
  say(comm, "");
  return result;
}

}  // namespace ringcomm::demo
