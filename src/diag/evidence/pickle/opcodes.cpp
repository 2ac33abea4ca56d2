// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/pickle/opcodes.hpp"

#include <array>
#include <utility>

namespace ringcomm::inline v0::diag::pickle {

std::string_view name_of_refused(unsigned char op) {
  constexpr std::array<std::pair<unsigned char, std::string_view>, 26> kNames{{
      {'c', "GLOBAL"},
      {0x93, "STACK_GLOBAL"},
      {'R', "REDUCE"},
      {'b', "BUILD"},
      {'i', "INST"},
      {'o', "OBJ"},
      {0x81, "NEWOBJ"},
      {0x92, "NEWOBJ_EX"},
      {'P', "PERSID"},
      {'Q', "BINPERSID"},
      {0x82, "EXT1"},
      {0x83, "EXT2"},
      {0x84, "EXT4"},
      {'0', "POP"},
      {'1', "POP_MARK"},
      {'2', "DUP"},
      {'S', "STRING"},
      {'T', "BINSTRING"},
      {'U', "SHORT_BINSTRING"},
      {0x8f, "EMPTY_SET"},
      {0x90, "ADDITEMS"},
      {0x91, "FROZENSET"},
      {0x96, "BYTEARRAY8"},
      {0x97, "NEXT_BUFFER"},
      {0x98, "READONLY_BUFFER"},
      {0, ""},
  }};
  for (const auto& [code, name] : kNames) {
    if (code == op) return name;
  }
  return {};
}

}  // namespace ringcomm::inline v0::diag::pickle
