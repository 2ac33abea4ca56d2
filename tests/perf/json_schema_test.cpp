// SPDX-License-Identifier: Apache-2.0
// A schema and values that are known to keep or break it: the validator itself is judged here.
#include "json_schema.hpp"

#include <gtest/gtest.h>

namespace ringcomm::test {
namespace {

using nlohmann::json;

const json kSchema = json::parse(R"({"type": "object", "required": ["a"], "additionalProperties": false,
  "properties": {"a": {"type": "array", "items": {"$ref": "#/definitions/small"}}, "b": {"enum": ["x"]},
                 "c": {"type": "string", "pattern": "^q"}},
  "definitions": {"small": {"type": ["integer", "null"], "minimum": 2}}})");

TEST(JsonSchemaTest, AcceptsWhatFits) {
  EXPECT_TRUE(violations(kSchema, json::parse(R"({"a": [2, null, 7], "b": "x", "c": "quite"})")).empty());
}

TEST(JsonSchemaTest, EachBreachIsFound) {
  for (const char* text :
       {R"({"b": "x"})", R"({"a": [1]})", R"({"a": [2.5]})", R"({"a": 3})", R"({"a": [], "b": "y"})",
        R"({"a": [], "c": "not"})", R"({"a": [], "d": 1})", R"([])"}) {
    EXPECT_EQ(violations(kSchema, json::parse(text)).size(), 1U) << text;
  }
}

TEST(JsonSchemaTest, UnknownKeywordIsNotSkipped) {
  EXPECT_FALSE(violations(json::parse(R"({"maxItems": 3})"), json::array()).empty());
}

}  // namespace
}  // namespace ringcomm::test
