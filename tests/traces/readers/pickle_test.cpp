// The unpickler: what it reads, and what it refuses.
#include "traces/readers/pickle.h"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/traces/readers/pickled.h"

namespace tidemark {
namespace {

using namespace std::string_literals;
using Catch::Contains;
using Catch::StartsWith;
using support::unpickled;

// PROTO 4, these opcodes, STOP.
std::string of(const std::string& opcodes) {
    return unpickled(support::pickled::file(opcodes));
}

// Walks through truncations: every shorter form of `file` is an error and known to be cut off.
void check_every_cut(const std::string& file) {
    for (std::size_t size = 0; size < file.size(); ++size) {
        const std::string_view cut = std::string_view(file).substr(0, size);
        const auto source = open_memory(std::as_bytes(std::span(cut.data(), cut.size())), "cut");
        REQUIRE(source);
        PickleObjects objects;
        support::PlainDicts dicts;
        Unpickler unpickler(**source, objects, dicts);
        INFO("size " << size);
        CHECK_FALSE(unpickler.run());
        CHECK(unpickler.cut_off());
        unpickler.close_open();
    }
}

TEST_CASE("pickle reads whole numbers in every form", "[pickle]") {
    CHECK(of("K\xff"s) == "255");
    CHECK(of("M\x34\x12"s) == "4660");
    CHECK(of("J\xfe\xff\xff\xff"s) == "-2");
    CHECK(of("J\xff\xff\xff\x7f"s) == "2147483647");
    CHECK(of("\x8a\x00"s) == "0");
    CHECK(of("\x8a\x01\xff"s) == "-1");
    CHECK(of("\x8a\x06\x00\x00\x00\x00\x54\x7f"s) == "139998753980416");
    CHECK(of("\x8b\x02\x00\x00\x00\x00\x01"s) == "256");
    CHECK(of("I17\n"s) == "17");
    CHECK(of("L-3L\n"s) == "-3");
    CHECK(of("I01\n"s) == "True");
}

TEST_CASE("pickle keeps numbers of 64 bits and clamps longer ones", "[pickle]") {
    CHECK(of("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s) == "9223372036854775807");
    CHECK(of("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"s) == "-9223372036854775808");
    CHECK(of("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"s) == "18446744073709551615");
    CHECK(of("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"s) == "18446744073709551615");
    CHECK(of("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff"s) == "-1");
    CHECK(of("L99999999999999999999L\n"s) == "18446744073709551615");
}

TEST_CASE("pickle reads floats, booleans and None", "[pickle]") {
    CHECK(of("G\x3f\xe0\x00\x00\x00\x00\x00\x00"s) == "0.5");
    CHECK(of("F0.25\n"s) == "0.25");
    CHECK(of("\x88"s) == "True");
    CHECK(of("\x89"s) == "False");
    CHECK(of("N"s) == "None");
}

TEST_CASE("pickle reads strings in every form", "[pickle]") {
    CHECK(of("\x8c\x02hi"s) == "'hi'");
    CHECK(of("X\x0c\x00\x00\x00hello, world"s) == "'hello, world'");
    CHECK(of("\x8d\x03\x00\x00\x00\x00\x00\x00\x00"
             "abc"s) == "'abc'");
    CHECK(of("C\x01x"s) == "'x'");
    CHECK(of("B\x01\x00\x00\x00x"s) == "'x'");
    CHECK(of("V\xe9\\u20ac\n"s) == "'\xc3\xa9\xe2\x82\xac'");
    CHECK(of("X\x00\x00\x00\x00"s) == "''");
}

TEST_CASE("pickle reads lists, tuples and dicts, nested and in parts", "[pickle]") {
    CHECK(of("](K\x01K\x02"
             "eK\x03"
             "a"s) == "[1, 2, 3]");
    CHECK(of("](](K\x01"
             "eK\x02"
             "e"s) == "[[1], 2]");
    CHECK(of("(K\x01K\x02l"s) == "[1, 2]");
    CHECK(of(")"s) == "[]");
    CHECK(of("K\x07\x85"s) == "[7]");
    CHECK(of("K\x01K\x02\x86"s) == "[1, 2]");
    CHECK(of("K\x01J\xff\xff\xff\xff\x86"s) == "[1, -1]");
    CHECK(of("K\x01K\x02K\x03\x87"s) == "[1, 2, 3]");
    CHECK(of("(K\x01K\x02K\x03K\x04t"s) == "[1, 2, 3, 4]");
    CHECK(of("}(\x8c\x01"
             "aK\x01\x8c\x01"
             "bK\x02u\x8c\x01"
             "cK\x03s"s) == "{'a': 1, 'b': 2, 'c': 3}");
    CHECK(of("(\x8c\x01"
             "aK\x01"
             "d"s) == "{'a': 1}");
    CHECK(of("}"s) == "{}");
}

TEST_CASE("pickle knows both kinds of memo", "[pickle]") {
    const std::string list_with_x = "](\x8c\x01x";

    CHECK(of(list_with_x + "\x94h\x00"
                           "e"s) == "['x', 'x']");
    CHECK(of(list_with_x + "q\x00h\x00"
                           "e"s) == "['x', 'x']");
    CHECK(of(list_with_x + "q\x01h\x01"
                           "e"s) == "['x', 'x']");
    CHECK(of(list_with_x + "r\x02\x00\x00\x00j\x02\x00\x00\x00"
                           "e"s) == "['x', 'x']");
    CHECK(of(list_with_x + "p0\ng0\n"
                           "e"s) == "['x', 'x']");
    CHECK(of("]\x94(h\x00"
             "e"s) == "[[[[[[[[[...]]]]]]]]]");
}

TEST_CASE("pickle reads the same from flat dicts, however their keys are written", "[pickle]") {
    // Twenty dicts with keys from the memo: the fast way. A string within must be memoised there
    // as it is elsewhere: the last dict refers to that of the one before.
    std::string keys = "](";
    std::string expected = "[";
    for (const char* name : {"a", "b", "c"})
        keys += fmt::format("\x8c\x01{}\x94", name);
    const std::string pop_keys = "000";
    std::string dicts;
    for (char i = 0; i < 20; ++i) {
        dicts += "}\x94(h\x00K"s + i + "h\x01\x8c\x03N/A\x94h\x02M\x00"s + i + "u"s;
        expected += fmt::format("{{'a': {}, 'b': 'N/A', 'c': {}}}, ", int{i}, 256 * i);
    }
    const std::string last = "}(h\x00h"s + static_cast<char>(4 + 2 * 19) + "u"s;
    const std::string padding(512, '0');

    CHECK(of(keys + pop_keys + dicts + last + "e"s + "0]"s + "N0"s) == "[]");
    CHECK(of(keys + pop_keys + dicts + last + "e"s) == expected + "{'a': 'N/A'}]");
    // Bytes behind STOP let the fast way take the last dicts as well.
    CHECK(unpickled(support::pickled::file(keys + pop_keys + dicts + last + "e"s) + padding) ==
          expected + "{'a': 'N/A'}]");
}

TEST_CASE("pickle sees the new object when a key's memo index is stored again", "[pickle]") {
    const std::string padding(512, '0');
    const std::string file = support::pickled::file(
        "](\x8c\x01"
        "aq\x00"
        "0}(h\x00K\x01u}(h\x00K\x02u\x8c\x01"
        "bq\x00"
        "0}(h\x00K\x03ue"s);

    CHECK(unpickled(file + padding) == "[{'a': 1}, {'a': 2}, {'b': 3}]");
}

TEST_CASE("pickle accepts protocols up to 5 and no newer one", "[pickle]") {
    CHECK(unpickled("\x80\x02N."s) == "None");
    CHECK(unpickled("\x80\x05\x95\x02\x00\x00\x00\x00\x00\x00\x00N."s) == "None");
    CHECK_THAT(unpickled("\x80\x06N."s), Contains("protocol 6"));
}

TEST_CASE("pickle refuses every opcode that would run or build something", "[pickle][hostile]") {
    const std::vector<std::pair<std::string, std::string>> forbidden = {
        {"i"s, "INST"},
        {"o"s, "OBJ"},
        {"\x82\x01"s, "EXT1"},
        {"\x83\x01\x01"s, "EXT2"},
        {"\x84\x01\x01\x01\x01"s, "EXT4"}};
    for (const auto& [opcodes, name] : forbidden) {
        const std::string text = of("NN"s + opcodes);
        CHECK_THAT(text, StartsWith("error: test:0x4: opcode " + name + " "));
        CHECK_THAT(text, Contains("nothing of it was executed"));
    }
    CHECK_THAT(of("\xff"s), StartsWith("error: test:0x2: byte 0xff"));
    CHECK_THAT(of("cos\nsystem\n"s),
               Contains("would import os.system") && Contains("nothing of it was executed"));
    CHECK_THAT(of("\x8c\x05posix\x8c\x06system\x93"s), Contains("would import posix.system"));
    CHECK_THAT(of("cbuiltins\neval\n"s), Contains("would import builtins.eval"));
    CHECK_THAT(of("\x93"s), Contains("needs more values"));
    CHECK_THAT(of("NNR"s), Contains("not a class or function"));
    CHECK_THAT(of("NN\x81"s), Contains("not a class or function"));
}

TEST_CASE("pickle takes objects that stand for data as that data", "[pickle]") {
    CHECK(of("ccollections\nOrderedDict\n)R(\x8c\x01"
             "aK\x01u"s) == "{'a': 1}");
    CHECK(of("ccollections\ndefaultdict\ncbuiltins\nlist\n\x85R(\x8c\x01"
             "aK\x01u"s) == "{'a': 1}");
    const std::string dtype = "cnumpy\ndtype\n\x8c\x02i8\x89\x88\x87R"s;
    const std::string scalar = "cnumpy.core.multiarray\nscalar\n"s + dtype;
    CHECK(of(scalar + "C\x08\xff\xff\xff\xff\xff\xff\xff\xff\x86R"s) == "-1");
    CHECK(of("cnumpy._core.multiarray\nscalar\n"s + dtype +
             "C\x08\x00\x00\x00\x40\xd7\x7f\x00\x00\x86R"s) == "140562468438016");
    // Protocol 2 has no bytes: they are a text and its coding.
    CHECK(of(scalar + "c_codecs\nencode\nX\x09\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc2\x80"
                      "X\x06\x00\x00\x00latin1\x86R\x86R"s) == "-9223372036854775807");
    CHECK_THAT(of(scalar.substr(0, scalar.size()) + "(K\x03\x8c\x01>NNNtb"s),
               Contains("big-endian"));
    CHECK(of("(cdatetime\ndatetime\nC\x01x\x85RK\x05t"s).ends_with(", 5]"));
}

TEST_CASE("pickle refuses what would need more than there is", "[pickle][hostile]") {
    CHECK_THAT(of("X\xff\xff\xff\x00"
                  "abc"s),
               Contains("the file ends here"));
    CHECK_THAT(of("X\xff\xff\xff\xff"
                  "abc"s),
               Contains("a string of 4294967295 bytes"));
    CHECK_THAT(of("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                  "abc"s),
               Contains("a string of"));
    CHECK_THAT(of("\x8b\xff\xff\xff\x7f"s), Contains("an integer of"));
    CHECK_THAT(of("h\x00"s), Contains("never stored"));
    CHECK_THAT(of("Nj\xff\xff\xff\xff"s), Contains("never stored"));
    CHECK_THAT(of("Nr\xff\xff\xff\xff"s), Contains("stores object 4294967295"));
    CHECK_THAT(of("Nq\x03h\x02"s), Contains("never stored"));
    CHECK_THAT(of("p9999999999\n"s), Contains("needs more values"));
    CHECK_THAT(of(std::string(1000, '(')), Contains("levels of nesting"));
}

TEST_CASE("pickle refuses opcodes without their operands", "[pickle][hostile]") {
    for (const char* opcodes :
         {"",      "u",    "e",     "a",    "s",         "0",     "1",     "2",       "\x94",
          "t",     "d",    "l",     "\x85", "K\x01\x86", "q\x01", "(u",    "(e",      "]K\x01u",
          "N(NNu", "}(Nu", "}NNNa", "NNa",  "NNNs",      "N(a",   "(\x94", "}(N\x86u"}) {
        INFO(opcodes);
        CHECK_THAT(of(opcodes), StartsWith("error: test:0x"));
    }
}

TEST_CASE("pickle does not multiply objects that refer to one another", "[pickle][hostile]") {
    // Each list holds the one before ten times: 10^30 elements if anyone unfolded them.
    std::string bytes =
        "](K\x01"
        "e\x94"s;
    for (char i = 0; i < 30; ++i) {
        bytes += "](";
        for (int k = 0; k < 10; ++k)
            bytes += "h"s + i;
        bytes += "e\x94";
    }
    const std::string file = support::pickled::file(bytes);
    const auto source = open_memory(std::as_bytes(std::span(file.data(), file.size())), "test");
    REQUIRE(source);
    PickleObjects objects;
    support::PlainDicts dicts;

    const Result<Value> value = Unpickler(**source, objects, dicts).run();

    REQUIRE(value);
    CHECK(objects.lists.count() == 31);
    CHECK(objects.lists.size(value->index()) == 10);
}

TEST_CASE("pickle says of every cut that it is one", "[pickle][hostile]") {
    check_every_cut(
        support::pickled::file("}\x94(\x8c\x01"
                               "a\x94](K\x01M\x02\x03J\x04\x05\x06\x07\x8a\x02\x08\x09"
                               "e"
                               "\x8c\x01"
                               "b\x94G\x3f\xe0\x00\x00\x00\x00\x00\x00X\x03\x00\x00\x00xyzN"
                               "I5\nV\xe9\nj\x01\x00\x00\x00\x88u"s));
}

TEST_CASE("pickle closes what a cut left open", "[pickle]") {
    const std::string whole =
        "}(\x8c\x01"
        "a](K\x01K\x02"
        "e\x8c\x01"
        "b](](K\x03"s;
    const auto source = open_memory(std::as_bytes(std::span(whole.data(), whole.size())), "test");
    REQUIRE(source);
    PickleObjects objects;
    support::PlainDicts dicts;
    Unpickler unpickler(**source, objects, dicts);
    REQUIRE_FALSE(unpickler.run());

    const Value root = unpickler.close_open();

    CHECK(dicts.text(objects, root) == "{'a': [1, 2], 'b': [[3]]}");
}

}  // namespace
}  // namespace tidemark
