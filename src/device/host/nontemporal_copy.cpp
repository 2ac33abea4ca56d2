// SPDX-License-Identifier: Apache-2.0
#include "device/host/nontemporal_copy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "device/host/vector_stores.hpp"

namespace ringcomm::inline v0 {
namespace {

void copy_plain(void* target, const void* source, std::size_t bytes) {
  if (bytes != 0) std::memcpy(target, source, bytes);
}

#ifdef RINGCOMM_VECTOR_STORES
constexpr std::size_t kLineBytes = 64;

/// Copies up to the target's next line, lets `copy_lines` do whole lines, and copies the rest.
template <class CopyLines>
void copy_by_lines(void* target, const void* source, std::size_t bytes, CopyLines copy_lines) {
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  const std::size_t before = (kLineBytes - reinterpret_cast<std::uintptr_t>(to) % kLineBytes) % kLineBytes;
  const std::size_t head = std::min(bytes, before);
  copy_plain(to, from, head);
  const std::size_t lines = (bytes - head) / kLineBytes;
  copy_lines(to + head, from + head, lines);
  const std::size_t done = head + lines * kLineBytes;
  copy_plain(to + done, from + done, bytes - done);
  _mm_sfence();
}

__attribute__((target("avx512f"))) void lines_avx512(std::byte* to, const std::byte* from,
                                                     std::size_t lines) {
  for (; lines != 0; --lines, to += kLineBytes, from += kLineBytes) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
  }
}

__attribute__((target("avx2"))) void lines_avx2(std::byte* to, const std::byte* from, std::size_t lines) {
  for (; lines != 0; --lines, to += kLineBytes, from += kLineBytes) {
    const auto* in = reinterpret_cast<const __m256i*>(from);
    auto* out = reinterpret_cast<__m256i*>(to);
    const __m256i low = _mm256_loadu_si256(in), high = _mm256_loadu_si256(in + 1);
    _mm256_stream_si256(out, low);
    _mm256_stream_si256(out + 1, high);
  }
}

void lines_sse2(std::byte* to, const std::byte* from, std::size_t lines) {
  for (; lines != 0; --lines, to += kLineBytes, from += kLineBytes) {
    const auto* in = reinterpret_cast<const __m128i*>(from);
    auto* out = reinterpret_cast<__m128i*>(to);
    for (int i = 0; i < 4; ++i) _mm_stream_si128(out + i, _mm_loadu_si128(in + i));
  }
}

void copy_avx512(void* target, const void* source, std::size_t bytes) {
  copy_by_lines(target, source, bytes, lines_avx512);
}
void copy_avx2(void* target, const void* source, std::size_t bytes) {
  copy_by_lines(target, source, bytes, lines_avx2);
}
void copy_sse2(void* target, const void* source, std::size_t bytes) {
  copy_by_lines(target, source, bytes, lines_sse2);
}

constexpr std::array<NontemporalCopy, 3> kCopies{
    {{"avx512", copy_avx512}, {"avx2", copy_avx2}, {"sse2", copy_sse2}}};

std::size_t first_that_runs() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") ? 0 : __builtin_cpu_supports("avx2") ? 1 : 2;
}
#else
constexpr std::array<NontemporalCopy, 1> kCopies{{{"plain", copy_plain}}};

std::size_t first_that_runs() { return 0; }
#endif

}  // namespace

std::span<const NontemporalCopy> nontemporal_copies() {
  static const std::size_t first = first_that_runs();
  return std::span<const NontemporalCopy>(kCopies).subspan(first);
}

void copy_nontemporal(void* target, const void* source, std::size_t bytes) {
  nontemporal_copies().front().copy(target, source, bytes);
}

void copy_block(void* target, const void* source, std::size_t bytes) {
  if (bytes < kNontemporalBytes) return copy_plain(target, source, bytes);
  copy_nontemporal(target, source, bytes);
}

}  // namespace ringcomm::inline v0
