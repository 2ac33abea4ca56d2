// SPDX-License-Identifier: Apache-2.0
// One hop (or a full turn) of KV blocks, with the first read of the block, which its owner has just
// rewritten.
#include <cstring>
#include <optional>

#include "../buffer.hpp"
#include "../case.hpp"
#include "../operations.hpp"
#include "../read_all.hpp"
#include "../try.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::perf {
namespace {

std::uint64_t read_all(const TensorView& view) {
  return perf::read_all(static_cast<const std::byte*>(view.data), view.bytes());
}

void work_for(double us) {
  const std::int64_t until_ns = now_ns() + static_cast<std::int64_t>(us * 1000);
  while (us > 0 && now_ns() < until_ns) {
  }
}

class RingRotate final : public Case {
 public:
  RingRotate(Communicator& comm, const Options& options) : comm_(comm), options_(options) {}

  Result<RowHead> prepare(const RowSpec& spec) override {
    rotation_.reset();
    window_ = Buffer();
    // K and V are [rows, 1, 32] bytes each: any size is a whole number of 64-byte rows of K and V together.
    const std::int64_t rows = static_cast<std::int64_t>(spec.bytes) / (2 * kRowBytes);
    Options one_copy = options_;
    one_copy.is_cold = false;  // the caches are flushed instead: a rotation is made for one address
    PERF_TRY_ASSIGN(window_,
                    Buffer::allocate(comm_, one_copy, static_cast<std::size_t>(rows * 2 * kRowBytes)));
    const TensorView k = TensorView::contiguous(window_.data(), DType::uint8, {rows, 1, kRowBytes});
    const TensorView v =
        TensorView::contiguous(window_.data() + rows * kRowBytes, DType::uint8, {rows, 1, kRowBytes});
    RotationOptions rotation{.mode = options_.rotation,
                             .overlap = options_.overlap.value_or(
                                 options_.compute_us > 0 ? plan::Overlap::on : plan::Overlap::off),
                             .chunk_bytes = options_.chunk_bytes};
    if (!options_.full) rotation.needed = neighbours_only();
    auto created = RingRotation::create(comm_.channel(), k, v, rotation);
    if (!created.is_ok()) return created.status();
    rotation_ = std::move(created).value();
    const auto block = static_cast<std::size_t>(rows * 2 * kRowBytes);
    RowHead head{.size = options_.full ? block * static_cast<std::size_t>(comm_.size()) : block,
                 .count = static_cast<std::int64_t>(block / bytes_of(spec.dtype)),
                 .type = std::string(nccl_name_of(spec.dtype))};
    const double ranks = comm_.size();
    head.bus_factor = options_.full ? (ranks - 1) / ranks : 1;
    head.work = static_cast<double>(block) * ranks * (options_.full ? ranks : 1);
    head.has_bandwidth = !options_.no_read || rotation_->mode() == plan::RotationMode::relay;
    return head;
  }

  Result<double> run(Buffers /*buffers*/) override {
    if (options_.compute_us > 0) {
      PERF_TRY(make_ready());
      PERF_TRY_ASSIGN(const double bare, rotate(0));
      bare_seconds_ += bare;
    }
    PERF_TRY(make_ready());
    local_seconds_ += run_local();
    if (options_.is_cold) {
      flush_caches(options_, comm_.size());
      PERF_TRY(barrier(comm_.channel()).status());
    }
    PERF_TRY(launch_companion());
    PERF_TRY_ASSIGN(const double seconds, rotate(options_.compute_us));
    ++runs_;
    seconds_ += seconds;
    return seconds;
  }

  Result<std::int64_t> check(Buffers /*buffers*/) override {
    rewrite();
    std::int64_t wrong = 0;
    Status status = rotation_->run([&](const RotationStep& step) {
      for (const RotationPart& part : step.parts()) {
        wrong += count_wrong(part.k, part.source, 0) + count_wrong(part.v, part.source, part.k.bytes());
      }
    });
    if (!status.is_ok()) return status;
    return wrong;
  }

