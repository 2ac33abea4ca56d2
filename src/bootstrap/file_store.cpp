// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "bootstrap/meeting.hpp"
#include "bootstrap/socket_group.hpp"
#include "bootstrap/store_directory.hpp"
#include "core/try.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

using bootstrap::Meeting;
using bootstrap::RankEntry;
using bootstrap::SocketGroup;
using bootstrap::StoreDirectory;

constexpr int kReopeningsMax = 100;

Result<std::unique_ptr<SocketGroup>> meet(const StoreDirectory& directory, const RankEntry& me,
                                          Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(auto listener, directory.listen(me.nonce, me.size));
  Meeting meeting(directory, me, std::move(listener));
  const Status status = meeting.run(deadline);
  if (meeting.stranger_count() > 0) {
    log(LogLevel::warn, concat("rank ", me.rank, " dropped ", meeting.stranger_count(),
                               " connections of strangers at ", directory.name()));
  }
  RINGCOMM_TRY(status);
  RINGCOMM_TRY_ASSIGN(auto group, SocketGroup::create(me.rank, meeting.take_sockets()));
  // Nobody may leave with success before all are connected, else a late failure would hit some ranks only.
  RINGCOMM_TRY(group->all_gather({}, deadline).status());
  return group;
}

/// Opens the directory and claims the rank in it, anew if the last rank of another meeting removes it
/// between the two.
Result<StoreDirectory> enter(const std::filesystem::path& path, const RankEntry& me, Deadline deadline) {
  Status status;
  for (int i = 0; i < kReopeningsMax; ++i) {
    auto directory = StoreDirectory::open(path);
    status = directory.is_ok() ? directory->claim(me, deadline) : directory.status();
    if (status.is_ok()) return directory;
    if (status.code() != StatusCode::not_found) return status;
  }
  return status;
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> bootstrap_file_store(const std::filesystem::path& directory, int rank,
                                                        int size, Deadline deadline) {
  constexpr int kRanksMax = 1024;
  if (size < 1 || size > kRanksMax || rank < 0 || rank >= size) {
    return Status::invalid_argument(
        concat("rank ", rank, " of ", size, " (sizes from 1 to ", kRanksMax, ", ranks from 0 to size - 1)"));
  }
  const RankEntry me = bootstrap::make_entry(rank, size);
  RINGCOMM_TRY_ASSIGN(auto store, enter(directory, me, deadline));
  auto group = meet(store, me, deadline);
  store.leave(me);
  if (!group.is_ok()) return group.status();
  return std::unique_ptr<Bootstrap>(std::move(group).value());
}

}  // namespace ringcomm::inline v0
