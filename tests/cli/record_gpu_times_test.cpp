// tidemark record --kernels: when the GPU ran what was launched, on a fake CUPTI whose records come
// late, in buffers of three, from the last to the first
// (tests/cli/recorded/reported_activities.cpp).
#include <csignal>
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "tests/cli/command_line.h"
#include "tests/cli/recorded_events.h"

using namespace tidemark;
using live::RecordKind;
using support::contains;
using support::read_events;
using support::RecordedEvent;
using support::RecordFolder;

namespace {

constexpr std::uint64_t kLength = 2000;  // ns, of everything that the fake GPU runs

std::vector<RecordedEvent> executions(const std::vector<RecordedEvent>& events) {
    std::vector<RecordedEvent> result;
    std::ranges::copy_if(events, std::back_inserter(result), [](const RecordedEvent& each) {
        return each.record.kind == RecordKind::execution;
    });
    return result;
}

// By launch: the event that it was recorded with.
std::map<std::uint64_t, RecordedEvent> launches(const std::vector<RecordedEvent>& events) {
    std::map<std::uint64_t, RecordedEvent> result;
    for (const RecordedEvent& each : events)
        if (each.record.kind == RecordKind::use)
            result.emplace(each.record.extra, each);
    return result;
}

// Each is one of a launch that came before it, and has its name and its stream; it lies on the
// recording's clock, and the GPU ran one after the other.
void check(const std::vector<RecordedEvent>& events) {
    const std::map<std::uint64_t, RecordedEvent> launched = launches(events);
    std::map<std::uint64_t, std::uint64_t> begins;
    for (const RecordedEvent& each : executions(events)) {
        const auto launch = launched.find(each.record.extra);
        REQUIRE(launch != launched.end());
        CHECK(launch->second.record.sequence < each.record.sequence);
        CHECK(launch->second.tag == each.tag);
        CHECK(launch->second.stream == each.stream);
        CHECK(each.record.size == kLength);
        CHECK(each.record.address > 0);
        CHECK(each.record.address < events.back().record.time + 1'000'000'000);
        CHECK(begins.emplace(each.record.extra, each.record.address).second);
    }
    std::uint64_t last = 0;
    for (const auto& [launch, begin] : begins) {
        CHECK(begin >= last);  // on one GPU that runs in the order of calls
        last = begin + kLength / 2;
    }
}

}  // namespace

TEST_CASE("record --kernels has when the GPU ran each launch", "[cli][record]") {
    const RecordFolder folder;
    const support::Said said = folder.record({"kernels"}, {"--kernels", "--json"});
    INFO(said.err);
    REQUIRE(said.code == 0);
    const std::vector<RecordedEvent> events = read_events(folder.recording);
    CHECK(executions(events).size() == 7);
    check(events);
    const auto process = nlohmann::json::parse(said.out)["processes"][0];
    CHECK(process["untimed"].is_null());
    const auto info = support::tidemark_json({"info", folder.recording});
    for (const auto& counts : {process, info}) {
        CHECK(counts["launches"] == 7);
        CHECK(counts["executions"] == 7);
        CHECK(counts["execution_ns"] == 7 * kLength);
    }
    CHECK(info["metadata"]["gpu_times"] == "recorded");
    CHECK(contains(support::tidemark({"info", folder.recording}).out, "their time, summed"));

    const std::string chart = folder.file("run.json");
    REQUIRE(support::tidemark({"export", folder.recording, "-o", chart}).code == 0);
    std::set<std::string> threads;
    std::map<std::uint64_t, nlohmann::json> slices;
    const auto trace = nlohmann::json::parse(support::read_file(chart));
    for (const auto& entry : trace["traceEvents"]) {
        if (entry["ph"] == "M" && entry["name"] == "thread_name")
            threads.insert(entry["args"]["name"]);
        if (entry["ph"] == "X" && entry["args"].contains("launch") &&
            !entry["args"].contains("blocks"))
            slices[entry["args"]["launch"]] = entry;
    }
    CHECK(threads.count("executions of stream 0") == 1);
    REQUIRE(slices.size() == 7);
    CHECK(slices[4]["name"] == "own::structure<Params>");
    CHECK(slices[4]["dur"].get<double>() == 2.0);
    CHECK(slices[1]["ts"].get<double>() + 2.0 <= slices[2]["ts"].get<double>() + 1.0);

    // As a trace of its own it says the same, and there is nothing to compare with.
    const std::string imported = folder.file("run.tmk");
    REQUIRE(support::tidemark({"import", folder.recording, "-o", imported}).code == 0);
    CHECK(support::tidemark_json({"info", imported})["execution_ns"] == 7 * kLength);
    CHECK(support::tidemark({"replay", imported, "-p", "extent"}).code == 0);
    CHECK(support::tidemark({"verify", imported}).code != 0);

    CHECK(folder.record({"kernels"}).code == 0);  // without the option
    CHECK(executions(read_events(folder.recording)).empty());
}

TEST_CASE("record --kernels has the kernels of a graph, and copies and fills", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"graphs"}, {"--kernels"}).code == 0);
    const std::vector<RecordedEvent> events = read_events(folder.recording);
    std::map<std::uint64_t, std::vector<std::string>> names;
    for (const RecordedEvent& each : executions(events)) {
        names[each.record.extra].push_back(each.tag);
        CHECK(launches(events).count(each.record.extra) == 1);
    }
    REQUIRE(names.size() == 2);  // what was captured didn't run
    for (auto& [launch, kernels] : names) {
        std::ranges::sort(kernels);
        CHECK(kernels == std::vector<std::string>{"first", "second"});
    }

    REQUIRE(folder.record({"copies"}, {"--kernels"}).code == 0);
    CHECK(executions(read_events(folder.recording)).size() == 3);  // that the fake GPU does
    check(read_events(folder.recording));
}

