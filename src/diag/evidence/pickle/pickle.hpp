// SPDX-License-Identifier: Apache-2.0
// Reads the part of Python's pickle that plain values need. It builds no object and calls nothing: an opcode
// that would is refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/evidence/value_sink.hpp"
#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::diag::pickle {

struct Limits {
  std::size_t nodes = std::size_t{1} << 24;
  std::size_t memo = std::size_t{1} << 24;
  /// Values told by tell(): a pickle can name one list many times, in lists that are named many times.
  std::size_t told = std::size_t{1} << 27;
  int depth = 24;
};

enum class NodeKind : std::uint8_t { null, boolean, integer, number, text, list, dict };
struct Node {
  NodeKind kind = NodeKind::null;
  bool is_cut = false;  ///< the file ended inside this container
  union {
    std::int64_t integer;
    double number;
    const char* text;     ///< into the file
    std::uint64_t items;  ///< of a container: index in Tree::items
  };
  std::uint32_t length = 0;  ///< of a text
  Node() : integer(0) {}
};

struct Tree {
  std::vector<Node> nodes;
  std::vector<std::vector<std::uint32_t>> items;  ///< of a dict: key, value, key, value, ...
  std::uint32_t root = 0;
  std::size_t bytes = 0;  ///< of the file
  /// Not ok: what ended the reading; what was complete before it is in the tree all the same.
  Status end;
  bool has_root = false;
};

/// The file must outlive the tree.
Tree read(std::string_view file, const Limits& limits = {});

/// Tells the whole items only: one that the file ended inside of is left out of a list, and out of a dict
/// unless it is a container. False: the sink wanted no more, or the limits were reached (`end` says so then).
bool tell(const Tree& tree, ValueSink& sink, Status& end, const Limits& limits = {});

}  // namespace ringcomm::inline v0::diag::pickle
