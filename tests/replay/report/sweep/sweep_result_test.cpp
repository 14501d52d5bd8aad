// A sweep read back from its units: what is best where, what is on the front, and hostile lines.
#include "replay/report/sweep/sweep_result.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/base/random.h"
#include "replay/report/sweep/unit_line.h"
#include "tests/support/text.h"

namespace tidemark {
namespace {

// A unit of policy torch with two options; memory in hundredths of what was requested.
std::string unit(int number, const std::string& split, const std::string& expandable, int ratio,
                 int driver, int refused = 0, const std::string& trace = "1") {
    return fmt::format(
        R"({{"unit":"{:016x}","version":"0","trace_hash":"{}","policy":"torch",)"
        R"("spec":"torch:a={},b={}","options":{{"a":"{}","b":"{}"}},"profile_hash":"9",)"
        R"("memory_bytes":85899345920,"limit_bytes":0,"scale":1.0,"overhead_ratio":{},)"
        R"("driver_ns":{},"out_of_memory":{},"peak_reserved_bytes":7,"error":null}})"
        "\n",
        number, trace, split, expandable, split, expandable, ratio / 100.0, driver, refused);
}

std::string four_settings() {
    return unit(1, "128", "no", 110, 50) + unit(2, "64", "no", 105, 70) +
           unit(3, "128", "yes", 101, 90) + unit(4, "64", "yes", 102, 95);
}

TEST_CASE("a sweep's settings stand by rank, and the front is what nothing beats", "[sweep]") {
    const SweepResult sweep = read_sweep(four_settings(), "all.jsonl").value();
    REQUIRE(sweep.settings.size() == 4);
    CHECK(sweep.settings[0].policy == "torch:a=128,b=yes");
    CHECK(sweep.settings[3].policy == "torch:a=128,b=no");
    CHECK(sweep.front == std::vector<bool>{true, false, true, true});
    CHECK(sweep.units == 4);
    CHECK(sweep.traces == 1);
}

TEST_CASE("a sweep is the same whatever the order of its lines, and a unit counts once",
          "[sweep]") {
    const std::string backwards = unit(4, "64", "yes", 102, 95) + unit(3, "128", "yes", 101, 90) +
                                  unit(2, "64", "no", 105, 70) + unit(1, "128", "no", 110, 50) +
                                  unit(1, "128", "no", 110, 50);
    const SweepResult one = read_sweep(four_settings(), "a").value();
    const SweepResult other = read_sweep(backwards, "a").value();
    const SweepView view{.title = "a",
                         .map = make_heat_map(one.settings, one.axes, "", "").value()};
    CHECK(sweep_page(one, view, {}) == sweep_page(other, view, {}));
}

TEST_CASE("a heat map has numbers in order, and in each cell the best setting of both values",
          "[sweep]") {
    const std::string more = four_settings() + unit(5, "1024", "no", 120, 1) +
                             unit(6, "64", "no", 300, 1, 0, "2") + unit(7, "64", "yes", 1, 1, 3);
    const SweepResult sweep = read_sweep(more, "all.jsonl").value();
    const HeatMap map = make_heat_map(sweep.settings, sweep.axes, "", "").value();
    CHECK(map.across.name == "a");
    CHECK(map.across.values == std::vector<std::string>{"64", "128", "1024"});
    CHECK(map.down.values == std::vector<std::string>{"no", "yes"});
    REQUIRE(map.cells.size() == 6);
    CHECK(sweep.settings[*map.cells[1]].policy == "torch:a=128,b=no");
    CHECK_FALSE(map.cells[5]);
    CHECK(sweep.settings[*map.cells[3]].score.out_of_memory == 3);

    const HeatMap turned = make_heat_map(sweep.settings, sweep.axes, "b", "").value();
    CHECK(turned.across.name == "b");
    CHECK(turned.down.name == "a");
    const auto unknown = make_heat_map(sweep.settings, sweep.axes, "aa", "");
    CHECK(unknown.error().hint == "did you mean 'a'?");
}

TEST_CASE("a line that doesn't match its checksum is no unit", "[sweep]") {
    const Error why{ErrorCode::bad_option, "no such policy", "--policy", {}};
    const std::string line = unit_line({"0123456789abcdef", "1", 7}, SweepSetting{.policy = "x"},
                                       Result<Run>(tl::make_unexpected(why)));
    const auto read = read_unit_line(line, "0123456789abcdef");
    REQUIRE(read);
    CHECK(read->has_checksum);
    CHECK(read->error == "--policy: no such policy");
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
        std::string changed = line;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        const auto other = read_unit_line(changed, "0123456789abcdef");
        CHECK((!other || !other->has_checksum));
    }
    CHECK(read_sweep(four_settings(), "all.jsonl").value().unchecked == 4);
}

TEST_CASE("one setting has no heat map, and still a page", "[sweep]") {
    const SweepResult sweep = read_sweep(unit(1, "1", "no", 110, 50), "one").value();
    const SweepView view{.title = "one",
                         .map = make_heat_map(sweep.settings, sweep.axes, "", "").value()};
    CHECK(view.map.cells.empty());
    CHECK(support::count(sweep_page(sweep, view, {}), "Of 1 setting on 1 trace") > 0);
}

TEST_CASE("texts of a sweep are nobody's markup", "[sweep]") {
    const SweepResult sweep =
        read_sweep(unit(1, "<script>", "no", 110, 5) + unit(2, "<b>", "no", 110, 5), "x").value();
    const SweepView view{.title = "<i>",
                         .map = make_heat_map(sweep.settings, sweep.axes, "", "").value()};
    const std::string page = sweep_page(sweep, view, {.version = "1", .command = "<u>"});
    for (const char* markup : {"<script>", "<i>", "<u>", "<b>"})
        CHECK(support::count(page, markup) == 0);
    CHECK(support::count(page, "&lt;script&gt;") > 0);
}

TEST_CASE("lines that are no units are refused with their number", "[sweep]") {
    const auto refusal = [](const std::string& lines) {
        const auto read = read_sweep(lines, "all.jsonl");
        REQUIRE_FALSE(read);
        return read.error().where + ": " + read.error().what;
    };
    CHECK(refusal("") == "all.jsonl: no unit of a sweep");
    CHECK(refusal(four_settings() + "{}\n") == "all.jsonl:5: is not a unit of a sweep");
    CHECK(refusal("[1]\n") == "all.jsonl:1: is not a unit of a sweep");
    CHECK(refusal("{\"unit\":\"a\"}\n") == "all.jsonl:1: does not have the figures of a unit");
    CHECK(refusal(four_settings().substr(0, 500)).starts_with("all.jsonl:2: "));

    Random random(1);
    for (int i = 0; i < 2000; ++i) {
        std::string lines = four_settings();
        for (std::uint64_t k = 0; k <= random.below(3); ++k)
            lines[random.below(lines.size())] = static_cast<char>(random.below(256));
        if (const auto read = read_sweep(lines, "x")) {
            const auto map = make_heat_map(read->settings, read->axes, "", "");
            REQUIRE(map);
            CHECK_FALSE(sweep_page(*read, {.title = "x", .map = *map}, {}).empty());
        }
    }
}

}  // namespace
}  // namespace tidemark
