// SPDX-License-Identifier: Apache-2.0
// XML of strangers: parsed by pugixml within limits, with the line of every element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/topology/pci.hpp"

namespace ringcomm::inline v0::topology {

/// Name of the outermost element, behind prolog and comments; empty when the text is no XML.
std::string_view root_element(std::string_view text);

class XmlDocument {
 public:
  /// corrupt_data: no XML (file and line), nested deeper than kDepthMax, or more elements or attributes than
  /// any machine has. Entities are not expanded, nothing is fetched.
  static Result<XmlDocument> parse(std::string_view text, const std::string& file);

  pugi::xml_node root() const { return document_->document_element(); }
  Where where(pugi::xml_node node) const;
  /// corrupt_data "file:line: <element> has no attribute ...".
  Status missing(pugi::xml_node node, std::string_view attribute) const;

 private:
  XmlDocument() = default;
  int line_of(std::ptrdiff_t offset) const;

  std::unique_ptr<pugi::xml_document> document_;
  std::string file_;
  std::vector<std::ptrdiff_t> line_starts_;
};

/// "<pci busid="...">": how an element begins, to quote it.
std::string shown_element(pugi::xml_node node);
/// The whole attribute as an integer (decimal, or hexadecimal with 0x) that fits an int.
std::optional<int> int_attribute(pugi::xml_node node, const char* name);
/// Hexadecimal, with or without 0x.
std::optional<std::uint32_t> hex_attribute(pugi::xml_node node, const char* name);
/// 0 is false, any other integer true.
std::optional<bool> flag_attribute(pugi::xml_node node, const char* name);
/// Finite numbers only.
std::optional<double> number_attribute(pugi::xml_node node, const char* name);
/// hwloc's gp_index: a whole number from 0 on.
std::optional<std::int64_t> gp_index_of(pugi::xml_node node);

}  // namespace ringcomm::inline v0::topology
