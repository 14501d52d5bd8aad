// Options: what parses, what is refused, and how the refusal reads.
#include "core/base/options.h"

#include <array>

#include <catch2/catch.hpp>

namespace tidemark {
namespace {

constexpr std::array<std::string_view, 3> kOrders{"first", "best", "worst"};

constexpr std::array<OptionInfo, 6> kDeclared{{
    {.name = "segment",
     .type = OptionType::bytes,
     .default_value = "20MiB",
     .minimum = "2MiB",
     .maximum = "1GiB",
     .summary = "a size"},
    {.name = "depth",
     .type = OptionType::count,
     .default_value = "4",
     .maximum = "8",
     .summary = "a count"},
    {.name = "threshold",
     .type = OptionType::real,
     .default_value = "0.5",
     .minimum = "0",
     .maximum = "1",
     .summary = "a fraction"},
    {.name = "eager", .type = OptionType::boolean, .default_value = "false", .summary = "a switch"},
    {.name = "order",
     .type = OptionType::choice,
     .default_value = "best",
     .choices = kOrders,
     .summary = "a choice"},
    {.name = "divisions", .type = OptionType::text, .default_value = "", .summary = "a text"},
}};

Result<Options> parse(std::string_view text) {
    return Options::parse(kDeclared, text, "policy test");
}

std::string error_of(std::string_view text) {
    const Result<Options> options = parse(text);
    REQUIRE_FALSE(options);
    CHECK(options.error().code == ErrorCode::bad_option);
    CHECK(options.error().where == "policy test");
    return to_text(options.error());
}

TEST_CASE("options that are not given have their defaults", "[base][options]") {
    const Result<Options> options = parse("");

    REQUIRE(options);
    CHECK(options->bytes("segment") == 20_MiB);
    CHECK(options->count("depth") == 4);
    CHECK(options->real("threshold") == 0.5);
    CHECK_FALSE(options->boolean("eager"));
    CHECK(options->choice("order") == "best");
    CHECK(options->text("divisions").empty());
    for (const OptionInfo& option : kDeclared)
        CHECK(options->is_default(option.name));
}

TEST_CASE("given options replace their defaults and keep the order of declaration",
          "[base][options]") {
    const Result<Options> options =
        parse("order=worst,segment=64MiB,depth=8,threshold=1,eager=true,divisions=x");

    REQUIRE(options);
    CHECK(options->bytes("segment") == 64_MiB);
    CHECK(options->count("depth") == 8);
    CHECK(options->real("threshold") == 1.0);
    CHECK(options->boolean("eager"));
    CHECK(options->choice("order") == "worst");
    CHECK(options->text("divisions") == "x");
    REQUIRE(options->all().size() == kDeclared.size());
    for (std::size_t i = 0; i < kDeclared.size(); ++i)
        CHECK(options->all()[i].first == kDeclared[i].name);
    CHECK(options->all()[0].second == "64MiB");
}

TEST_CASE("a colon may stand for the equals sign", "[base][options]") {
    const Result<Options> options = parse("segment:64MiB,depth:2");

    REQUIRE(options);
    CHECK(options->bytes("segment") == 64_MiB);
    CHECK(options->count("depth") == 2);
}

TEST_CASE("commas and colons inside brackets belong to the value", "[base][options]") {
    const Result<Options> options = parse("divisions:[256:1,512:2,>:8],depth:2");

    REQUIRE(options);
    CHECK(options->text("divisions") == "[256:1,512:2,>:8]");
    CHECK(options->count("depth") == 2);
}

TEST_CASE("blanks around names and values are dropped", "[base][options]") {
    const Result<Options> options = parse(" segment = 64 MiB , depth: 2 ");

    REQUIRE(options);
    CHECK(options->bytes("segment") == 64_MiB);
    CHECK(options->text("segment") == "64 MiB");
    CHECK(options->count("depth") == 2);
}

TEST_CASE("a boolean may be written as Python or a person would", "[base][options]") {
    for (const std::string_view yes : {"true", "True", "1", "on", "yes"})
        CHECK(parse("eager=" + std::string(yes))->boolean("eager"));
    for (const std::string_view no : {"false", "False", "0", "off", "no"})
        CHECK_FALSE(parse("eager=" + std::string(no))->boolean("eager"));
    CHECK(parse("eager=True")->text("eager") == "true");  // one text for one value
    CHECK(parse("eager=0")->text("eager") == "false");
}

TEST_CASE("a value that means its default counts as default", "[base][options]") {
    const Result<Options> options = parse("segment=20480KiB,threshold=5e-1,eager=off,depth=04");

    REQUIRE(options);
    CHECK(options->is_default("segment"));
    CHECK(options->is_default("threshold"));
    CHECK(options->is_default("eager"));
    CHECK(options->is_default("depth"));
    CHECK_FALSE(parse("segment=21MiB")->is_default("segment"));
    CHECK_FALSE(parse("divisions=a")->is_default("divisions"));
}

TEST_CASE("an unknown option is refused with the nearest name", "[base][options]") {
    CHECK(error_of("segmnt=2MiB") ==
          "policy test: unrecognized key 'segmnt'; did you mean 'segment'?");
    CHECK(error_of("zzz=1") ==
          "policy test: unrecognized key 'zzz'; one of: segment, depth, "
          "threshold, eager, order, divisions");
    CHECK(to_text(Options::parse({}, "a=1", "policy x").error()) ==
          "policy x: unrecognized key 'a'; it has no options");
}

TEST_CASE("an option given twice is refused", "[base][options]") {
    CHECK(error_of("depth=1,depth=1") == "policy test: option 'depth' is given twice");
}

TEST_CASE("a value out of range is refused with the bound", "[base][options]") {
    CHECK(error_of("segment=1MiB") == "policy test: segment: 1MiB is below its least value, 2MiB");
    CHECK(error_of("segment=2GiB") ==
          "policy test: segment: 2GiB is above its largest value, 1GiB");
    CHECK(error_of("depth=9") == "policy test: depth: 9 is above its largest value, 8");
    CHECK(error_of("threshold=-0.1") == "policy test: threshold: -0.1 is below its least value, 0");
    CHECK(parse("segment=2MiB,depth=8,threshold=0"));
    CHECK(parse("segment=1GiB,threshold=1"));
}

TEST_CASE("a value of the wrong type is refused by name", "[base][options]") {
    CHECK(error_of("depth=deep") == "policy test: depth: 'deep' is not a whole number");
    CHECK(error_of("segment=").find("segment: '' is not a size") != std::string::npos);
    CHECK(error_of("threshold=half") == "policy test: threshold: 'half' is not a number");
    CHECK(error_of("eager=maybe") == "policy test: eager: 'maybe' is neither true nor false");
    CHECK(error_of("order=bst") ==
          "policy test: order: 'bst' is not a choice; did you mean 'best'?");
}

TEST_CASE("text that is not a list of options is refused", "[base][options]") {
    CHECK(error_of("depth").find("'depth' has no value") != std::string::npos);
    CHECK(error_of("depth=1,") == "policy test: nothing follows the comma in 'depth=1,'");
    CHECK_FALSE(parse(","));
    CHECK_FALSE(parse("depth=1,,eager=1"));
    CHECK_FALSE(parse("=1"));
    CHECK(error_of("divisions=[1,2").find("unbalanced brackets") != std::string::npos);
    CHECK(error_of("divisions=1]").find("unbalanced brackets") != std::string::npos);
}

TEST_CASE("option types have names", "[base][options]") {
    CHECK(to_text(OptionType::bytes) == "bytes");
    CHECK(to_text(OptionType::text) == "text");
}

}  // namespace
}  // namespace tidemark
