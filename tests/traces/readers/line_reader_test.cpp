// LineReader: ends of lines, ends of files, and lines longer than the window.
#include "traces/readers/line_reader.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace tidemark {
namespace {

std::unique_ptr<ByteSource> source_of(std::string_view text) {
    auto source = open_memory(std::as_bytes(std::span(text.data(), text.size())), "text");
    REQUIRE(source);
    return std::move(*source);
}

const std::function<void(std::uint64_t)> kNoProgress;

std::vector<std::string> lines_of(std::string_view text) {
    const auto source = source_of(text);
    LineReader reader(*source, kNoProgress);
    std::vector<std::string> lines;
    std::string_view line;
    for (;;) {
        const Result<bool> more = reader.next(line);
        REQUIRE(more);
        if (!*more)
            return lines;
        lines.emplace_back(line);
        CHECK(reader.number() == lines.size());
    }
}

}  // namespace

TEST_CASE("lines end with either kind of newline or with the text", "[reader][lines]") {
    using Lines = std::vector<std::string>;
    CHECK(lines_of("") == Lines{});
    CHECK(lines_of("a") == Lines{"a"});
    CHECK(lines_of("a\n") == Lines{"a"});
    CHECK(lines_of("a\n\nb\r\n\r\nc") == Lines{"a", "", "b", "", "c"});
    CHECK(lines_of("\n") == Lines{""});
    CHECK(lines_of("a\rb\n") == Lines{"a\rb"});
}

TEST_CASE("a byte order mark is dropped once, at the begin only", "[reader][lines]") {
    using Lines = std::vector<std::string>;
    const std::string mark = "\xef\xbb\xbf";
    CHECK(lines_of(mark + "a\n" + mark + "b\n") == Lines{"a", mark + "b"});
    CHECK(lines_of(mark + "\nb") == Lines{"", "b"});
    CHECK(lines_of(mark) == Lines{});
    CHECK(lines_of(mark + mark) == Lines{mark});
}

TEST_CASE("lines longer than the window come whole", "[reader][lines]") {
    std::vector<std::string> lines;
    std::string text;
    for (const std::size_t length : {3'000'000UL, 1UL, 1'048'576UL, 0UL, 5'000'000UL}) {
        lines.emplace_back(length, static_cast<char>('a' + lines.size()));
        text += lines.back() + "\n";
    }

    CHECK(lines_of(text) == lines);
}

TEST_CASE("a line without end is refused", "[reader][lines]") {
    const std::string text = "first\n" + std::string(40 << 20, 'x');
    const auto source = source_of(text);
    LineReader reader(*source, kNoProgress);
    std::string_view line;
    REQUIRE(reader.next(line));

    const Result<bool> more = reader.next(line);

    REQUIRE_FALSE(more);
    CHECK(more.error().where == "text:2");
    CHECK(more.error().code == ErrorCode::bad_input);
}

TEST_CASE("progress is told while lines are read", "[reader][lines]") {
    const std::string text(3 << 20, '\n');
    const auto source = source_of(text);
    std::vector<std::uint64_t> reports;
    const std::function<void(std::uint64_t)> progress = [&reports](std::uint64_t done) {
        reports.push_back(done);
    };
    LineReader reader(*source, progress);

    std::string_view line;
    while (*reader.next(line)) {
    }

    CHECK(reports.size() > 2);
    CHECK(reports.back() == text.size());
    CHECK(std::is_sorted(reports.begin(), reports.end()));
}

TEST_CASE("unprintable text is made printable and short", "[reader][lines]") {
    CHECK(excerpt("a\x01\xff z") == "a\\x01\\xff z");
    CHECK(excerpt(std::string(50, 'y')) == std::string(40, 'y') + "...");
}

}  // namespace tidemark
