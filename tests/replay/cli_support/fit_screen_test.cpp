// Reports on narrow screens: no line is wider than the screen, and nothing is lost in silence.
#include "replay/cli_support/fit_screen.h"

#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include "replay/report/forms/table.h"

namespace tidemark {
namespace {

std::size_t widest(const std::string& text) {
    std::istringstream lines(text);
    std::size_t most = 0;
    for (std::string line; std::getline(lines, line);)
        most = std::max(most, text_width(line));
    return most;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string sample(Emphasis emphasis = Emphasis::none) {
    Table table({{"policy", Align::left}, {"peak"}, {"vs first"}, {"calls"}, {"retries"}, {"oom"}});
    table.add({{"torch"}, {"8.30 GiB"}, {"first"}, {"128"}, {"0"}, {"0"}});
    table.add(
        {{"torch:expandable_segments=true", true}, {"6.60 GiB"}, {"-20 %"}, {"99"}, {"0"}, {"3"}});
    return table.ruled(emphasis);
}

TEST_CASE("what fits a screen stays as it is", "[words]") {
    const std::string text = "a line\n" + sample() + "\n  name   12\n";

    CHECK(fit_screen(text, 200) == text);
}

TEST_CASE("columns that say the same in all rows become a line below the table", "[words]") {
    const std::size_t whole = widest(sample());

    const std::string text = fit_screen(sample(), whole - 1);

    CHECK(widest(text) < whole);
    CHECK(has(text, "in all rows: retries 0"));
    CHECK(has(text, " oom |"));
    CHECK_FALSE(has(text, "not shown"));
}

TEST_CASE("a narrower table leaves columns out and says which", "[words]") {
    const std::string text = fit_screen(sample(), 60);

    CHECK(widest(text) <= 60);
    CHECK(has(text, "torch:expandable_segments=true"));
    CHECK(has(text, "6.60 GiB"));
    CHECK(has(text, "not shown here: "));
    CHECK(has(text, "calls"));
    for (const std::size_t width : {40U, 50U, 70U, 90U})
        CHECK(widest(fit_screen(sample(), width)) <= width);
}

TEST_CASE("escape sequences take no room and survive", "[words]") {
    const std::string text = fit_screen(sample(Emphasis::terminal), 60);

    CHECK(has(text, "\x1b[1mtorch:expandable_segments=true\x1b[0m"));
}

TEST_CASE("a row of a list is broken before its last column", "[words]") {
    const std::string row = "  now   8.30 GiB   4.19 ms   " + std::string(50, 'x') + "\n";

    CHECK(fit_screen(row, 60) ==
          "  now   8.30 GiB   4.19 ms\n        " + std::string(50, 'x') + "\n");
    CHECK(widest(fit_screen(row, 40)) <= 40);
}

TEST_CASE("sentences are broken between words, lines to paste and JSON are not", "[words]") {
    CHECK(fit_screen("note: one two three four\n", 12) == "note: one\ntwo three\nfour\n");
    const std::string paste = "  export PYTORCH_ALLOC_CONF=expandable_segments:True\n";
    CHECK(fit_screen(paste, 20) == paste);
    const std::string json = "{\n  \"key\": \"a long long long value\"\n}\n";
    CHECK(fit_screen(json, 10) == json);
}

}  // namespace
}  // namespace tidemark
