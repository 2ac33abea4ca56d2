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

}  // namespace
}  // namespace ringcomm
