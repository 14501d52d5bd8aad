// Files for other programs can be read by them, whatever the trace: each export of the corpus and
// of extremes is parsed.
#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "replay/report/export/chrome_trace.h"
#include "tests/support/extremes.h"
#include "tests/support/file_in_memory.h"
#include "tests/support/property.h"
#include "tests/support/test_folder.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"
#include "traces/writers/writer.h"

using namespace tidemark;
using nlohmann::json;

namespace {

std::string_view next_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
}

struct Chrome {
    std::string text;
    ChromeSummary summary;
};

Chrome chrome_of(const Trace& trace) {
    const support::TestFolder folder;
    const auto file = OutputFile::create(folder.file("written"));
    REQUIRE(file);
    const std::vector<Scenario> scenarios{{.policy = "best-fit"}};
    const auto summary = write_chrome_trace(trace, scenarios, {"1", "tidemark"}, **file);
    if (!summary)
        FAIL(to_text(summary.error()));
    REQUIRE((*file)->commit());
    return {folder.read("written"), *summary};
}

std::string written_by(const WriterInfo& writer, const Trace& trace) {
    const support::TestFolder folder;
    const auto file = OutputFile::create(folder.file("written"));
    REQUIRE(file);
    REQUIRE(writer.write(trace, **file));
    REQUIRE((*file)->commit());
    return folder.read("written");
}

// "HH:MM:SS.uuuuuu", between two commas.
bool is_time_of_day(std::string_view line) {
    constexpr std::string_view kForm = "00:00:00.000000";
    const std::string_view time = line.substr(line.find(',') + 1, kForm.size());
    return std::ranges::equal(time, kForm, [](char letter, char form) {
        return form == '0' ? letter >= '0' && letter <= '9' : letter == form;
    });
}

void check_exports(const Trace& trace) {
    CHECK(json::accept(chrome_of(trace).text));
    for (const WriterInfo& writer : all_writers()) {
        const std::string text = written_by(writer, trace);
        std::string_view rest = text;
        const bool is_csv = writer.extension == ".csv";
        if (is_csv)
            CHECK(next_line(rest) == "Thread,Time,Action,Pointer,Size,Stream");
        bool all_well = true;
        while (!rest.empty()) {
            const std::string_view line = next_line(rest);
            all_well =
                all_well && (is_csv ? std::ranges::count(line, ',') == 5 && is_time_of_day(line)
                                    : json::accept(line));
        }
        INFO(writer.name);
        CHECK(all_well);
    }
}

TraceEvent event(EventKind kind, Nanoseconds time, std::uint32_t aux) {
    TraceEvent event;
    event.kind = kind;
    event.time = time;
    event.aux = aux;
    return event;
}

}  // namespace

TEST_CASE("each export of the corpus can be parsed", "[export]") {
    // Under sanitizers every twentieth: they say the same of the next, at twenty times the cost.
    const std::size_t step = support::effort(100).cases == 100 ? 1 : 20;
    std::size_t traces = 0;
    std::size_t files = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(TIDEMARK_SOURCE_DIR "/traces/samples")) {
        if (!entry.is_regular_file() || !is_trace_file(entry.path().string()))
            continue;
        if (files++ % step != 0)
            continue;
        const auto trace = open_trace(entry.path().string());
        if (!trace)
            continue;  // a profile without events is explained, not opened
        INFO(entry.path());
        check_exports(**trace);
        ++traces;
    }
    CHECK(traces > 100 / step);
}

TEST_CASE("exports of extremes can be parsed", "[export]") {
    for (const support::Extreme& extreme : support::extremes()) {
        if (extreme.large)
            continue;
        INFO(extreme.name);
        const support::FileInMemory file(std::as_bytes(std::span(extreme.jsonl)));
        ReadOptions options;
        options.lenient = extreme.damaged;
        const auto trace = open_trace(file.path(), options);
        if (!trace)
            FAIL(to_text(trace.error()));
        check_exports(**trace);
    }
}

TEST_CASE("spans that end before they begin have no length, and are counted", "[export]") {
    TraceInfo info;
    const std::uint32_t step = info.strings.intern("step");
    const support::VectorTrace trace(
        {event(EventKind::range_begin, 270'578'903, step), event(EventKind::range_end, 2'000, step),
         event(EventKind::range_begin, -1'500, step), event(EventKind::range_end, INT64_MAX, step),
         event(EventKind::mark, -1, step)},
        info);

    const Chrome chrome = chrome_of(trace);
    const json parsed = json::parse(chrome.text, nullptr, false);
    REQUIRE(parsed.is_object());
    std::vector<json> spans;
    for (const json& entry : parsed.at("traceEvents"))
        if (entry.at("ph") == "X")
            spans.push_back(entry);
    REQUIRE(spans.size() == 2);
    CHECK(spans[0].at("dur") == 0);
    CHECK(spans[1].at("ts") == -1.5);
    CHECK(spans[1].at("dur").get<double>() == Approx(9.223372036854777e15));
    CHECK(chrome.summary.backwards == 1);
    check_exports(trace);
}
