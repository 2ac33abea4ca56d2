// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>
#include <optional>

#include "core/try.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr std::string_view kRank = "RINGCOMM_RANK";
constexpr std::string_view kSize = "RINGCOMM_SIZE";
constexpr std::string_view kStore = "RINGCOMM_STORE";

Result<int> read_number(std::string_view name, std::int64_t least) {
  RINGCOMM_TRY_ASSIGN(const std::int64_t value, env_integer(name));
  if (value < least || value > std::numeric_limits<int>::max()) {
    return Status::invalid_argument(concat(name, "=", value, " (", least, " or more)"));
  }
  return static_cast<int>(value);
}

Status check_complete() {
  const std::array names{kRank, kSize, kStore};
  std::string set;
  std::string missing;
  for (const std::string_view name : names) {
    std::string& list = env_text(name) ? set : missing;
    list += concat(list.empty() ? "" : ", ", name);
  }
  if (set.empty()) return Status::not_found(concat("none of ", missing, " is set"));
  if (missing.empty()) return {};
  return Status::invalid_argument(
      concat(missing, " is not set although ", set, " is (a launched rank needs all three)"));
}

}  // namespace

Result<LaunchInfo> read_launch_environment() {
  RINGCOMM_TRY(check_complete());
  LaunchInfo info;
  RINGCOMM_TRY_ASSIGN(info.size, read_number(kSize, 1));
  RINGCOMM_TRY_ASSIGN(info.rank, read_number(kRank, 0));
  if (info.rank >= info.size) {
    return Status::invalid_argument(concat(kRank, "=", info.rank, " contradicts ", kSize, "=", info.size,
                                           " (ranks count from 0 to ", info.size - 1, ")"));
  }
  info.store = *env_text(kStore);
  if (!info.store.starts_with("file:///") || info.store.size() == std::string_view("file:///").size()) {
    return Status::invalid_argument(
        concat(kStore, "=", info.store, " (only file:///absolute/directory is known)"));
  }
  return info;
}

}  // namespace ringcomm::inline v0
