// SPDX-License-Identifier: Apache-2.0
// Tables of texts with what they must mean; the system's own resolver and sockets judge the rest.
#include "bootstrap/tcp_address.hpp"

#include <gtest/gtest.h>

#include <random>

#include "ringcomm/core/text.hpp"

namespace ringcomm::bootstrap {
namespace {

TEST(TcpAddressTest, HostAndPortAreSplit) {
  struct Row {
    std::string_view text, host;
    int port;
  };
  for (const Row& row : {Row{"node1:29500", "node1", 29500}, Row{"1.2.3.4:1", "1.2.3.4", 1},
                         Row{"[::1]:65535", "::1", 65535}, Row{"[fe80::1%eth0]:5", "fe80::1%eth0", 5}}) {
    const auto place = parse_host_port(row.text);
    ASSERT_TRUE(place.is_ok()) << row.text;
    EXPECT_EQ(place->host, row.host);
    EXPECT_EQ(place->port, row.port);
    EXPECT_EQ(to_text(place.value()), row.text);
  }
}

TEST(TcpAddressTest, OtherTextsAreRefused) {
  for (const char* text : {"", ":", ":5", "host", "host:", "host:0", "host:65536", "host:-1", "host:5x",
                           "::1:5", "[::1]", "ho st:5", "a/b:5", "host:+5", "[]:5"}) {
    EXPECT_EQ(parse_host_port(text).status().code(), StatusCode::invalid_argument) << text;
  }
  EXPECT_EQ(parse_host_port(concat(std::string(300, 'a'), ":5")).status().code(),
            StatusCode::invalid_argument);
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 30, ' ');
    for (char& c : text) c = static_cast<char>("a1:[].\n%\xff "[random() % 10]);
    const auto place = parse_host_port(text);
    EXPECT_TRUE(!place.is_ok() || to_text(place.value()).find('\n') == std::string::npos);
  }
}

TEST(TcpAddressTest, LoopbackIsRecognisedInEveryForm) {
  for (const auto& [host, is_loopback] : {std::pair{"127.0.0.1", true},
                                          {"127.0.1.1", true},
                                          {"::1", true},
                                          {"::ffff:127.0.0.1", true},
                                          {"10.0.0.1", false},
                                          {"fd00::1", false}}) {
    const auto found = resolve({host, 5});
    ASSERT_TRUE(found.is_ok()) << found.status().to_string();
    EXPECT_EQ(found->front().is_loopback(), is_loopback) << host;
    EXPECT_EQ(found->front().port(), 5);
    EXPECT_EQ(found->front().with_port(77).port(), 77);
  }
}

TEST(TcpAddressTest, ATakenPortIsNotAvailable) {
  const Endpoint any_port = resolve({"127.0.0.1", 1})->front().with_port(0);
  auto first = listen_at(any_port);
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  const Endpoint taken = local_end(first->get());
  EXPECT_GT(taken.port(), 0);
  EXPECT_EQ(listen_at(taken).status().code(), StatusCode::not_available);
  EXPECT_EQ(listen_at(any_address(AF_INET).with_port(taken.port())).status().code(),
            StatusCode::not_available);
  EXPECT_EQ(listen_at(resolve({"192.0.2.7", 5})->front()).status().code(), StatusCode::unreachable);
}

}  // namespace
}  // namespace ringcomm::bootstrap
