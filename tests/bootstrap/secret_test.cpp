// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 against the vectors that its authors published; proofs against themselves with one bit changed.
#include "bootstrap/secret.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace ringcomm::bootstrap {
namespace {

TEST(SecretTest, KeyedHashEqualsThePublishedVectors) {
  std::vector<std::byte> data;
  for (int i = 0; i < 15; ++i) data.push_back(static_cast<std::byte>(i));
  const std::uint64_t key0 = 0x0706050403020100;
  const std::uint64_t key1 = 0x0f0e0d0c0b0a0908;
  EXPECT_EQ(keyed_hash(key0, key1, data), 0xa129ca6149be45e5U);
  EXPECT_EQ(keyed_hash(key0, key1, {}), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(keyed_hash(key0, key1, std::span(data).first(8)), 0x93f5f5799a932462U);
}

TEST(SecretTest, ProofChangesWithEveryBitOfSecretAndText) {
  const Secret secret = secret_of("a secret");
  std::vector<std::byte> said(40);
  const Proof proof = prove(secret, said);
  for (std::size_t bit = 0; bit < 8 * secret.size(); ++bit) {
    Secret other = secret;
    other[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(is_same(prove(other, said), proof)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * said.size(); ++bit) {
    std::vector<std::byte> other = said;
    other[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(is_same(prove(secret, other), proof)) << bit;
  }
  EXPECT_FALSE(is_same(prove(secret, std::span(said).first(39)), proof));
}

TEST(SecretTest, OneTextOneSecretAndNoTwoRandomOnes) {
  EXPECT_EQ(secret_of("job 7"), secret_of("job 7"));
  EXPECT_NE(secret_of("job 7"), secret_of("job 8"));
  std::set<Secret> random;
  for (int i = 0; i < 100; ++i) random.insert(make_secret());
  EXPECT_EQ(random.size(), 100U);
}

}  // namespace
}  // namespace ringcomm::bootstrap
