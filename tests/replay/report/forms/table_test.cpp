// Tables: aligned on the screen, and a table in Markdown.
#include "replay/report/forms/table.h"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

Table sample() {
    Table table({{"policy", Align::left}, {"peak"}});
    table.add({{"torch"}, {"7.2 GiB"}});
    table.add({{"best-fit", true}, {"6.9 GiB", true}});
    return table;
}

}  // namespace

TEST_CASE("a table is aligned and ruled as Markdown wants it", "[report]") {
    CHECK(sample().ruled(Emphasis::none) ==
          "| policy   |    peak |\n"
          "| -------- | ------: |\n"
          "| torch    | 7.2 GiB |\n"
          "| best-fit | 6.9 GiB |\n");
}

TEST_CASE("the best is starred in Markdown and stays aligned", "[report]") {
    CHECK(sample().ruled(Emphasis::markdown) ==
          "| policy       |        peak |\n"
          "| ------------ | ----------: |\n"
          "| torch        |     7.2 GiB |\n"
          "| **best-fit** | **6.9 GiB** |\n");
}

TEST_CASE("the best is bold on a terminal without moving its column", "[report]") {
    const std::string text = sample().ruled(Emphasis::terminal);

    CHECK(text.find("| \x1b[1mbest-fit\x1b[0m | \x1b[1m6.9 GiB\x1b[0m |") != std::string::npos);
    CHECK(text.find("| torch    | 7.2 GiB |") != std::string::npos);
}

TEST_CASE("a cell cannot end its column", "[report]") {
    Table table({{"name", Align::left}});
    table.add({{"a|b"}});

    CHECK(table.ruled(Emphasis::none) == "| name |\n| ---- |\n| a\\|b |\n");
}

TEST_CASE("letters of several bytes count once", "[report]") {
    Table table({{"name", Align::left}, {"x"}});
    table.add({{"größe"}, {"1"}});
    table.add({{"size"}, {"22"}});

    CHECK(text_width("größe") == 5);
    CHECK(table.bare("  ") == "  größe   1\n  size   22\n");
}
