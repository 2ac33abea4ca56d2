// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/hello.hpp"

#include <unistd.h>

#include <cstring>
#include <string_view>

#include "core/small_file.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

/// Role, hub's nonce, then what is signed: neither side's proof can be sent back as the other's.
Proof proof_of(char role, const Secret& secret, const Nonce& banner, const Hello& hello) {
  Hello unsigned_hello = hello;
  unsigned_hello.proof = {};
  Bytes said{static_cast<std::byte>(role)};
  said.insert(said.end(), banner.begin(), banner.end());
  const auto rest = std::as_bytes(std::span(&unsigned_hello, 1));
  said.insert(said.end(), rest.begin(), rest.end());
  return prove(secret, said);
}

}  // namespace

Hello make_hello(int rank, int size) {
  Hello hello;
  hello.rank = rank;
  hello.size = size;
  hello.pid = static_cast<std::int32_t>(::getpid());
  hello.host_tag = host_tag();
  ::gethostname(hello.host.data(), hello.host.size() - 1);
  hello.nonce = make_nonce();
  return hello;
}

Hello proved(Hello hello, const Secret& secret, const Nonce& banner) {
  hello.proof = proof_of('r', secret, banner, hello);
  return hello;
}

bool is_proved(const Hello& hello, const Secret& secret, const Nonce& banner) {
  return is_same(hello.proof, proof_of('r', secret, banner, hello));
}

Proof answer_to(const Hello& hello, const Secret& secret, const Nonce& banner) {
  return proof_of('h', secret, banner, hello);
}

std::optional<Hello> read_hello(std::span<const std::byte> payload) {
  Hello hello;
  if (payload.size() != sizeof(hello)) return std::nullopt;
  std::memcpy(&hello, payload.data(), sizeof(hello));
  return hello;
}

std::string process_of(const Hello& hello) {
  std::string host;
  for (const char c : hello.host) {
    if (c == '\0') break;
    host += c > ' ' && c < 127 ? c : '?';
  }
  return concat("pid ", hello.pid, " on ", host.empty() ? std::string_view("a nameless host") : host);
}

std::uint64_t host_tag() {
  std::string text = read_small_file("/proc/sys/kernel/random/boot_id", 64);
  std::array<char, 64> link{};
  const ssize_t got = ::readlink("/proc/self/ns/net", link.data(), link.size());
  if (got > 0) text.append(link.data(), static_cast<std::size_t>(got));
  return keyed_hash(0x686f7374, 0x746167, std::as_bytes(std::span(text)));
}

std::optional<std::vector<RosterEntry>> read_roster(std::span<const std::byte> payload, int size) {
  std::vector<RosterEntry> roster(static_cast<std::size_t>(size));
  if (payload.size() != roster.size() * sizeof(RosterEntry)) return std::nullopt;
  std::memcpy(roster.data(), payload.data(), payload.size());
  return roster;
}

}  // namespace ringcomm::inline v0::bootstrap
