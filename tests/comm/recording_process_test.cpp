// SPDX-License-Identifier: Apache-2.0
// A forked child leaves its parent's record alone.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "comm/record_file.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm {
namespace {

TEST(RecordingProcessTest, AForkedChildLeavesTheParentsRecordAlone) {
  CommunicatorOptions options;
  options.arena_bytes = 1 << 18;
  const Status status = run_processes(
      2,
      [](Communicator& comm) -> Status {
        const std::string path = comm.record_path();
        RINGCOMM_TRY(barrier(comm.channel()).status());
        const pid_t child = ::fork();
        if (child == 0) {
          {
            const Communicator copy = std::move(comm);
            static_cast<void>(barrier(const_cast<Communicator&>(copy).channel()).is_ok());
            if (!copy.record_path().empty()) ::_exit(1);
          }
          ::_exit(std::filesystem::exists(path) ? 0 : 2);
        }
        int ended = -1;
        ::waitpid(child, &ended, 0);
        if (ended != 0) return Status::internal("the child ended with an error");
        RINGCOMM_TRY(barrier(comm.channel()).status());
        const test::RecordBytes record(path);
        if (!record.is_whole() || record.channel(0).completed != 2)
          return Status::internal("the record did not go on");
        if (record.header().pid != static_cast<std::uint32_t>(::getpid())) return Status::internal("pid");
        return {};
      },
      options);
  EXPECT_EQ(status.to_string(), "ok");
}

}  // namespace
}  // namespace ringcomm
