// SPDX-License-Identifier: Apache-2.0
#include "json_schema.hpp"

#include <algorithm>
#include <regex>

namespace ringcomm::test {
namespace {

using Json = nlohmann::json;

bool is_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  return type == "null" && value.is_null();
}

class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  void check(const Json& schema, const Json& value, const std::string& at) {
    static const std::vector<std::string> kKnown{"$schema",  "title",      "type",
                                                 "enum",     "minimum",    "pattern",
                                                 "required", "properties", "additionalProperties",
                                                 "items",    "$ref",       "definitions"};
    for (const auto& [keyword, ignored] : schema.items()) {
      if (std::find(kKnown.begin(), kKnown.end(), keyword) == kKnown.end())
        add(at, "the schema has a keyword this validator does not know: " + keyword);
    }
    if (schema.contains("$ref")) {
      const std::string name = schema["$ref"].get<std::string>().substr(std::string("#/definitions/").size());
      return check(root_["definitions"].at(name), value, at);
    }
    check_value(schema, value, at);
    if (value.is_object()) check_object(schema, value, at);
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i)
        check(schema["items"], value[i], at + "[" + std::to_string(i) + "]");
    }
  }

  std::vector<std::string> found;

 private:
  void add(const std::string& at, const std::string& what) { found.push_back(at + ": " + what); }

  void check_value(const Json& schema, const Json& value, const std::string& at) {
    if (schema.contains("type")) {
      const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
      if (std::none_of(types.begin(), types.end(), [&](const Json& type) { return is_type(value, type); }))
        add(at, "is " + value.dump() + ", not " + types.dump());
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      add(at, "is " + value.dump() + ", none of " + schema["enum"].dump());
    if (schema.contains("minimum") && value.is_number() &&
        value.get<double>() < schema["minimum"].get<double>())
      add(at, "is " + value.dump() + ", under the minimum");
    if (schema.contains("pattern") && value.is_string() &&
        !std::regex_search(value.get<std::string>(), std::regex(schema["pattern"].get<std::string>())))
      add(at, "is " + value.dump() + ", against the pattern");
  }

  void check_object(const Json& schema, const Json& value, const std::string& at) {
    for (const Json& name : schema.value("required", Json::array())) {
      if (!value.contains(name.get<std::string>())) add(at, "lacks " + name.dump());
    }
    const Json properties = schema.value("properties", Json::object());
    const bool is_closed = schema.contains("additionalProperties") && schema["additionalProperties"] == false;
    for (const auto& [name, member] : value.items()) {
      if (properties.contains(name)) {
        check(properties[name], member, at + "." + name);
      } else if (is_closed) {
        add(at, "has an unknown key " + name);
      }
    }
  }

  const Json& root_;
};

}  // namespace

std::vector<std::string> violations(const Json& schema, const Json& value) {
  Validator validator(schema);
  validator.check(schema, value, "$");
  return validator.found;
}

}  // namespace ringcomm::test
