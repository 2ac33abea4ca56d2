// SPDX-License-Identifier: Apache-2.0
#include "support/host_tensor.hpp"

#include <random>

namespace ringcomm::test {

void HostTensor::fill_normal(unsigned seed, float factor) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, factor);
  fill([&](auto, auto, auto) { return normal(engine); });
}

}  // namespace ringcomm::test