  std::vector<std::pair<std::string, double>> extras() override {
    const double runs = runs_ > 0 ? runs_ : 1;
    const double total_us = seconds_ / runs * 1e6;
    const double local_us = local_seconds_ / runs * 1e6;
    std::vector<std::pair<std::string, double>> columns{{"exposed(us)", total_us - local_us}};
    if (options_.compute_us > 0) {
      const double bare_us = bare_seconds_ / runs * 1e6;
      const double compute_us = options_.compute_us * steps();
      columns.emplace_back("overlap(%)", bare_us > 0 ? 100 * (1 - (total_us - compute_us) / bare_us) : 0);
    }
    return columns;
  }

  void start_counting() override { runs_ = 0, seconds_ = 0, local_seconds_ = 0, bare_seconds_ = 0; }

 private:
  static constexpr std::int64_t kRowBytes = 32;

  std::vector<std::uint8_t> neighbours_only() const {
    const auto ranks = static_cast<std::size_t>(comm_.size());
    std::vector<std::uint8_t> needed(ranks * ranks, 0);
    for (std::size_t r = 0; r < ranks; ++r)
      needed[r * ranks + r] = needed[r * ranks + (r + ranks - 1) % ranks] = 1;
    return needed;
  }

  /// Untimed: a block that stays in its reader's cache would make any figure several times too good.
  void rewrite() {
    ++round_;
    auto* words = reinterpret_cast<std::uint64_t*>(window_.data());
    for (std::size_t i = 0; i < window_.bytes() / sizeof(std::uint64_t); ++i)
      words[i] = word(comm_.rank(), i);
  }
  std::uint64_t word(int rank, std::size_t index) const {
    return (static_cast<std::uint64_t>(rank) << 56) ^ (round_ << 40) ^ (index * 0x9e3779b97f4a7c15U >> 24);
  }
  std::int64_t count_wrong(const TensorView& view, int source, std::size_t offset) const {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < view.bytes() / sizeof(std::uint64_t); ++i) {
      std::uint64_t seen = 0;
      std::memcpy(&seen, static_cast<const std::byte*>(view.data) + i * sizeof(seen), sizeof(seen));
      wrong += seen != word(source, offset / sizeof(std::uint64_t) + i) ? 1 : 0;
    }
    return wrong;
  }

  /// Untimed: the block rewritten, the caches flushed with --cold, all ranks here.
  Status make_ready() {
    rewrite();
    if (options_.is_cold) flush_caches(options_, comm_.size());
    return barrier(comm_.channel()).status();
  }

  /// Seconds until the last block has been used. With -m only the first turn reads blocks that are not yet in
  /// the reader's cache.
  Result<double> rotate(double compute_us) {
    const std::int64_t begun_ns = now_ns();
    std::int64_t last_use_ns = begun_ns;
    for (int i = 1; i <= options_.aggregated; ++i) {
      PERF_TRY(rotation_->run([&](const RotationStep& step) {
        use(step, compute_us);
        if (i == options_.aggregated) last_use_ns = now_ns();
      }));
    }
    return static_cast<double>(last_use_ns - begun_ns) * 1e-9 / options_.aggregated;
  }

  int steps() const { return comm_.size() == 1 || !options_.full ? 1 : comm_.size() - 1; }

  void use(const RotationStep& step, double compute_us) {
    // The own block (step 0) costs no communication: only foreign blocks are read and computed on.
    if (step.source() == comm_.rank() && comm_.size() > 1) return;
    for (const RotationPart& part : step.parts()) {
      if (!options_.no_read) sink_ = sink_ + read_all(part.k) + read_all(part.v);
    }
    work_for(compute_us);
  }

  /// The same reads and work on the own block: what is left of a rotation's time is exposed communication.
  double run_local() {
    const TensorView own =
        TensorView::contiguous(window_.data(), DType::uint8, {static_cast<std::int64_t>(window_.bytes())});
    const std::int64_t begun_ns = now_ns();
    for (int step = 0; step < steps(); ++step) {
      if (!options_.no_read) sink_ = sink_ + read_all(own);
      work_for(options_.compute_us);
    }
    return static_cast<double>(now_ns() - begun_ns) * 1e-9;
  }

  Communicator& comm_;
  const Options& options_;
  Buffer window_;
  std::optional<RingRotation> rotation_;
  std::uint64_t round_ = 0;
  volatile std::uint64_t sink_ = 0;
  int runs_ = 0;
  double seconds_ = 0, local_seconds_ = 0, bare_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Case> make_ring_rotate(Communicator& comm, const Options& options) {
  return std::make_unique<RingRotate>(comm, options);
}

}  // namespace ringcomm::perf
