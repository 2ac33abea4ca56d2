// SPDX-License-Identifier: Apache-2.0
// Groups of threads that call themselves a network are joined or not; the log's one line says why not, and
// /tmp is compared before and after.
#include <filesystem>

#include "bootstrap/network_ranks.hpp"

namespace ringcomm {
namespace {

using test::run_ranks;
using namespace std::chrono_literals;

/// A group of threads under another name, whose answers a test may bend.
class FakeNetwork final : public Bootstrap {
 public:
  using Bend = std::function<void(int round, std::vector<std::vector<std::byte>>& all)>;
  FakeNetwork(std::unique_ptr<Bootstrap> inner, Bend bend)
      : inner_(std::move(inner)), bend_(std::move(bend)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  GroupKind kind() const override { return GroupKind::network; }
  std::string_view interface_name() const override { return "fake0"; }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                         Deadline deadline) override {
    auto all = inner_->all_gather(mine, deadline);
    if (all.is_ok() && bend_) bend_(round_, all.value());
    ++round_;
    return all;
  }
  Result<int> take_socket(int) override { return Status::not_available("fake"); }
  Result<int> peer_pid(int) const override { return Status::not_available("fake"); }
  Result<std::shared_ptr<void>> shared_object(std::string_view,
                                              const std::function<std::shared_ptr<void>()>&) override {
    return Status::not_available("fake");
  }

 private:
  std::unique_ptr<Bootstrap> inner_;
  Bend bend_;
  int round_ = 0;
};

std::vector<std::string> left_in_tmp() {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator("/tmp")) {
    const std::string name = item.path().filename().string();
    if (name.starts_with("ringcomm-meeting-")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The kind of group that each rank ends up with.
std::vector<GroupKind> join(int ranks, const FakeNetwork::Bend& bend) {
  auto threads = bootstrap_threads(ranks);
  std::vector<GroupKind> kinds(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](int rank) {
    auto& inner = threads.value()[static_cast<std::size_t>(rank)];
    auto joined = join_local(std::make_unique<FakeNetwork>(std::move(inner), bend), Deadline::after(20s));
    ASSERT_TRUE(joined.is_ok()) << joined.status().to_string();
    kinds[static_cast<std::size_t>(rank)] = joined.value()->kind();
    const Status status = test::gather_and_compare(*joined.value(), Deadline::after(20s));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  });
  return kinds;
}

class JoinLocalTest : public ::testing::TestWithParam<int> {};

TEST_P(JoinLocalTest, OneHostIsJoined) {
  const auto before = left_in_tmp();
  const auto kinds = join(GetParam(), {});
  EXPECT_EQ(kinds, std::vector<GroupKind>(kinds.size(), GroupKind::processes));
  EXPECT_EQ(left_in_tmp(), before);
}

INSTANTIATE_TEST_SUITE_P(Ranks, JoinLocalTest, ::testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& tested) { return "ranks" + std::to_string(tested.param); });

TEST(JoinLocalRefusalTest, AnotherBootIsAnotherHost) {
  const auto before = left_in_tmp();
  const auto kinds = join(3, [](int round, auto& all) {
    if (round == 0) all[1][0] = std::byte{'X'};
  });
  EXPECT_EQ(kinds, std::vector<GroupKind>(3, GroupKind::network));
  EXPECT_EQ(left_in_tmp(), before);
}

TEST(JoinLocalRefusalTest, OneRankThatDoesNotSeeTheDirectoryKeepsAllOnTheNetwork) {
  const auto before = left_in_tmp();
  const auto kinds = join(3, [](int round, auto& all) {
    if (round == 2) all[2] = test::bytes_of("it does not see the directory");
  });
  EXPECT_EQ(kinds, std::vector<GroupKind>(3, GroupKind::network));
  EXPECT_EQ(left_in_tmp(), before);
}

TEST(JoinLocalRefusalTest, AForgedPathIsNotEntered) {
  const auto before = left_in_tmp();
  for (const char* path : {"/etc", "/tmp/ringcomm-meeting-/../../etc", "", "relative"}) {
    const auto kinds = join(2, [&](int round, auto& all) {
      if (round == 1) all[0] = test::bytes_of(std::string("mark\n") + path);
    });
    EXPECT_EQ(kinds, std::vector<GroupKind>(2, GroupKind::network)) << path;
  }
  EXPECT_TRUE(std::filesystem::exists("/etc"));
  for (const auto& name : left_in_tmp()) {  // rank 0's own, never told
    if (!std::binary_search(before.begin(), before.end(), name)) std::filesystem::remove_all("/tmp/" + name);
  }
}

TEST(JoinLocalRefusalTest, OtherGroupsAreGivenBackAsTheyAre) {
  auto threads = bootstrap_threads(1);
  auto joined = join_local(std::move(threads.value()[0]), Deadline::after(1s));
  ASSERT_TRUE(joined.is_ok());
  EXPECT_EQ(joined.value()->kind(), GroupKind::threads);
  EXPECT_EQ(join_local(nullptr, Deadline::after(1s)).status().code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace ringcomm
