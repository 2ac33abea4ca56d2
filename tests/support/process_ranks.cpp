// SPDX-License-Identifier: Apache-2.0
#include "support/process_ranks.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace ringcomm::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kResultMark = "result:";

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

[[noreturn]] void run_child(const ProcessRanks::Body& body, int rank, int pipe, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(3);
  std::string message;
  try {
    message = body(rank, RankVoice(pipe));
  } catch (const std::exception& error) {
    message = std::string("exception: ") + error.what();
  }
  std::fflush(nullptr);  // _exit() does not
  write_all(pipe, std::string(kResultMark) + message + "\n");
  ::_exit(message.empty() ? 0 : 1);
}

}  // namespace

void RankVoice::say(std::string_view word) const { write_all(pipe_, std::string(word) + "\n"); }

std::string RankReport::to_string() const {
  if (is_ok()) return "ok";
  if (signal != 0 && has_exited) return "ended by signal " + std::to_string(signal);
  if (!has_exited) return "did not end in time";
  return "exit code " + std::to_string(exit_code) + ": " + message;
}

ProcessRanks::ProcessRanks(int ranks, const Body& body) {
  const pid_t parent = ::getpid();
  std::fflush(nullptr);  // else children print it again
  for (int rank = 0; rank < ranks; ++rank) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("fork failed");
    if (pid == 0) {
      ::close(ends[0]);
      for (const Child& child : children_) ::close(child.pipe);
      run_child(body, rank, ends[1], parent);
    }
    ::close(ends[1]);
    children_.push_back({pid, ends[0], {}, false, {}});
  }
}

ProcessRanks::~ProcessRanks() {
  for (Child& child : children_) {
    if (!child.is_reaped) {
      ::kill(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, 0);
    }
    ::close(child.pipe);
  }
}

void ProcessRanks::send_signal(int rank, int signal) const { ::kill(pid(rank), signal); }

bool ProcessRanks::hear(Child& child, std::chrono::milliseconds limit) {
  pollfd entry{child.pipe, POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(limit.count(), 0))) <= 0) return true;
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(child.pipe, buffer.data(), buffer.size());
  if (got > 0) child.heard.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

bool ProcessRanks::has_said(int rank, std::string_view word, std::chrono::milliseconds limit) {
  Child& child = children_[static_cast<std::size_t>(rank)];
  const auto end = Clock::now() + limit;
  const std::string line = std::string(word) + "\n";
  while (true) {
    if (child.heard.starts_with(line) || child.heard.find("\n" + line) != std::string::npos) return true;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0 || !hear(child, left)) return false;
  }
}

RankReport ProcessRanks::wait(int rank, std::chrono::milliseconds limit) {
  Child& child = children_[static_cast<std::size_t>(rank)];
  if (child.is_reaped) return child.report;
  const auto end = Clock::now() + limit;
  bool is_late = false;
  while (!is_late) {  // until end of file: the child's last descriptor of the pipe closes when it ends
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (!hear(child, left)) break;
    is_late = left.count() <= 0;
  }
  if (is_late) ::kill(child.pid, SIGKILL);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  child.is_reaped = true;
  child.report.has_exited = !is_late;
  child.report.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  child.report.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const std::size_t mark = child.heard.rfind(kResultMark);
  if (mark != std::string::npos) child.report.message = child.heard.substr(mark + kResultMark.size());
  while (!child.report.message.empty() && child.report.message.back() == '\n')
    child.report.message.pop_back();
  return child.report;
}

std::vector<RankReport> ProcessRanks::wait_all(std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  std::vector<RankReport> reports;
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    reports.push_back(wait(static_cast<int>(rank), left));
  }
  return reports;
}

std::string failures_of(const std::vector<RankReport>& reports) {
  std::string text;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (!reports[rank].is_ok())
      text += "rank " + std::to_string(rank) + " " + reports[rank].to_string() + "\n";
  }
  return text;
}

int open_descriptors() {
  int count = -1;  // the iteration itself holds one
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

int mappings_with(std::string_view text) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(text) != std::string::npos ? 1 : 0;
  return count;
}

int threads_of_this_process() {
  int count = 0;
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

}  // namespace ringcomm::test
