// SPDX-License-Identifier: Apache-2.0
// The opcodes of Python's pickle (protocols 0 to 5) that plain values are made of, and names for the others.
#pragma once

#include <cstdint>
#include <string_view>

namespace ringcomm::inline v0::diag::pickle {

enum class Op : unsigned char {
  mark = '(',
  stop = '.',
  int_line = 'I',
  long_line = 'L',
  float_line = 'F',
  bin_float = 'G',
  bin_int = 'J',
  bin_int1 = 'K',
  bin_int2 = 'M',
  none = 'N',
  unicode_line = 'V',
  bin_unicode = 'X',
  append = 'a',
  appends = 'e',
  dict = 'd',
  empty_dict = '}',
  get_line = 'g',
  bin_get = 'h',
  long_bin_get = 'j',
  list = 'l',
  empty_list = ']',
  put_line = 'p',
  bin_put = 'q',
  long_bin_put = 'r',
  set_item = 's',
  set_items = 'u',
  tuple = 't',
  empty_tuple = ')',
  bin_bytes = 'B',
  short_bin_bytes = 'C',
  proto = 0x80,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  new_true = 0x88,
  new_false = 0x89,
  long1 = 0x8a,
  long4 = 0x8b,
  short_bin_unicode = 0x8c,
  bin_unicode8 = 0x8d,
  bin_bytes8 = 0x8e,
  memoize = 0x94,
  frame = 0x95,
};

/// Of an opcode that is refused: "GLOBAL", ...; "" for a byte that is none.
std::string_view name_of_refused(unsigned char op);

}  // namespace ringcomm::inline v0::diag::pickle
