// SPDX-License-Identifier: Apache-2.0
// The kernel is the oracle: what arrives, who sent it, and when a process is gone.
#include "bootstrap/unix_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <vector>

#include "support/process_ranks.hpp"

namespace ringcomm::bootstrap {
namespace {

using namespace std::chrono_literals;

TEST(UnixSocketTest, PacketsArriveWholeWithTheirSendersCredentialsAndDescriptor) {
  auto ends = make_socket_pair().value();
  const int before = ringcomm::test::open_descriptors();
  const std::vector<std::byte> sent(1000, std::byte{7});
  ASSERT_EQ(send_packet(ends.first.get(), sent, STDIN_FILENO), IoState::done);
  std::vector<std::byte> buffer(2000);
  {
    const ReceivedPacket packet = receive_packet(ends.second.get(), buffer);
    EXPECT_EQ(packet.state, IoState::done);
    EXPECT_EQ(packet.bytes, sent.size());
    EXPECT_EQ(packet.pid, ::getpid());
    EXPECT_EQ(packet.uid, ::geteuid());
    ASSERT_TRUE(packet.fd.is_open());
    EXPECT_NE(::fcntl(packet.fd.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(receive_packet(ends.second.get(), buffer).state, IoState::would_block);
  }
  EXPECT_EQ(ringcomm::test::open_descriptors(), before);
}

TEST(UnixSocketTest, PacketLongerThanTheBufferIsMarked) {
  auto ends = make_socket_pair().value();
  ASSERT_EQ(send_packet(ends.first.get(), std::vector<std::byte>(100)), IoState::done);
  std::vector<std::byte> buffer(10);
  EXPECT_TRUE(receive_packet(ends.second.get(), buffer).was_truncated);
}

TEST(UnixSocketTest, WhatWasSentBeforeTheEndIsReadEvenAfterAReset) {
  auto ends = make_socket_pair().value();
  ASSERT_EQ(send_packet(ends.second.get(), std::vector<std::byte>(3)), IoState::done);  // stays unread
  ASSERT_EQ(send_packet(ends.first.get(), std::vector<std::byte>(5)), IoState::done);
  ends.first.reset();
  std::vector<std::byte> buffer(10);
  EXPECT_EQ(receive_packet(ends.second.get(), buffer).bytes, 5U);
  EXPECT_EQ(receive_packet(ends.second.get(), buffer).state, IoState::closed);
  EXPECT_EQ(send_packet(ends.second.get(), buffer), IoState::closed) << "and no SIGPIPE";
}

TEST(UnixSocketTest, PidfdTellsWhenAProcessEnds) {
  ringcomm::test::ProcessRanks child(1, [](int, const ringcomm::test::RankVoice&) {
    ::pause();
    return std::string();
  });
  auto process = open_pidfd(child.pid(0));
  ASSERT_TRUE(process.is_ok()) << process.status().to_string();
  EXPECT_FALSE(has_ended(process.value().get()));
  child.send_signal(0, SIGKILL);
  child.wait(0, 5s);
  EXPECT_TRUE(has_ended(process.value().get()));
}

TEST(UnixSocketTest, ProcessThatIsNotThereIsNotFound) {
  ringcomm::test::ProcessRanks child(1, [](int, const ringcomm::test::RankVoice&) { return std::string(); });
  child.wait(0, 5s);
  const auto process = open_pidfd(child.pid(0));
  EXPECT_EQ(process.status().code(), StatusCode::not_found);
}

TEST(UnixSocketTest, NoncesDifferAndCompareByValue) {
  const Nonce a = make_nonce();
  Nonce b = a;
  EXPECT_TRUE(is_same(a, b));
  b[15] ^= std::byte{1};
  EXPECT_FALSE(is_same(a, b));
  EXPECT_FALSE(is_same(a, make_nonce()));
}

}  // namespace
}  // namespace ringcomm::bootstrap
