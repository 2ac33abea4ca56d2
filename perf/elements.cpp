// SPDX-License-Identifier: Apache-2.0
#include "elements.hpp"

#include <cstring>

namespace ringcomm::perf {
namespace {

template <class T>
void put(void* data, std::int64_t index, T value) {
  std::memcpy(static_cast<std::byte*>(data) + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
}

template <class T>
T get(const void* data, std::int64_t index) {
  T value{};
  std::memcpy(&value, static_cast<const std::byte*>(data) + static_cast<std::size_t>(index) * sizeof(T),
              sizeof(T));
  return value;
}

}  // namespace

void store_element(DType type, void* data, std::int64_t index, double value) {
  switch (type) {
    case DType::int8:
      return put(data, index, static_cast<std::int8_t>(value));
    case DType::int32:
      return put(data, index, static_cast<std::int32_t>(value));
    case DType::uint32:
      return put(data, index, static_cast<std::uint32_t>(value));
    case DType::int64:
      return put(data, index, static_cast<std::int64_t>(value));
    case DType::uint64:
      return put(data, index, static_cast<std::uint64_t>(value));
    case DType::float16:
      return put(data, index, to_fp16(static_cast<float>(value)));
    case DType::bfloat16:
      return put(data, index, to_bf16(static_cast<float>(value)));
    case DType::float32:
      return put(data, index, static_cast<float>(value));
    case DType::float64:
      return put(data, index, value);
    default:
      return put(data, index, static_cast<std::uint8_t>(value));
  }
}

double load_element(DType type, const void* data, std::int64_t index) {
  switch (type) {
    case DType::int8:
      return get<std::int8_t>(data, index);
    case DType::int32:
      return get<std::int32_t>(data, index);
    case DType::uint32:
      return get<std::uint32_t>(data, index);
    case DType::int64:
      return static_cast<double>(get<std::int64_t>(data, index));
    case DType::uint64:
      return static_cast<double>(get<std::uint64_t>(data, index));
    case DType::float16:
      return static_cast<double>(to_float(get<fp16>(data, index)));
    case DType::bfloat16:
      return static_cast<double>(to_float(get<bf16>(data, index)));
    case DType::float32:
      return static_cast<double>(get<float>(data, index));
    case DType::float64:
      return get<double>(data, index);
    default:
      return get<std::uint8_t>(data, index);
  }
}

std::uint8_t byte_of(int rank, std::size_t index) {
  return static_cast<std::uint8_t>((static_cast<std::size_t>(rank) * 131 + index * 7 + (index >> 8)) & 0xff);
}

}  // namespace ringcomm::perf
