// SPDX-License-Identifier: Apache-2.0
// Ranks as forked processes for tests: they report in words over a pipe, and none of them outlives the test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ringcomm::test {

/// A child's way to tell the parent how far it has come.
class RankVoice {
 public:
  explicit RankVoice(int pipe) : pipe_(pipe) {}
  void say(std::string_view word) const;

 private:
  int pipe_;
};

struct RankReport {
  bool has_exited = false;  ///< by itself, within the limit
  int exit_code = -1;
  int signal = 0;       ///< that ended it
  std::string message;  ///< what the body returned
  bool is_ok() const { return has_exited && exit_code == 0 && signal == 0; }
  std::string to_string() const;
};

/// Forks at construction: no other thread of the test may exist then. A child runs `body` and exits with 0 if
/// that returns an empty string, else with 1. Children use no GoogleTest assertions. Children die with the
/// parent (PR_SET_PDEATHSIG), and the destructor kills what is left.
class ProcessRanks {
 public:
  using Body = std::function<std::string(int rank, const RankVoice& voice)>;
  ProcessRanks(int ranks, const Body& body);
  ~ProcessRanks();
  ProcessRanks(const ProcessRanks&) = delete;
  ProcessRanks& operator=(const ProcessRanks&) = delete;

  pid_t pid(int rank) const { return children_[static_cast<std::size_t>(rank)].pid; }
  void send_signal(int rank, int signal) const;
  /// False when `limit` passes first, or the child ends without saying it.
  bool has_said(int rank, std::string_view word, std::chrono::milliseconds limit);
  /// Waits for that rank; one that is late is killed.
  RankReport wait(int rank, std::chrono::milliseconds limit);
  std::vector<RankReport> wait_all(std::chrono::milliseconds limit);

 private:
  struct Child {
    pid_t pid = -1;
    int pipe = -1;
    std::string heard;
    bool is_reaped = false;
    RankReport report;
  };
  bool hear(Child& child, std::chrono::milliseconds limit);
  std::vector<Child> children_;
};

/// One line per rank that failed; empty when all went well.
std::string failures_of(const std::vector<RankReport>& reports);

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kAddressSanitizer = false;
#endif
/// Mappings that malloc may have gained meanwhile; the address sanitizer's never gives any back.
inline constexpr int kHeapMappings = kAddressSanitizer ? 100'000 : 8;

/// Descriptors that this process has open.
int open_descriptors();
/// Mappings in /proc/self/maps whose line holds `text`.
int mappings_with(std::string_view text);
int threads_of_this_process();

}  // namespace ringcomm::test
