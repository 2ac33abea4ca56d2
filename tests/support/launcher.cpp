// SPDX-License-Identifier: Apache-2.0
#include "support/launcher.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "bootstrap/foreign_env.hpp"
#include "support/program.hpp"

namespace ringcomm::test {
namespace {

using Clock = std::chrono::steady_clock;

bool is_launch_variable(const std::string& name) {
  const auto& foreign = bootstrap::kForeignVariables;
  return std::find(foreign.begin(), foreign.end(), name) != foreign.end() || name.starts_with("RINGCOMM_");
}

std::vector<std::string> environment_with(const Settings& settings) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!is_launch_variable(text.substr(0, text.find('=')))) entries.push_back(text);
  }
  for (const auto& [name, value] : settings) {  // a later one wins
    const std::string beginning = name + "=";
    std::erase_if(entries, [&](const std::string& entry) { return entry.starts_with(beginning); });
    entries.push_back(name + "=" + value);
  }
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

struct Running {
  pid_t pid = -1;
  int pipe = -1;
  LaunchedRank result;
};

Running start(std::vector<std::string> command, const Settings& settings) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawnattr_t attributes;  // a group of its own, so that what a rank starts can be ended with it
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> environment = environment_with(settings);
  Running running;
  const int error = ::posix_spawnp(&running.pid, command[0].c_str(), &actions, &attributes,
                                   pointers(command).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  running.pipe = ends[0];
  if (error != 0) throw std::runtime_error("cannot start " + command[0]);
  return running;
}

/// Until end of file, which comes when the last process that has the pipe ends.
void collect(std::vector<Running>& all, Clock::time_point end) {
  while (true) {
    std::vector<pollfd> fds;
    for (const Running& one : all) fds.push_back({one.pipe, POLLIN, 0});
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    const bool is_over = std::all_of(all.begin(), all.end(), [](const Running& r) { return r.pipe < 0; });
    if (is_over || left <= 0) return;
    ::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left, 1000)));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((fds[i].revents & (POLLIN | POLLHUP)) == 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t got = ::read(all[i].pipe, buffer.data(), buffer.size());
      if (got > 0) {
        all[i].result.output.append(buffer.data(), static_cast<std::size_t>(got));
      } else {
        ::close(all[i].pipe);
        all[i].pipe = -1;
      }
    }
  }
}

std::vector<LaunchedRank> finish(std::vector<Running>& all, std::chrono::seconds limit) {
  collect(all, Clock::now() + limit);
  std::vector<LaunchedRank> results;
  for (Running& one : all) {
    if (one.pipe >= 0) {
      ::kill(-one.pid, SIGKILL);
      ::close(one.pipe);
      one.result.output += "(killed: it did not end in time)";
    }
    int status = 0;
    ::waitpid(one.pid, &status, 0);
    if (WIFEXITED(status)) one.result.exit_code = WEXITSTATUS(status);
    results.push_back(std::move(one.result));
  }
  return results;
}

/// Listens at a loopback port of the system's choice and lets nobody speak, as a foreign store would.
class HeldPort {
 public:
  HeldPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (fd_ < 0 || ::bind(fd_, generic, length) != 0 || ::listen(fd_, 64) != 0 ||
        ::getsockname(fd_, generic, &length) != 0) {
      throw std::runtime_error("no port to hold");
    }
    port_ = ntohs(address.sin_port);
  }
  ~HeldPort() { ::close(fd_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;
  int port() const { return port_; }

 private:
  int fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
};

}  // namespace

std::vector<LaunchedRank> launch_like_torchrun(const Launch& launch) {
  const HeldPort store;
  std::vector<Running> all;
  for (int rank = 0; rank < launch.ranks; ++rank) {
    Settings settings{{"RANK", std::to_string(rank)},
                      {"WORLD_SIZE", std::to_string(launch.ranks)},
                      {"LOCAL_RANK", std::to_string(rank)},
                      {"LOCAL_WORLD_SIZE", std::to_string(launch.ranks)},
                      {"MASTER_ADDR", "127.0.0.1"},
                      {"MASTER_PORT", std::to_string(store.port())},
                      {"TORCHELASTIC_RUN_ID", "test-" + std::to_string(::getpid())}};
    settings.insert(settings.end(), launch.settings.begin(), launch.settings.end());
    all.push_back(start(launch.command, settings));
  }
  return finish(all, launch.limit);
}

std::vector<LaunchedRank> launch_with_variables(const Launch& launch, const std::string& store) {
  std::vector<Running> all;
  for (int rank = 0; rank < launch.ranks; ++rank) {
    Settings settings{{"RINGCOMM_RANK", std::to_string(rank)},
                      {"RINGCOMM_SIZE", std::to_string(launch.ranks)},
                      {"RINGCOMM_STORE", store}};
    settings.insert(settings.end(), launch.settings.begin(), launch.settings.end());
    all.push_back(start(launch.command, settings));
  }
  return finish(all, launch.limit);
}

std::vector<LaunchedRank> launch_by_mpirun(const Launch& launch) {
  std::vector<std::string> command{"mpirun", "--oversubscribe", "-n", std::to_string(launch.ranks)};
  if (::geteuid() == 0) command.insert(command.begin() + 1, "--allow-run-as-root");
  command.insert(command.end(), launch.command.begin(), launch.command.end());
  std::vector<Running> all;
  all.push_back(start(std::move(command), launch.settings));
  return finish(all, launch.limit);
}

bool has_mpirun() { return run_program("sh -c 'command -v mpirun'", 10).exit_code == 0; }

std::string failures_of(const std::vector<LaunchedRank>& ranks) {
  std::string text;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].exit_code == 0) continue;
    text += "process " + std::to_string(rank) + " ended with " + std::to_string(ranks[rank].exit_code) +
            ":\n" + ranks[rank].output + "\n";
  }
  return text;
}

}  // namespace ringcomm::test
