// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/pickle/pickle.hpp"

#include <gtest/gtest.h>

#include "diag/evidence/pickle/opcodes.hpp"
#include "diag/evidence/samples.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::diag {
namespace {

using namespace std::string_literals;

/// Prints what it is told, Python-like.
class Printer final : public ValueSink {
 public:
  bool begin(bool is_dict) override {
    text += is_dict ? '{' : '[';
    return true;
  }
  bool end() override {
    text += "} ";
    return true;
  }
  bool key(std::string_view name) override {
    text += concat(name, ":");
    return true;
  }
  bool scalar(const Scalar& value) override {
    switch (value.kind) {
      case Scalar::Kind::null:
        text += "None ";
        break;
      case Scalar::Kind::boolean:
        text += value.integer != 0 ? "True " : "False ";
        break;
      case Scalar::Kind::integer:
        text += concat(value.integer, " ");
        break;
      case Scalar::Kind::number:
        text += concat(value.number, " ");
        break;
      case Scalar::Kind::text:
        text += concat("'", value.text, "' ");
    }
    return text.size() < 4096;
  }
  std::string text;
};

std::string told(const std::string& bytes, const pickle::Limits& limits = {}) {
  const pickle::Tree tree = pickle::read(bytes, limits);
  Printer printer;
  Status end = tree.end;
  pickle::tell(tree, printer, end, limits);
  return end.is_ok() ? printer.text : concat(printer.text, "! ", end.message());
}

TEST(PickleTest, EveryKindOfValue) {
  EXPECT_EQ(told("\x80\x02(K\x07M\x01\x02J\xff\xff\xff\xffN\x88\x89t."s), "[7 513 -1 None True False } ");
  EXPECT_EQ(told("\x80\x02\x8a\x01\xfe."s), "-2 ");
  EXPECT_EQ(told("\x80\x02\x8a\x00."s), "0 ");
  EXPECT_EQ(told("\x80\x02\x8b\x02\x00\x00\x00\x00\x01."s), "256 ");
  EXPECT_EQ(told("\x80\x02\x8a\x09"s + std::string(9, '\1') + "."), "None ");  // more than 64 bits
  EXPECT_EQ(told("\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00."s), "1.5 ");
  EXPECT_EQ(told("(I12\nI01\nL-5L\nF2.5\nVab\nl."s), "[12 True -5 2.5 'ab' } ");
  EXPECT_EQ(told("\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x02hi\x94h\x00\x86."s), "['hi' 'hi' } ");
  EXPECT_EQ(told("\x80\x04\x8d\x01\x00\x00\x00\x00\x00\x00\x00zC\x01y\x86."s), "['z' 'y' } ");
  EXPECT_EQ(told("\x80\x02}(X\x01\x00\x00\x00\x61K\x01X\x01\x00\x00\x00\x62]K\x02\x61u."s), "{a:1 b:[2 } } ");
  EXPECT_EQ(told("\x80\x02}K\x05K\x06s."s), "{5:6 } ");
  EXPECT_EQ(told("\x80\x02(K\x01K\x02\x64."s), "{1:2 } ");
  EXPECT_EQ(told("\x80\x02)K\x01\x85K\x02\x87."s), "[[} [1 } 2 } ") << "tuples";
  EXPECT_EQ(told("\x80\x02K\x01\x86."s), "1 ! a tuple of values that are not there at byte 4");
}

TEST(PickleTest, WhatCouldRunCodeIsRefusedByName) {
  EXPECT_EQ(told("\x80\x02\x63os\nsystem\n."s),
            "! opcode GLOBAL at byte 2 is refused: plain values do not need it, and it can run code");
  for (const auto& [code, name] :
       std::initializer_list<std::pair<char, std::string>>{{'R', "REDUCE"},
                                                           {'b', "BUILD"},
                                                           {'i', "INST"},
                                                           {'o', "OBJ"},
                                                           {'\x81', "NEWOBJ"},
                                                           {'\x93', "STACK_GLOBAL"},
                                                           {'P', "PERSID"},
                                                           {'Q', "BINPERSID"},
                                                           {'\x82', "EXT1"}}) {
    const std::string text = told("\x80\x02K\x01"s + code + "x\n.");
    EXPECT_NE(text.find(concat("opcode ", name, " at byte 4 is refused")), std::string::npos) << text;
  }
  EXPECT_NE(told("\x80\x02\xfe."s).find("byte 254 is no opcode"), std::string::npos);
}

TEST(PickleTest, BadStacksAndMemosAreErrors) {
  EXPECT_NE(told("\x80\x02."s).find("no whole value at STOP"), std::string::npos);
  EXPECT_NE(told("\x80\x02h\x00."s).find("memo 0 is used before it is set"), std::string::npos);
  EXPECT_NE(told("\x80\x02K\x01r\xff\xff\xff\x7f."s).find("is out of order"), std::string::npos);
  EXPECT_NE(told("\x80\x02}(K\x01u."s).find("a key without a value"), std::string::npos);
  EXPECT_NE(told("\x80\x02K\x01(K\x01\x65."s).find("another kind of value"), std::string::npos);
  EXPECT_NE(told("\x80\x02u."s).find("no MARK"), std::string::npos);
  EXPECT_NE(told("\x80\x02X\xff\xff\xff\x7fz"s).find("cut after 8 bytes"), std::string::npos);
  EXPECT_NE(told("\x80\x02"s + std::string(300, '(')).find("more than 256 deep"), std::string::npos);
}

TEST(PickleTest, ValuesInValuesAreBounded) {
  // A list that holds itself.
  EXPECT_NE(told("\x80\x02]q\x00h\x00\x61."s).find("more than 24 deep"), std::string::npos);
  // Each list holds the one before twice: 2^20 values in 100 bytes.
  std::string doubling = "\x80\x02]q\x00"s;
  for (char i = 0; i < 20; ++i) doubling += "(h"s + i + "h" + i + "lq" + static_cast<char>(i + 1);
  const pickle::Tree tree = pickle::read(doubling + "h\x14\x85.");
  Printer printer;
  Status end;
  EXPECT_FALSE(pickle::tell(tree, printer, end, {}));
  EXPECT_NE(end.message().find("in all"), std::string::npos) << end.message();
  EXPECT_NE(told("\x80\x02(K\x01K\x02K\x03t."s, {.nodes = 2}).find("more than 2 values"), std::string::npos);
}

TEST(PickleTest, ACutFileKeepsWhatWasWhole) {
  const std::string whole = samples::json_to_pickle(R"({"a": 1, "list": [{"x": 1}, {"x": 2}, {"x": 3}]})");
  EXPECT_EQ(told(whole), "{a:1 list:[{x:1 } {x:2 } {x:3 } } } ");
  std::string last;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string text = told(whole.substr(0, size));
    EXPECT_NE(text.find(concat("! cut after ", size, " bytes")), std::string::npos) << text;
    // No item is half there.
    EXPECT_EQ(text.find("[{}"), std::string::npos) << text;
    EXPECT_EQ(text.find(" {}"), std::string::npos) << text;
    last = text;
  }
  EXPECT_EQ(last.substr(0, last.find('!')), "{a:1 list:[{x:1 } {x:2 } {x:3 } } } ");
}

}  // namespace
}  // namespace ringcomm::diag
