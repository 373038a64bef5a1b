#include "core/visible_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace smallbatch {
namespace {

TEST(VisibleText, words_stay_what_they_are) {
  for (const std::string text : {"", "water", "Grün 水 \xf0\x9f\x92\xa7", "back\\slash \\x1b", "<b>&\"'"}) {
    EXPECT_EQ(visible_text(text), text);
    EXPECT_EQ(visible_lines(text), text);
    EXPECT_EQ(visible_json(text), text);
  }
}

TEST(VisibleText, what_a_terminal_obeys_is_spelt_out) {
  EXPECT_EQ(visible_text("\x1b[31m\x7f\x07"), "\\x1b[31m\\x7f\\x07");
  EXPECT_EQ(visible_text("a\n\r\tb"), "a\\x0a\\x0d\\x09b");
  EXPECT_EQ(visible_text(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible_text("\xc2\x85\xc2\x9b"), "\\xc2\\x85\\xc2\\x9b");  // U+0085, U+009B
  EXPECT_EQ(visible_text("\u202e\u2066\u200b\u061c"),                   // these change the direction of text, or have
                                                                        // no width
            "\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xe2\\x80\\x8b\\xd8\\x9c");
  EXPECT_EQ(visible_text("\xef\xbb\xbf\xf3\xa0\x80\x81"), "\\xef\\xbb\\xbf\\xf3\\xa0\\x80\\x81");  // U+FEFF, U+E0001
}

TEST(VisibleText, bytes_that_are_no_utf8_are_spelt_out) {
  EXPECT_EQ(visible_text("\xff\xfe a"), "\\xff\\xfe a");
  EXPECT_EQ(visible_text("a\xc3"), "a\\xc3");                           // cut short
  EXPECT_EQ(visible_text("\xc0\x8a"), "\\xc0\\x8a");                    // a line feed in too many bytes
  EXPECT_EQ(visible_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a surrogate pair
  EXPECT_EQ(visible_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond the last code point
  EXPECT_EQ(visible_text("Gr\xfcn"), "Gr\\xfcn");                       // Latin-1
}

TEST(VisibleText, lines_stay_lines) { EXPECT_EQ(visible_lines("one\ntwo\r\x1b\n"), "one\ntwo\\x0d\\x1b\n"); }

TEST(VisibleText, json_means_the_same) {
  EXPECT_EQ(visible_json("{\n\"a\u202e\": \"\x7f\u00e9\"\n}"), "{\n\"a\\u202e\": \"\\u007f\u00e9\"\n}");
  EXPECT_EQ(visible_json("\"\xf3\xa0\x80\x81\""), "\"\\udb40\\udc01\"");  // U+E0001
}

TEST(VisibleText, control_bytes_are_found) {
  EXPECT_TRUE(has_control_bytes("a\nb"));
  EXPECT_TRUE(has_control_bytes("\x7f"));
  EXPECT_FALSE(has_control_bytes("Gr\xfcn \u202e"));
}

}  // namespace
}  // namespace smallbatch
