// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/xml_document.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

// pugixml takes up to 64 bytes for an element and 40 for an attribute, so these bound its memory to 0.25 GB.
// hwloc writes some 100,000 elements for a host of 1,000 hardware threads.
constexpr std::ptrdiff_t kElementsMax = 1000000;
constexpr std::ptrdiff_t kAttributesMax = 4000000;

/// Drops `<opening ... closing`, if the text begins so.
bool drop(std::string_view& text, std::string_view opening, std::string_view closing) {
  if (!text.starts_with(opening)) return false;
  const std::size_t past = text.find(closing, opening.size());
  text.remove_prefix(past == std::string_view::npos ? text.size() : past + closing.size());
  return true;
}

/// Walks without recursion: a file may nest as deep as it is long.
bool is_deeper_than(pugi::xml_node root, std::size_t depth_max) {
  std::size_t depth = 1;
  pugi::xml_node at = root;
  while (at) {
    if (at.first_child()) {
      at = at.first_child();
      if (++depth > depth_max) return true;
      continue;
    }
    while (at && at != root && !at.next_sibling()) {
      at = at.parent();
      --depth;
    }
    if (!at || at == root) return false;
    at = at.next_sibling();
  }
  return false;
}

}  // namespace

std::string_view root_element(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (;;) {
    text = trimmed(text);
    if (drop(text, "<!--", "-->") || drop(text, "<?", "?>") || drop(text, "<!", ">")) continue;
    if (!text.starts_with('<')) return {};
    return text.substr(1, text.find_first_of(" \t\r\n/>", 1) - 1);
  }
}

Result<XmlDocument> XmlDocument::parse(std::string_view text, const std::string& file) {
  if (std::ranges::count(text, '<') > kElementsMax || std::ranges::count(text, '=') > kAttributesMax) {
    return Status::corrupt_data(concat(file, ": more than ", kElementsMax, " elements or ", kAttributesMax,
                                       " attributes (no machine has so many)"));
  }
  XmlDocument out;
  out.document_ = std::make_unique<pugi::xml_document>();
  out.file_ = file;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') out.line_starts_.push_back(static_cast<std::ptrdiff_t>(at) + 1);
  }
  // The encoding is given, since the guess converts the buffer and offsets then point elsewhere.
  const auto parsed =
      out.document_->load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    return Status::corrupt_data(concat(Where{file, out.line_of(parsed.offset)}.to_text(),
                                       ": not well-formed XML: ", parsed.description(),
                                       " (was the file cut?)"));
  }
  if (is_deeper_than(out.root(), kDepthMax)) {
    return Status::corrupt_data(
        concat(file, ": elements are nested deeper than ", kDepthMax, " (no machine is)"));
  }
  return out;
}

int XmlDocument::line_of(std::ptrdiff_t offset) const {
  const auto past = std::ranges::upper_bound(line_starts_, offset);
  return static_cast<int>(past - line_starts_.begin()) + 1;
}

Where XmlDocument::where(pugi::xml_node node) const { return {file_, line_of(node.offset_debug())}; }

Status XmlDocument::missing(pugi::xml_node node, std::string_view attribute) const {
  return Status::corrupt_data(concat(where(node).to_text(), ": <", shown(node.name()), "> has no valid ",
                                     attribute, " (it says which device this is)"));
}

std::string shown_element(pugi::xml_node node) {
  std::string text = concat("<", node.name());
  for (const auto attribute : node.attributes()) {
    text += concat(" ", attribute.name(), "=\"", attribute.value(), "\"");
    if (text.size() > 80) break;
  }
  return text + ">";
}

std::optional<int> int_attribute(pugi::xml_node node, const char* name) {
  const auto value = parse_base0(trimmed(node.attribute(name).value()));
  if (!value || *value < std::numeric_limits<int>::min() || *value > std::numeric_limits<int>::max())
    return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<std::uint32_t> hex_attribute(pugi::xml_node node, const char* name) {
  std::string_view text = trimmed(node.attribute(name).value());
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> flag_attribute(pugi::xml_node node, const char* name) {
  const auto value = int_attribute(node, name);
  return value ? std::optional(*value != 0) : std::nullopt;
}

std::optional<double> number_attribute(pugi::xml_node node, const char* name) {
  const std::string_view text = trimmed(node.attribute(name).value());
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> gp_index_of(pugi::xml_node node) {
  return parse_count(trimmed(node.attribute("gp_index").value()));
}

}  // namespace ringcomm::inline v0::topology
