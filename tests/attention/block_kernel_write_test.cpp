// SPDX-License-Identifier: Apache-2.0
// Rows that go around the caches, which a kernel writes only where it found the caches slow.
#include "attention/block_kernel_harness.hpp"

namespace ringcomm::attention {
namespace {

using BlockKernelWriteTest = BlockKernelCase;

TEST_P(BlockKernelWriteTest, StreamedRowsAreTheSame) {
  if (!is_vector(GetParam().variant)) return;
  const auto arithmetic =
      GetParam().variant == Variant::avx512_widen ? host::Bf16Arithmetic::widen : host::Bf16Arithmetic::dot;
  const int dim = GetParam().head_dim;
  for (const host::TileWidth width : {host::TileWidth::wide, host::TileWidth::narrow}) {
    const auto ops = host::vector_ops(level_of(GetParam().variant), GetParam().dtype, arithmetic, width);
    alignas(64) static float out[256 * host::kWideTileQueries];
    float inverse[host::kWideTileQueries];
    for (int i = 0; i < dim * ops.queries; ++i) out[i] = static_cast<float>(i);
    for (int i = 0; i < ops.queries; ++i) inverse[i] = static_cast<float>(i % 5);
    for (const int gap : {0, 1}) {  // floats: lines are whole or not
      const auto floats = static_cast<std::size_t>(ops.queries * (dim + gap)) + 16;
      std::vector<float> plain(floats, -1.0F);
      std::vector<float> streamed = plain;
      const auto write = [&](std::vector<float>& to, void (*write_rows)(const host::TileRows&)) {
        void* start = to.data();
        std::size_t space = to.size() * sizeof(float);
        std::align(64, 64, start, space);
        write_rows({.out = out,
                    .inverse_sum = inverse,
                    .head_dim = dim,
                    .to = start,
                    .stride_bytes = (dim + gap) * std::int64_t{sizeof(float)},
                    .rows = ops.queries - 1});
        return static_cast<const float*>(start);
      };
      const float* expected = write(plain, ops.write_rows_float32);
      const float* given = write(streamed, ops.write_rows_streamed);
      for (int i = 0; i < ops.queries * (dim + gap); ++i) ASSERT_EQ(given[i], expected[i]) << i;
      EXPECT_EQ(given[dim + gap + 1], static_cast<float>(ops.queries + 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlockKernelWriteTest, ::testing::ValuesIn(all_kernels()), name_of_case);

}  // namespace
}  // namespace ringcomm::attention
