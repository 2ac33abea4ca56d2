// SPDX-License-Identifier: Apache-2.0
// Memory for vector kernels, aligned to a cache line.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace ringcomm::inline v0::attention::host {

inline constexpr std::size_t kLineBytes = 64;

/// Uninitialised bytes on a cache-line boundary. Throws std::bad_alloc.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kLineBytes}))), bytes_(bytes) {}
  std::byte* data() const { return data_.get(); }
  float* floats() const { return reinterpret_cast<float*>(data_.get()); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{kLineBytes}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace ringcomm::inline v0::attention::host
