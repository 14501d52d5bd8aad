// Pictures of timelines: areas, axes, widths.
#include "replay/report/charts/chart.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/report/forms/table.h"

using namespace tidemark;

namespace {

// Half of the time 1 GiB of 2 GiB is allocated, then nothing of 4 GiB.
Timeline steps() {
    Timeline timeline;
    timeline.events_per_bucket = 10;
    for (int i = 1; i <= 100; ++i) {
        TimelineBucket bucket;
        bucket.time = i * 10'000'000;
        bucket.reserved_max = i <= 50 ? 2_GiB : 4_GiB;
        bucket.allocated_max = i <= 50 ? 1_GiB : 0;
        timeline.buckets.push_back(bucket);
    }
    return timeline;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE("a picture shows both areas at their height", "[report]") {
    const auto lines = lines_of(draw(steps(), {.width = 51, .height = 8}));

    REQUIRE(lines.size() == 11);
    CHECK(lines[0] == "    4 GiB |" + std::string(20, ' ') + std::string(20, '.'));
    CHECK(lines[3] == "          |" + std::string(20, ' ') + std::string(20, '.'));
    CHECK(lines[4] == "    2 GiB |" + std::string(40, '.'));
    CHECK(lines[6] == "    1 GiB |" + std::string(20, '#') + std::string(20, '.'));
    CHECK(lines[8] == "      0 B +" + std::string(40, '-'));
    CHECK(lines[9].ends_with("1.00 s"));
    CHECK(lines[9].find("500 ms") != std::string::npos);
    CHECK(lines[10].find(". reserved   # allocated") != std::string::npos);
}

TEST_CASE("a picture is never wider than asked, in any style", "[report]") {
    for (const unsigned width : {40U, 41U, 80U, 200U}) {
        for (const bool unicode : {false, true}) {
            const std::string text = draw(steps(), {.width = width, .unicode = unicode});
            for (const std::string& line : lines_of(text))
                CHECK(text_width(line) <= width);
            CHECK(lines_of(text).size() == 15);
        }
    }
}

TEST_CASE("a picture without Unicode is ASCII, without colour has no escapes", "[report]") {
    const std::string plain = draw(steps(), {.width = 60});
    const std::string blocks = draw(steps(), {.width = 60, .unicode = true});
    const std::string colours = draw(steps(), {.width = 60, .unicode = true, .colour = true});

    CHECK(std::all_of(plain.begin(), plain.end(), [](char c) { return c > 0; }));
    CHECK(blocks.find('\x1b') == std::string::npos);
    CHECK(blocks.find("█") != std::string::npos);
    CHECK(colours.find("\x1b[0;") != std::string::npos);
    auto lines = lines_of(colours);
    lines.pop_back();  // the legend
    for (const std::string& line : lines)
        CHECK((line.find('\x1b') == std::string::npos || line.ends_with("\x1b[0m")));
}

TEST_CASE("a long silence takes its share of the width", "[report]") {
    Timeline timeline;
    for (const Nanoseconds time : {1, 2, 3, 1000}) {
        TimelineBucket bucket;
        bucket.time = time;
        bucket.reserved_max = 1_GiB;
        bucket.allocated_max = time == 1000 ? 0 : 1_GiB;
        timeline.buckets.push_back(bucket);
    }
    const auto lines = lines_of(draw(timeline, {.width = 51, .height = 2}));

    CHECK(std::count(lines[1].begin(), lines[1].end(), '#') == 1);
    CHECK(std::count(lines[1].begin(), lines[1].end(), '.') == 39);
}

TEST_CASE("without times the axis counts events", "[report]") {
    Timeline timeline = steps();
    for (TimelineBucket& bucket : timeline.buckets)
        bucket.time = 0;
    const auto lines = lines_of(draw(timeline, {.width = 51, .height = 8}));

    CHECK(lines[9].find("event 0") != std::string::npos);
    CHECK(lines[9].ends_with("1,000"));
    CHECK(std::count(lines[6].begin(), lines[6].end(), '#') == 20);
}

TEST_CASE("there is no picture of nothing", "[report]") {
    CHECK(draw({}, {}).empty());
    CHECK(draw(steps(), {.height = 0}).empty());
}

TEST_CASE("sizes at the end of the scale are drawn", "[report]") {
    Timeline timeline = steps();
    timeline.buckets[99].reserved_max = ~Bytes{0};
    timeline.buckets[0].reserved_max = 1;

    CHECK(lines_of(draw(timeline, {.width = 80})).size() == 15);
}
