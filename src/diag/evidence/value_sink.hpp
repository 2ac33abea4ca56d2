// SPDX-License-Identifier: Apache-2.0
// A tree of values, told one after the other: a pickle and a JSON text of one dump say the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ringcomm::inline v0::diag {

struct Scalar {
  enum class Kind : std::uint8_t { null, boolean, integer, number, text };
  Kind kind = Kind::null;
  std::int64_t integer = 0;  ///< of a boolean too
  double number = 0;
  std::string_view text{};  ///< valid during the call

  static Scalar of(std::string_view text) { return {.kind = Kind::text, .text = text}; }
  static Scalar of(bool value) { return {.kind = Kind::boolean, .integer = value ? 1 : 0}; }
  static Scalar of(std::int64_t value) { return {.kind = Kind::integer, .integer = value}; }
  static Scalar of(double value) { return {.kind = Kind::number, .number = value}; }

  /// Of an integer, or of a text that is one: JSON dumps print counters as strings.
  std::optional<std::int64_t> as_integer() const;
  bool is_true() const { return kind != Kind::text && kind != Kind::null && (integer != 0 || number != 0); }
};

/// Any function may answer false: no more is wanted.
class ValueSink {
 public:
  ValueSink() = default;
  ValueSink(const ValueSink&) = delete;
  ValueSink& operator=(const ValueSink&) = delete;
  virtual ~ValueSink() = default;
  virtual bool begin(bool is_dict) = 0;
  virtual bool end() = 0;
  virtual bool key(std::string_view name) = 0;
  virtual bool scalar(const Scalar& value) = 0;
};

/// Of the text: an optional sign and digits, all of it.
std::optional<std::int64_t> integer_of(std::string_view text);

}  // namespace ringcomm::inline v0::diag