TEST_CASE("record --kernels joins times with the launches of several threads", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"two_threads"}, {"--kernels"}).code == 0);
    const std::vector<RecordedEvent> events = read_events(folder.recording);
    CHECK(executions(events).size() == 2000);
    std::set<std::uint64_t> timed;
    for (const RecordedEvent& each : executions(events))
        timed.insert(each.record.extra);
    CHECK(timed.size() == 2000);
    CHECK(launches(events).size() == 2000);
}

TEST_CASE("record --kernels keeps launches whose times never come", "[cli][record]") {
    RecordFolder folder;
    // Two buffers were full; what is in the third is gone.
    CHECK(folder.record({"kernels", "kill"}, {"--kernels"}).code == 128 + SIGKILL);
    std::vector<RecordedEvent> events = read_events(folder.recording);
    CHECK(launches(events).size() == 7);
    CHECK(executions(events).size() >= 5);
    CHECK(executions(events).size() <= 6);
    check(events);

    folder.here.environment.emplace_back("TIDEMARK_TEST_DROPS", "1");
    REQUIRE(folder.record({"kernels"}, {"--kernels"}).code == 0);
    events = read_events(folder.recording);
    CHECK(launches(events).size() == 7);
    CHECK(executions(events).size() == 6);
    CHECK(std::ranges::any_of(events, [](const RecordedEvent& each) {
        return contains(each.text, "no room for the GPU times of 1 launches");
    }));
}

TEST_CASE("record --kernels says why launches have no times of the GPU", "[cli][record]") {
    RecordFolder folder;
    REQUIRE(folder.record({"kernels"}, {"--kernels", "--no-gpu-times"}).code == 0);
    CHECK(executions(read_events(folder.recording)).empty());
    CHECK(launches(read_events(folder.recording)).size() == 7);

    folder.here.environment.emplace_back("TIDEMARK_TEST_NO_ACTIVITIES", "1");
    const support::Said said = folder.record({"kernels"}, {"--kernels"});
    CHECK(said.code == 0);
    CHECK(contains(said.err, "have the times of their calls, not the GPU's"));
    CHECK(contains(said.err, "error 17"));
    CHECK(executions(read_events(folder.recording)).empty());
    CHECK(launches(read_events(folder.recording)).size() == 7);
    CHECK(support::tidemark_json({"info", folder.recording})["metadata"]["gpu_times"] ==
          "not recorded");
}
