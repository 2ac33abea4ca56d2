// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/xml_document.hpp"

#include <gtest/gtest.h>

#include "topology/readers/reader.hpp"

namespace ringcomm {
namespace {

using topology::XmlDocument;

TEST(XmlDocumentTest, RootElementBehindProlog) {
  EXPECT_EQ(topology::root_element(
                "\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- <a> -->\n<!DOCTYPE t>\n<system x='1'>"),
            "system");
  EXPECT_EQ(topology::root_element("<graphs/>"), "graphs");
  for (const char* const text : {"", "system", "<!-- open", "<?xml", "  "})
    EXPECT_EQ(topology::root_element(text), "") << text;
}

TEST(XmlDocumentTest, ElementsKnowTheirLines) {
  const auto document = XmlDocument::parse("<a>\n <b/>\n\n <c\n x='1'/></a>", "f.xml");
  ASSERT_TRUE(document.is_ok()) << document.status().to_string();
  EXPECT_EQ(document->where(document->root()).to_text(), "f.xml:1");
  EXPECT_EQ(document->where(document->root().child("b")).line, 2);
  EXPECT_EQ(document->where(document->root().child("c")).line, 4);
}

TEST(XmlDocumentTest, ACutFileIsRefusedWithItsLine) {
  const auto document = XmlDocument::parse("<a>\n<b>\n", "f.xml");
  EXPECT_EQ(document.status().code(), StatusCode::corrupt_data);
  EXPECT_NE(document.status().message().find("f.xml:2: not well-formed XML"), std::string_view::npos)
      << document.status().message();
}

std::string nested(std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += "<a>";
  for (std::size_t i = 0; i < depth; ++i) text += "</a>";
  return text;
}

TEST(XmlDocumentTest, DepthHasALimit) {
  EXPECT_TRUE(XmlDocument::parse(nested(topology::kDepthMax), "f").is_ok());
  EXPECT_FALSE(XmlDocument::parse(nested(topology::kDepthMax + 1), "f").is_ok());
  // Deep enough that any recursion per level would run out of stack.
  EXPECT_EQ(XmlDocument::parse(nested(900000), "f").status().code(), StatusCode::corrupt_data);
}

TEST(XmlDocumentTest, CountsHaveLimits) {
  // The counts are taken before anything is built, so what follows need not be well-formed.
  const auto elements = XmlDocument::parse("<a/>" + std::string(1000000, '<'), "f");
  EXPECT_NE(elements.status().message().find("more than 1000000 elements"), std::string_view::npos);
  const auto attributes = XmlDocument::parse("<a b='" + std::string(4000001, '=') + "'/>", "f");
  EXPECT_NE(attributes.status().message().find("more than 1000000 elements"), std::string_view::npos);
}

TEST(XmlDocumentTest, EntitiesAreNotExpanded) {
  const std::string text =
      "<!DOCTYPE a [<!ENTITY x \"xxxxxxxxxx\"><!ENTITY y SYSTEM \"/etc/passwd\">]><a b=\"&x;&y;&lt;\"/>";
  const auto document = XmlDocument::parse(text, "f");
  ASSERT_TRUE(document.is_ok());
  EXPECT_STREQ(document->root().attribute("b").value(), "&x;&y;<");
}

TEST(XmlDocumentTest, AttributesThatAreNoNumbersAreUnknown) {
  const auto document =
      XmlDocument::parse("<a i='12' h='0x1f' e='' t='12x' big='99999999999' f='2.5' n='nan'/>", "f");
  const auto node = document->root();
  EXPECT_EQ(topology::int_attribute(node, "i"), 12);
  EXPECT_EQ(topology::int_attribute(node, "h"), 31);
  EXPECT_EQ(topology::hex_attribute(node, "h"), 31U);
  EXPECT_EQ(topology::number_attribute(node, "f"), 2.5);
  for (const char* const name : {"e", "t", "absent"}) {
    EXPECT_FALSE(topology::int_attribute(node, name)) << name;
    EXPECT_FALSE(topology::hex_attribute(node, name)) << name;
    EXPECT_FALSE(topology::number_attribute(node, name)) << name;
  }
  EXPECT_FALSE(topology::int_attribute(node, "big"));
  EXPECT_FALSE(topology::number_attribute(node, "n"));
}

}  // namespace
}  // namespace ringcomm
