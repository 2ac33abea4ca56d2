// SPDX-License-Identifier: Apache-2.0
// Files by hand: each mistake must be named by its key, and nothing but a whole file may be taken.
#include <gtest/gtest.h>

#include "ringcomm/config.hpp"
#include "ringcomm/topology/path.hpp"
#include "topology/machines.hpp"

namespace ringcomm::inline v0 {
namespace {

std::string document(const std::string& between, const std::string& classes) {
  return R"({"ringcomm_costs": 1, "between": ")" + between + R"(", "classes": )" + classes + "}";
}
const std::string kSys = R"({"class": "SYS", "alpha_us": 2.5, "gb_per_s": 11})";
const std::string kNode = R"({"class": "NODE", "alpha_us": 1.5, "gb_per_s": 9})";

#if RINGCOMM_HAVE_JSON

std::string why_not(const std::string& text) {
  const auto model = CostModel::from_json(text, "c.json");
  EXPECT_FALSE(model.is_ok()) << text;
  EXPECT_EQ(model.status().code(), StatusCode::corrupt_data);
  return std::string(model.status().message());
}

TEST(CostJsonTest, MeasuredClassesReplaceTheTable) {
  const auto model = CostModel::from_json(document("host ranks", "[" + kSys + "]"), "c.json");
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_EQ(model->of(PathClass::sys).source, Source::measured);
  EXPECT_EQ(model->of(PathClass::nvl).source, Source::table);
  EXPECT_TRUE(model->is_measured_between(PartKind::numa_node));
  EXPECT_FALSE(model->is_measured_between(PartKind::gpu));
}

TEST(CostJsonTest, EachMistakeIsNamed) {
  const auto has = [](const std::string& text, const std::string& part) {
    const std::string reason = why_not(text);
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
    EXPECT_NE(reason.find("c.json"), std::string::npos) << reason;
  };
  has("", "no JSON");
  has("{", "no JSON");
  has("[]", "no JSON object");
  has("{}", "'ringcomm_costs'");
  has(R"({"ringcomm_costs": 2})", "'ringcomm_costs'");
  has(R"({"ringcomm_costs": 1, "betwen": 1})", "'betwen'");
  has(document("wires", "[" + kSys + "]"), "'between'");
  has(document("gpus", "[]"), "'classes'");
  has(document("gpus", "[7]"), "classes[0]");
  has(document("gpus", "[" + kSys + "," + kSys + "]"), "SYS again");
  has(document("gpus", R"([{"class": "NEAR", "alpha_us": 1, "gb_per_s": 1}])"), "'NEAR'");
  has(document("gpus", R"([{"class": "?", "alpha_us": 1, "gb_per_s": 1}])"), "'class'");
  has(document("gpus", R"([{"class": 3, "alpha_us": 1, "gb_per_s": 1}])"), "'class'");
  has(document("gpus", R"([{"class": "SYS", "gb_per_s": 1}])"), "'alpha_us' is missing");
  has(document("gpus", R"([{"class": "SYS", "alpha_us": 1}])"), "'gb_per_s' is missing");
  has(document("gpus", R"([{"class": "SYS", "alpha_us": "1", "gb_per_s": 1}])"), "'alpha_us' is no number");
  has(document("gpus", R"([{"class": "SYS", "alpha_us": 0, "gb_per_s": 1}])"), "'alpha_us' is 0");
  has(document("gpus", R"([{"class": "SYS", "alpha_us": 1, "gb_per_s": -1}])"), "'gb_per_s' is -1");
  has(document("gpus", R"([{"class": "SYS", "alpha_us": 1, "gb_per_s": 1e9}])"), "'gb_per_s'");
  has(document("gpus", R"([{"class": "SYS", "alpha": 1}])"), "'alpha'");
}

TEST(CostJsonTest, HostileFilesAreRefusedAtOnce) {
  EXPECT_NE(why_not(std::string(200000, '[')).find("nested deeper"), std::string::npos);
  EXPECT_NE(why_not(std::string(2 << 20, ' ')).find("longer than"), std::string::npos);
  EXPECT_NE(why_not(R"({"\ud800": 1})").find("no JSON"), std::string::npos);
  EXPECT_NE(why_not(document("gpus", R"([{"class": "SYS", "alpha_us": 1e999, "gb_per_s": 1}])")).size(), 0U);
  const std::string whole = document("host ranks", "[" + kSys + "]");
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_FALSE(CostModel::from_json(whole.substr(0, cut), "c").is_ok());
}

TEST(CostJsonTest, TimesOfHostRanksSayNothingOfGpus) {
  const auto measured = [](const std::string& between) {
    return CostModel::from_json(document(between, "[" + kSys + "," + kNode + "]"), "c.json").value();
  };
  const Machine machine = pcie_machine();
  const auto of_hosts = derive_paths(machine, measured("host ranks"));
  const auto of_gpus = derive_paths(machine, measured("gpus"));
  const auto gpu = of_hosts.find({.kind = PartKind::gpu, .position = 0});
  const auto far = of_hosts.find({.kind = PartKind::gpu, .position = 4});
  const auto node = of_hosts.find({.kind = PartKind::numa_node, .position = 0});
  EXPECT_EQ(of_hosts.at(node, node + 1).bandwidth.source, Source::measured);
  EXPECT_EQ(of_hosts.at(node, node + 1).bandwidth.gb_per_s, 11);
  EXPECT_EQ(of_hosts.at(node, node + 1).alpha_us, 2.5);
  EXPECT_EQ(of_hosts.at(gpu, far).bandwidth.source, Source::table);
  EXPECT_EQ(of_hosts.at(gpu, far).alpha_us, 5.7);
  EXPECT_EQ(of_gpus.at(gpu, far).bandwidth.source, Source::measured);
  EXPECT_EQ(of_gpus.at(node, node + 1).bandwidth.source, Source::table);
}

#else

TEST(CostJsonTest, BuildWithoutJsonSaysSo) {
  EXPECT_EQ(CostModel::from_json(document("gpus", "[" + kSys + kNode + "]"), "c.json").status().code(),
            StatusCode::not_available);
}

#endif

}  // namespace
}  // namespace ringcomm::inline v0
