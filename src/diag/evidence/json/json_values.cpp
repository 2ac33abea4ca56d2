// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/json/json_values.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

using Json = nlohmann::json;

constexpr int kDepthMax = 64;

/// The parser's calls, passed on. Where the sink or the depth says stop, the parser stops too.
class Handler final : public nlohmann::json_sax<Json> {
 public:
  explicit Handler(ValueSink& sink) : sink_(sink) {}
  bool null() override { return sink_.scalar({}); }
  bool boolean(bool value) override { return sink_.scalar(Scalar::of(value)); }
  bool number_integer(number_integer_t value) override {
    return sink_.scalar(Scalar::of(static_cast<std::int64_t>(value)));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return sink_.scalar(Scalar::of(static_cast<double>(value)));
    return sink_.scalar(Scalar::of(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return sink_.scalar(Scalar::of(static_cast<double>(value)));
  }
  bool string(string_t& value) override { return sink_.scalar(Scalar::of(std::string_view(value))); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(true); }
  bool start_array(std::size_t /*size*/) override { return open(false); }
  bool key(string_t& value) override { return sink_.key(value); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*problem*/) override {
    error_at = position;
    return false;
  }

  std::size_t error_at = 0;
  bool is_too_deep = false;

 private:
  bool open(bool is_dict) {
    is_too_deep = ++depth_ > kDepthMax;
    return !is_too_deep && sink_.begin(is_dict);
  }
  bool close() {
    --depth_;
    return sink_.end();
  }

  ValueSink& sink_;
  int depth_ = 0;
};

}  // namespace

Status tell_json(std::string_view text, ValueSink& sink) {
  const char* const begin = text.data();
  Handler handler(sink);
  // Not strict: what follows the document is the caller's business.
  bool is_whole = false;
  try {
    is_whole = Json::sax_parse(begin, begin + text.size(), &handler, Json::input_format_t::json, false);
  } catch (const std::exception&) {  // out of memory for one huge text
    return Status::corrupt_data("a value is too large");
  }
  if (is_whole) return {};
  if (handler.is_too_deep)
    return Status::corrupt_data(concat("values in values, more than ", kDepthMax, " deep"));
  if (handler.error_at == 0) return {};  // the sink wanted no more
  if (handler.error_at >= text.size())
    return Status::corrupt_data(concat("cut after ", text.size(), " bytes"));
  return Status::corrupt_data(concat("no JSON at byte ", handler.error_at));
}

}  // namespace ringcomm::inline v0::diag
