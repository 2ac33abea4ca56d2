// SPDX-License-Identifier: Apache-2.0
// Who stands at the port of a meeting: lets in whoever proves the secret, drops and counts everybody else.
#pragma once

#include <poll.h>

#include <array>
#include <string>
#include <vector>

#include "bootstrap/hello.hpp"
#include "bootstrap/tcp_address.hpp"

namespace ringcomm::inline v0::bootstrap {

/// Came with the secret and was told that it is the right place.
struct Visitor {
  UniqueFd socket;
  Hello hello;
  Endpoint from;
};

/// Nobody can hold it up: no call waits, a connection has 5 s to say its hello, a hello has one size, and of
/// more than a few hundred connections that have said nothing yet the oldest goes.
class Doorman {
 public:
  static constexpr std::size_t kPendingMax = 256;
  static constexpr std::chrono::seconds kHelloWait{5};

  Doorman(UniqueFd listener, const Secret& secret, std::string name);

  bool is_open() const { return listener_.is_open(); }
  void add_to(std::vector<pollfd>& fds) const;
  /// When the first connection has been silent for too long; for the time to wait.
  Deadline next_expiry() const;
  /// Hears everybody once.
  std::vector<Visitor> step();
  /// Closes the port and whoever waits at it, and logs one line for each kind of stranger.
  void close();

 private:
  enum class Kind : std::uint8_t { silent, gone, http, tls, other, version, length, secret, crowd, kinds };
  struct Pending {
    UniqueFd socket;
    Nonce banner{};
    Endpoint from;
    Deadline deadline;
    FrameReader reader{sizeof(Hello)};
  };
  struct Count {
    std::uint64_t connections = 0;
    std::string last_from;
  };

  void accept_some();
  void greet(UniqueFd socket, const Endpoint& from);
  /// True when it is done with: let in or dropped.
  bool hear(Pending& pending, std::vector<Visitor>& visitors);
  void drop(Kind kind, const Endpoint& from);
  static Kind kind_of(const FrameReader& reader);

  UniqueFd listener_;
  Secret secret_;
  std::string name_;
  std::vector<Pending> pending_;
  bool is_short_of_descriptors_ = false;
  std::array<Count, static_cast<std::size_t>(Kind::kinds)> counts_;
};

}  // namespace ringcomm::inline v0::bootstrap
