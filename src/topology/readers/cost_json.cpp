// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/cost_json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::cost_json {
namespace {

using Json = nlohmann::json;

// Thirteen classes of one line each take some KB; nesting of more than a few levels is no calibration.
constexpr std::size_t kBytesMax = std::size_t{1} << 20;
constexpr int kDepthMaxJson = 8;
constexpr double kAlphaUsMax = 1e7;
constexpr double kGbPerSMax = 1e6;

Status corrupt(const std::string& file, const std::string& what) {
  return Status(StatusCode::corrupt_data, concat("costs of ", file, ": ", what));
}

/// The parser recurses into nested values: the depth is looked at before it runs.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        in_string = false;
    } else if (text[i] == '"') {
      in_string = true;
    } else if (text[i] == '{' || text[i] == '[') {
      if (++depth > kDepthMaxJson) return true;
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  return false;
}

Status check_keys(const Json& object, std::span<const std::string_view> known, const std::string& place,
                  const std::string& file) {
  for (const auto& entry : object.items()) {
    if (std::ranges::find(known, entry.key()) == known.end())
      return corrupt(file, concat(place, "'", shown(entry.key()), "' is no key of a calibration"));
  }
  return {};
}

Result<double> number_of(const Json& object, const char* key, double value_max, const std::string& place,
                         const std::string& file) {
  const auto found = object.find(key);
  if (found == object.end()) return corrupt(file, concat(place, "'", key, "' is missing"));
  if (!found->is_number()) return corrupt(file, concat(place, "'", key, "' is no number"));
  const double value = found->get<double>();
  if (!(value > 0) || !(value <= value_max))
    return corrupt(file, concat(place, "'", key, "' is ", value, ", not above 0 and at most ", value_max));
  return value;
}

Result<ClassCost> read_class(const Json& entry, std::size_t index, const std::string& file) {
  const std::string place = concat("classes[", index, "].");
  if (!entry.is_object()) return corrupt(file, concat("classes[", index, "] is no object"));
  constexpr std::array<std::string_view, 8> kKeys{"class",   "alpha_us", "gb_per_s", "spread",
                                                  "samples", "from",     "to",       "transport"};
  RINGCOMM_TRY(check_keys(entry, kKeys, place, file));
  const auto name = entry.find("class");
  if (name == entry.end() || !name->is_string()) return corrupt(file, concat(place, "'class' is no name"));
  const auto path_class = parse_path_class(name->get_ref<const std::string&>());
  if (!path_class || *path_class == PathClass::unknown || *path_class == PathClass::dis) {
    return corrupt(file, concat(place, "'class' is '", shown(name->get_ref<const std::string&>()),
                                "', which is no path class (LOC, NVL, ..., NODE, SYS, NET)"));
  }
  RINGCOMM_TRY_ASSIGN(const double alpha, number_of(entry, "alpha_us", kAlphaUsMax, place, file));
  RINGCOMM_TRY_ASSIGN(const double rate, number_of(entry, "gb_per_s", kGbPerSMax, place, file));
  return ClassCost{.path_class = *path_class,
                   .alpha_us = alpha,
                   .gb_per_s = rate,
                   .source = Source::measured,
                   .where = file};
}

/// Whole numbers; what is larger is a size that no merge has.
Result<MergeLimits> read_merge(const Json& entry, const std::string& file) {
  constexpr double kLimitMax = 0x1p62;
  if (!entry.is_object()) return corrupt(file, "'merge' is no object");
  MergeLimits limits;
  constexpr std::array<std::string_view, 4> kKeys{"ranks", "one_shot_bytes", "copied_one_shot_bytes",
                                                  "cache_bytes"};
  std::uint64_t* const values[] = {&limits.ranks, &limits.one_shot_bytes, &limits.copied_one_shot_bytes,
                                   &limits.cache_bytes};
  RINGCOMM_TRY(check_keys(entry, kKeys, "merge.", file));
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const char* const key = kKeys[i].data();
    if (i > 0 && !entry.contains(key)) continue;  // ranks are always there
    RINGCOMM_TRY(number_of(entry, key, kLimitMax, "merge.", file).status());
    if (!entry[key].is_number_unsigned())
      return corrupt(file, concat("merge.'", key, "' is no whole number"));
    *values[i] = entry[key].get<std::uint64_t>();
  }
  return limits;
}

Result<MeasuredCosts> read_document(const Json& document, const std::string& file) {
  if (!document.is_object()) return corrupt(file, "the text is no JSON object");
  constexpr std::array<std::string_view, 8> kKeys{"ringcomm_costs", "between", "classes", "machine",
                                                  "command",        "date",    "notes",   "merge"};
  RINGCOMM_TRY(check_keys(document, kKeys, "", file));
  const auto version = document.find("ringcomm_costs");
  if (version == document.end() || !version->is_number_integer() || *version != 1)
    return corrupt(file, "'ringcomm_costs' is not 1, the version that this build reads");
  MeasuredCosts costs;
  const auto between = document.find("between");
  if (between != document.end() && *between == "gpus") {
    costs.kind = PartKind::gpu;
  } else if (between == document.end() || *between != "host ranks") {
    return corrupt(file, "'between' is neither \"host ranks\" nor \"gpus\"");
  }
  const auto classes = document.find("classes");
  if (classes == document.end() || !classes->is_array() || classes->empty())
    return corrupt(file, "'classes' is no list with at least one class");
  for (std::size_t i = 0; i < classes->size(); ++i) {
    RINGCOMM_TRY_ASSIGN(ClassCost cost, read_class((*classes)[i], i, file));
    const bool is_repeated = std::ranges::any_of(
        costs.classes, [&](const ClassCost& known) { return known.path_class == cost.path_class; });
    if (is_repeated)
      return corrupt(file, concat("classes[", i, "].'class' names ", name_of(cost.path_class), " again"));
    costs.classes.push_back(std::move(cost));
  }
  if (const auto merge = document.find("merge"); merge != document.end()) {
    RINGCOMM_TRY_ASSIGN(costs.merge, read_merge(*merge, file));
  }
  return costs;
}

}  // namespace

Result<MeasuredCosts> read(std::string_view text, const std::string& file) {
  if (text.size() > kBytesMax)
    return corrupt(file, concat("the text is longer than ", format_bytes(kBytesMax)));
  if (is_too_deep(text)) return corrupt(file, concat("values are nested deeper than ", kDepthMaxJson));
  const Json document = Json::parse(text, nullptr, false);  // no exceptions
  if (document.is_discarded()) return corrupt(file, "the text is no JSON");
  return read_document(document, file);
}

}  // namespace ringcomm::inline v0::topology::cost_json
