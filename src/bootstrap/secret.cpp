// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/secret.hpp"

#include <bit>
#include <cstring>

namespace ringcomm::inline v0::bootstrap {
namespace {

struct State {
  std::array<std::uint64_t, 4> v;

  void rounds(int count) {
    for (; count > 0; --count) {
      v[0] += v[1];
      v[2] += v[3];
      v[1] = std::rotl(v[1], 13) ^ v[0];
      v[3] = std::rotl(v[3], 16) ^ v[2];
      v[0] = std::rotl(v[0], 32);
      v[2] += v[1];
      v[0] += v[3];
      v[1] = std::rotl(v[1], 17) ^ v[2];
      v[3] = std::rotl(v[3], 21) ^ v[0];
      v[2] = std::rotl(v[2], 32);
    }
  }
  void take(std::uint64_t word) {
    v[3] ^= word;
    rounds(2);
    v[0] ^= word;
  }
};

std::uint64_t word_at(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return word;
}

}  // namespace

std::uint64_t keyed_hash(std::uint64_t key0, std::uint64_t key1, std::span<const std::byte> data) {
  State state{{key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d, key0 ^ 0x6c7967656e657261,
               key1 ^ 0x7465646279746573}};
  const std::uint64_t bytes = data.size();
  while (data.size() >= 8) {
    state.take(word_at(data.first(8)));
    data = data.subspan(8);
  }
  std::uint64_t last = bytes << 56;
  if (!data.empty()) last |= word_at(data);
  state.take(last);
  state.v[2] ^= 0xFF;
  state.rounds(4);
  return state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3];
}

Secret make_secret() {
  Secret secret;
  for (std::size_t at = 0; at < secret.size(); at += sizeof(Nonce)) {
    const Nonce half = make_nonce();
    std::memcpy(secret.data() + at, half.data(), half.size());
  }
  return secret;
}

Secret secret_of(std::string_view text) {
  Secret secret;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t word = keyed_hash(0x72696e67636f6d6d, i, std::as_bytes(std::span(text)));
    std::memcpy(secret.data() + 8 * i, &word, sizeof(word));
  }
  return secret;
}

Proof prove(const Secret& secret, std::span<const std::byte> said) {
  const auto key = std::span<const std::byte>(secret);
  Proof proof;
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint64_t word =
        keyed_hash(word_at(key.subspan(16 * half, 8)), word_at(key.subspan(16 * half + 8, 8)), said);
    std::memcpy(proof.data() + 8 * half, &word, sizeof(word));
  }
  return proof;
}

}  // namespace ringcomm::inline v0::bootstrap
