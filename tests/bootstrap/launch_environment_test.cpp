// SPDX-License-Identifier: Apache-2.0
// The oracle is the table of settings below: which launcher is believed, what follows from its variables, and
// which variables a refusal must name.
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>

#include "bootstrap/foreign_env.hpp"
#include "bootstrap/network_ranks.hpp"
#include "core/env_guard.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

using test::EnvGuard;
using Setting = std::pair<std::string, std::string>;

/// Exactly these launch variables and no others.
class Environment {
 public:
  explicit Environment(const std::vector<Setting>& settings) {
    for (const auto name : bootstrap::kForeignVariables)
      guards_.emplace_back(std::string(name), std::nullopt);
    for (const char* name : {"RINGCOMM_RANK", "RINGCOMM_SIZE", "RINGCOMM_STORE", "RINGCOMM_LOCAL_RANK",
                             "RINGCOMM_LOCAL_SIZE", "RINGCOMM_SECRET"}) {
      guards_.emplace_back(name, std::nullopt);
    }
    for (const auto& [name, value] : settings) guards_.emplace_back(name, value);
  }
  ~Environment() {
    while (!guards_.empty()) guards_.pop_back();  // the last one first: a variable may be there twice
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::deque<EnvGuard> guards_;
};

std::vector<Setting> ringcomm(const char* rank, const char* size, const char* store) {
  return {{"RINGCOMM_RANK", rank}, {"RINGCOMM_SIZE", size}, {"RINGCOMM_STORE", store}};
}
std::vector<Setting> torchrun(const char* rank, const char* size) {
  return {{"RANK", rank},           {"WORLD_SIZE", size},    {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"},
          {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
}
std::vector<Setting> open_mpi(const char* rank, const char* size, const char* local_rank,
                              const char* local_size) {
  return {{"OMPI_COMM_WORLD_RANK", rank},
          {"OMPI_COMM_WORLD_SIZE", size},
          {"OMPI_COMM_WORLD_LOCAL_RANK", local_rank},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", local_size},
          {"PMIX_NAMESPACE", "123@1"}};
}
std::vector<Setting> mpich(const char* rank, const char* size) {
  return {{"PMI_RANK", rank}, {"PMI_SIZE", size}, {"MPI_LOCALRANKID", "0"}};
}
std::vector<Setting> slurm(const char* rank, const char* size) {
  return {{"SLURM_PROCID", rank},
          {"SLURM_NTASKS", size},
          {"SLURM_LOCALID", "0"},
          {"SLURM_JOB_ID", "77"},
          {"SLURM_STEP_NODELIST", "n[03-05,9]"}};
}

std::vector<Setting> operator+(std::vector<Setting> a, const std::vector<Setting>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Accepted {
  std::vector<Setting> settings;
  LaunchSource source;
  int rank, size, local_rank, local_size;
  std::string store;  ///< a beginning
};

TEST(LaunchEnvironmentTest, PrecedenceAndWhatFollows) {
  const std::string mine = "file:///tmp/ringcomm-" + std::to_string(::geteuid()) + "-ompi-";
  const auto all = ringcomm("2", "3", "file:///tmp/x") + torchrun("2", "3") + open_mpi("2", "3", "2", "3") +
                   mpich("2", "3") + slurm("2", "3");
  const std::vector<Accepted> table{
      {ringcomm("2", "3", "file:///tmp/x"), LaunchSource::ringcomm, 2, 3, -1, -1, "file:///tmp/x"},
      {ringcomm("0", "3", "tcp://h:5") +
           std::vector<Setting>{{"RINGCOMM_LOCAL_RANK", "0"}, {"RINGCOMM_LOCAL_SIZE", "2"}},
       LaunchSource::ringcomm, 0, 3, 0, 2, "tcp://h:5"},
      {{{"RINGCOMM_RANK", "0"}, {"RINGCOMM_SIZE", "1"}}, LaunchSource::ringcomm, 0, 1, -1, -1, ""},
      {torchrun("3", "4"), LaunchSource::torchrun, 3, 4, 1, 2, "tcp://node7:29501"},
      {torchrun("3", "4") + std::vector<Setting>{{"MASTER_ADDR", "fd00::1"}, {"MASTER_PORT", "65535"}},
       LaunchSource::torchrun, 3, 4, 1, 2, "tcp://[fd00::1]:65535"},
      {open_mpi("1", "2", "1", "2"), LaunchSource::open_mpi, 1, 2, 1, 2, mine},
      {open_mpi("1", "4", "1", "2"), LaunchSource::open_mpi, 1, 4, 1, 2, ""},
      {open_mpi("1", "4", "1", "2") + std::vector<Setting>{{"RINGCOMM_STORE", "tcp://a:1"}},
       LaunchSource::open_mpi, 1, 4, 1, 2, "tcp://a:1"},
      {mpich("1", "2"), LaunchSource::mpich, 1, 2, 0, -1, ""},
      {mpich("1", "2") + std::vector<Setting>{{"MPI_LOCALNRANKS", "2"}}, LaunchSource::mpich, 1, 2, 0, 2,
       "file:///tmp/ringcomm-"},
      {slurm("1", "2"), LaunchSource::slurm, 1, 2, 0, -1, "tcp://n03:2"},
      {all, LaunchSource::ringcomm, 2, 3, -1, -1, "file:///tmp/x"},
      // A launcher inside another one: the sizes differ, so both may be right.
      {torchrun("0", "2") + slurm("1", "4"), LaunchSource::torchrun, 0, 2, 1, 2, "tcp://node7:29501"},
      {torchrun("1", "2") + open_mpi("1", "2", "1", "2"), LaunchSource::torchrun, 1, 2, 1, 2,
       "tcp://node7:29501"},
      // An allocation of Slurm without a step is no launch.
      {open_mpi("1", "2", "1", "2") + std::vector<Setting>{{"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "0"}},
       LaunchSource::open_mpi, 1, 2, 1, 2, mine},
  };
  for (const Accepted& row : table) {
    const Environment environment(row.settings);
    const auto info = read_launch_environment();
    ASSERT_TRUE(info.is_ok()) << info.status().to_string();
    EXPECT_EQ(info->source, row.source) << name_of(info->source);
    EXPECT_EQ(info->rank, row.rank);
    EXPECT_EQ(info->size, row.size);
    EXPECT_EQ(info->local_rank, row.local_rank);
    EXPECT_EQ(info->local_size, row.local_size);
    EXPECT_EQ(info->store.substr(0, row.store.size()), row.store);
    EXPECT_EQ(info->store.empty(), row.store.empty()) << info->store;
  }
}

TEST(LaunchEnvironmentTest, OneJobMeetsInOnePlaceAndAnotherInAnother) {
  const auto store_of = [](const std::vector<Setting>& settings) {
    const Environment environment(settings);
    return read_launch_environment()->store;
  };
  EXPECT_EQ(store_of(open_mpi("0", "2", "0", "2")), store_of(open_mpi("1", "2", "1", "2")));
  EXPECT_NE(store_of(open_mpi("0", "2", "0", "2")),
            store_of(open_mpi("0", "2", "0", "2") + std::vector<Setting>{{"PMIX_NAMESPACE", "124@1"}}));
  EXPECT_EQ(store_of(slurm("0", "2")), store_of(slurm("1", "2")));
}

TEST(LaunchEnvironmentTest, NothingSetIsNotFound) {
  for (const auto& settings : std::vector<std::vector<Setting>>{
           {}, {{"RANK", "0"}}, {{"WORLD_SIZE", "2"}}, {{"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "0"}}}) {
    const Environment environment(settings);
    EXPECT_EQ(read_launch_environment().status().code(), StatusCode::not_found);
  }
}

struct Refused {
  std::vector<Setting> settings;
  std::vector<std::string_view> named;
};

TEST(LaunchEnvironmentTest, ContradictionsNameBothVariablesAndValues) {
  const std::string damaged_id = "id:" + std::string(256, '0');
  const std::vector<Refused> table{
      {{{"RINGCOMM_RANK", "0"}}, {"RINGCOMM_SIZE is not set although RINGCOMM_RANK is"}},
      {{{"RINGCOMM_SIZE", "2"}, {"RINGCOMM_STORE", "file:///tmp/x"}}, {"RINGCOMM_RANK is not set"}},
      {{{"RINGCOMM_STORE", "file:///tmp/x"}}, {"RINGCOMM_RANK and RINGCOMM_SIZE are not set"}},
      {{{"RINGCOMM_RANK", "0"}, {"RINGCOMM_SIZE", "2"}}, {"RINGCOMM_STORE is not set"}},
      {ringcomm("2", "2", "file:///x"), {"RINGCOMM_RANK=2 contradicts RINGCOMM_SIZE=2"}},
      {ringcomm("-1", "2", "file:///x"), {"RINGCOMM_RANK=-1"}},
      {ringcomm("0", "0", "file:///x"), {"RINGCOMM_SIZE=0"}},
      {ringcomm("0", "two", "file:///x"), {"RINGCOMM_SIZE=two"}},
      {ringcomm("0", "99999999999", "file:///x"), {"RINGCOMM_SIZE=99999999999"}},
      {ringcomm("0", "2", "/tmp/x"), {"RINGCOMM_STORE=/tmp/x"}},
      {ringcomm("0", "2", "file://x"), {"RINGCOMM_STORE=file://x"}},
      {ringcomm("0", "2", "file:///"), {"RINGCOMM_STORE"}},
      {ringcomm("0", "2", "tcp://1.2.3.4"), {"1.2.3.4", "host:port"}},
      {ringcomm("0", "2", "tcp://1.2.3.4:0"), {"host:port"}},
      {ringcomm("0", "2", "id:12"), {"256 hexadecimal digits"}},
      {ringcomm("0", "2", damaged_id.c_str()), {"no unique id"}},
      {ringcomm("0", "2", "file:///x") + std::vector<Setting>{{"RINGCOMM_LOCAL_SIZE", "3"}},
       {"RINGCOMM_LOCAL_SIZE=3 contradicts RINGCOMM_SIZE=2"}},
      {torchrun("4", "4"), {"RANK=4 contradicts WORLD_SIZE=4"}},
      {torchrun("x", "4"), {"RANK=x"}},
      {open_mpi("0", "2", "2", "2"),
       {"OMPI_COMM_WORLD_LOCAL_RANK=2 contradicts OMPI_COMM_WORLD_LOCAL_SIZE=2"}},
      {torchrun("1", "4") + open_mpi("2", "4", "0", "2"),
       {"RANK=1 contradicts OMPI_COMM_WORLD_RANK=2", "WORLD_SIZE and OMPI_COMM_WORLD_SIZE are both 4"}},
      {ringcomm("0", "4", "file:///x") + slurm("3", "4"), {"RINGCOMM_RANK=0 contradicts SLURM_PROCID=3"}},
      {mpich("1", "2") + slurm("0", "2"), {"PMI_RANK=1 contradicts SLURM_PROCID=0"}},
  };
  for (const Refused& row : table) {
    const Environment environment(row.settings);
    const Status status = read_launch_environment().status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << row.named[0];
    for (const std::string_view part : row.named) {
      EXPECT_NE(status.message().find(part), std::string_view::npos) << status.to_string();
    }
  }
}

TEST(LaunchEnvironmentTest, RanksOnSeveralHostsWithoutAPlaceAreToldWhatToSet) {
  const Environment environment(open_mpi("1", "4", "1", "2"));
  const Status status = bootstrap_from_environment(Deadline::after(std::chrono::seconds(1))).status();
  EXPECT_EQ(status.code(), StatusCode::not_available);
  for (const char* part : {"rank 1 of 4", "Open MPI", "RINGCOMM_STORE=tcp://host:port", "MPI_Comm"}) {
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.to_string();
  }
}

TEST(LaunchEnvironmentTest, ARankAloneMeetsItselfByEachKindOfStore) {
  const test::TempDir temp;
  const auto id = create_unique_id();
  ASSERT_TRUE(id.is_ok()) << id.status().to_string();
  for (const std::string& store : {std::string(), "file://" + (temp.path() / "x").string(),
                                   concat("tcp://127.0.0.1:", test::free_port()), "id:" + id->to_hex()}) {
    const Environment environment(ringcomm("0", "1", store.c_str()));
    auto group = bootstrap_from_environment(Deadline::after(std::chrono::seconds(10)));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    EXPECT_EQ(group.value()->kind(), GroupKind::processes) << store;
  }
}

}  // namespace
}  // namespace ringcomm
