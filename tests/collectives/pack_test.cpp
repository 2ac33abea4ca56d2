// SPDX-License-Identifier: Apache-2.0
// Oracle: an element-wise walk over all strides; packing and unpacking are each other's inverse.
#include "collectives/pack.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace ringcomm {
namespace {

struct Case {
  std::vector<std::int64_t> shape, strides;
};

std::vector<int> walk(const std::vector<int>& memory, const Case& tested) {
  std::vector<int> elements;
  std::vector<std::int64_t> index(tested.shape.size());
  std::int64_t count = 1;
  for (const std::int64_t extent : tested.shape) count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    for (std::size_t axis = tested.shape.size(); axis-- > 0;) {
      at += rest % tested.shape[axis] * tested.strides[axis];
      rest /= tested.shape[axis];
    }
    elements.push_back(memory[static_cast<std::size_t>(at)]);
  }
  return elements;
}

TEST(PackTest, AnyStridesGiveTheRowMajorElementsAndBack) {
  std::vector<int> memory(1000);
  std::iota(memory.begin(), memory.end(), 0);
  for (const Case& tested :
       {Case{{5}, {1}}, Case{{5}, {3}}, Case{{0}, {1}}, Case{{3, 4}, {4, 1}}, Case{{3, 4}, {10, 1}},
        Case{{3, 4}, {1, 3}}, Case{{2, 3, 4}, {50, 4, 1}}, Case{{2, 1, 4}, {7, 99, 1}},
        Case{{2, 3, 0}, {1, 1, 1}}, Case{{2, 3, 4, 5}, {300, 40, 7, 1}}, Case{{2, 3, 4, 5}, {1, 2, 6, 24}},
        Case{{}, {}}}) {
    TensorView view{
        .data = memory.data(), .dtype = DType::int32, .axes = static_cast<int>(tested.shape.size())};
    for (std::size_t axis = 0; axis < tested.shape.size(); ++axis) {
      view.shape[axis] = tested.shape[axis];
      view.strides[axis] = tested.strides[axis];
    }
    std::vector<int> packed(static_cast<std::size_t>(view.element_count()));
    collectives::pack(view, reinterpret_cast<std::byte*>(packed.data()));
    EXPECT_EQ(packed, walk(memory, tested));
    std::vector<int> back(1000, -1);
    view.data = back.data();
    collectives::unpack(reinterpret_cast<const std::byte*>(packed.data()), view);
    EXPECT_EQ(walk(back, tested), packed);
  }
}

TEST(PackTest, ASharedCopyIsExactHoweverItIsMade) {
  collectives::SharedCopy copier;
  for (const std::size_t bytes : {0U, 1U, 16383U, 16384U, 16385U, 100001U, (16U << 20) + 3U}) {
    std::vector<std::byte> source(bytes + 8);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 251);
    for (int repeat = 0; repeat < (bytes > 200000 ? 1 : 20); ++repeat) {
      std::vector<std::byte> target(bytes + 8, std::byte{0xee});
      copier.copy(target.data() + 3, source.data() + 1, bytes);
      EXPECT_TRUE(std::equal(target.begin() + 3, target.end() - 5, source.begin() + 1));
      EXPECT_EQ(target[2], std::byte{0xee});
      EXPECT_EQ(target[bytes + 3], std::byte{0xee});
    }
  }
}

}  // namespace
}  // namespace ringcomm
