// SPDX-License-Identifier: Apache-2.0
// A proof holds for exactly the hello, the secret, the nonce and the side that it was made for.
#include "bootstrap/hello.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace ringcomm::bootstrap {
namespace {

TEST(HelloTest, SaysWhoThisProcessIs) {
  const Hello hello = make_hello(2, 5);
  EXPECT_EQ(hello.rank, 2);
  EXPECT_EQ(hello.size, 5);
  EXPECT_EQ(hello.pid, ::getpid());
  EXPECT_EQ(hello.host_tag, host_tag());
  EXPECT_EQ(process_of(hello).find("pid " + std::to_string(::getpid()) + " on "), 0U);
}

TEST(HelloTest, EveryChangedByteBreaksTheProof) {
  const Secret secret = secret_of("s");
  const Nonce banner = make_nonce();
  const Hello hello = proved(make_hello(1, 2), secret, banner);
  EXPECT_TRUE(is_proved(hello, secret, banner));
  EXPECT_FALSE(is_proved(hello, secret_of("t"), banner));
  EXPECT_FALSE(is_proved(hello, secret, make_nonce()));  // recorded and sent again
  std::array<std::byte, sizeof(Hello)> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::memcpy(bytes.data(), &hello, sizeof(hello));
    bytes[i] ^= std::byte{1};
    EXPECT_FALSE(is_proved(*read_hello(bytes), secret, banner)) << i;
  }
}

TEST(HelloTest, TheHubsProofIsNotTheRanksSentBack) {
  const Secret secret = secret_of("s");
  const Nonce banner = make_nonce();
  const Hello hello = proved(make_hello(0, 2), secret, banner);
  EXPECT_FALSE(is_same(answer_to(hello, secret, banner), hello.proof));
}

TEST(HelloTest, NamesOfHostsAreMadePrintable) {
  Hello hello = make_hello(0, 1);
  hello.host.fill('\x1b');
  EXPECT_EQ(process_of(hello).find('\x1b'), std::string::npos);
  hello.host.fill('\0');
  EXPECT_NE(process_of(hello).find("a nameless host"), std::string::npos);
}

TEST(HelloTest, OtherSizesAreNoHelloAndNoRoster) {
  EXPECT_FALSE(read_hello(Bytes(sizeof(Hello) - 1)).has_value());
  EXPECT_FALSE(read_hello(Bytes(sizeof(Hello) + 1)).has_value());
  EXPECT_TRUE(read_roster(Bytes(2 * sizeof(RosterEntry)), 2).has_value());
  EXPECT_FALSE(read_roster(Bytes(2 * sizeof(RosterEntry)), 3).has_value());
}

}  // namespace
}  // namespace ringcomm::bootstrap
