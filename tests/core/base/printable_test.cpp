// Foreign text for a terminal: what drives it, breaks a line or can't be seen becomes an escape.
#include "core/base/printable.h"

#include <string>

#include <catch2/catch.hpp>

namespace tidemark {

TEST_CASE("what can be seen stays as it is", "[base][printable]") {
    for (const char* const text : {"", "plain", "größe ▁ é漢🙂", "a\\b", "~"})
        CHECK(printable(text) == text);
}

TEST_CASE("what could drive a terminal or break a line is an escape", "[base][printable]") {
    CHECK(printable("a\x1b[2Jb\r\n\tc\x7f") == "a\\x1b[2Jb\\r\\n\\tc\\x7f");
    CHECK(printable(std::string_view("nul\0nul", 7)) == "nul\\x00nul");
    CHECK(printable("\xc2\x9b"
                    "31m") == "\\x9b31m");  // an escape sequence in one character
    CHECK(printable("\u2028\u2029") == "\\u2028\\u2029");
    CHECK(printable("a\nb\x1b\n", true) == "a\nb\\x1b\n");
}

TEST_CASE("what turns the direction or has no width is an escape", "[base][printable]") {
    for (const char* const text :
         {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069",
          "\u200e", "\u200f", "\u061c", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad"})
        CHECK(printable(text).starts_with("\\"));
    CHECK(printable("\u202egnp.exe") == "\\u202egnp.exe");
    CHECK(printable("\U000e0041") == "\\U000e0041");
}

TEST_CASE("bytes that are no UTF-8 are escapes, each", "[base][printable]") {
    CHECK(printable("\xff\xfe"
                    "a\xc3") == "\\xff\\xfea\\xc3");
    CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
    CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");           // overlong
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // half of a pair
    CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
    CHECK(printable("\xe2\x82") == "\\xe2\\x82");                    // cut off
}

TEST_CASE("what is printable already is not escaped again", "[base][printable]") {
    const std::string once = printable("a\x1b\\\n\xff\u202e");
    CHECK(printable(once) == once);
}

TEST_CASE("JSON keeps its values and shows nothing that drives", "[base][printable]") {
    CHECK(printable_json("{\n \"a\": \"\x7f\u202e\u00e9\U000e0041\"}\n") ==
          "{\n \"a\": \"\\u007f\\u202e\u00e9\\udb40\\udc41\"}\n");
}

TEST_CASE("a report keeps its lines and colours, no other control", "[base][printable]") {
    const std::string_view ours = "\x1b[1mbold\x1b[0m\n\x1b[0;31mred\x1b[0m\n";
    CHECK(printable_report(ours) == ours);
    CHECK(printable_report("\x1b[2J\x1b]0;x\x07\x1b[1") == "\\x1b[2J\\x1b]0;x\\x07\\x1b[1");
    CHECK(printable_report("a\x1b[1m\x1b\x1b[0m") == "a\x1b[1m\\x1b\x1b[0m");
}

}  // namespace tidemark
