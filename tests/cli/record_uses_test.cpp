// tidemark record --kernels, --ranges: what launches use, and what a program says of itself, on a
// fake driver whose calls are reported as CUPTI reports them (tests/cli/recorded).
#include <algorithm>
#include <map>
#include <utility>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/base/text.h"
#include "tests/cli/command_line.h"
#include "tests/cli/recorded_events.h"

using namespace tidemark;
using live::RecordKind;
using support::contains;
using support::read_events;
using support::RecordedEvent;
using support::RecordFolder;

namespace {

// Uses, one launch after another: "axpy on 0: 1 MiB rw, 2 MiB rw?" of blocks that live, by their
// sizes; "?" where an argument perhaps means it. "unknown" where nothing is known.
std::vector<std::string> use_lines(const std::vector<RecordedEvent>& events) {
    std::map<std::uint64_t, std::uint64_t> sizes;
    std::vector<std::string> result;
    std::uint64_t launch = 0;
    for (const RecordedEvent& each : events) {
        const live::Record& record = each.record;
        if (record.kind == RecordKind::allocate)
            sizes[record.address] = record.size;
        else if (record.kind == RecordKind::free)
            sizes.erase(record.address);
        if (record.kind != RecordKind::use)
            continue;
        if (std::exchange(launch, record.extra) != record.extra)
            result.push_back(fmt::format("{} on {}:", each.tag, each.stream));
        else
            result.back() += ",";
        if (record.address == 0) {
            result.back() += record.size == live::kUsePerhaps ? " unknown" : " nothing";
            continue;
        }
        const auto block = sizes.find(record.address);
        result.back() +=
            fmt::format(" {} {}{}{}", block == sizes.end() ? "gone" : format_bytes(block->second),
                        (record.size & live::kUseReads) != 0 ? "r" : "",
                        (record.size & live::kUseWrites) != 0 ? "w" : "",
                        (record.size & live::kUsePerhaps) != 0 ? "?" : "");
    }
    return result;
}

// Ranges and marks: "+step", "-step", "!mark".
std::vector<std::string> range_lines(const std::vector<RecordedEvent>& events) {
    const std::map<RecordKind, std::string> signs{
        {RecordKind::range_begin, "+"}, {RecordKind::range_end, "-"}, {RecordKind::mark, "!"}};
    std::vector<std::string> result;
    for (const RecordedEvent& each : events) {
        if (const auto sign = signs.find(each.record.kind);
            sign != signs.end() && !contains(each.text, "context"))
            result.push_back(sign->second + each.text);
    }
    return result;
}

}  // namespace

TEST_CASE("record --kernels knows what a kernel's arguments point to", "[cli][record]") {
    const RecordFolder folder;
    const support::Said said = folder.record({"kernels"}, {"--kernels", "--json"});
    INFO(said.err);
    REQUIRE(said.code == 0);
    const std::vector<std::string> lines = use_lines(read_events(folder.recording));
    REQUIRE(lines.size() == 7);
    CHECK(lines[0] == "axpy on 0: 1.00 MiB rw, 2.00 MiB rw");
    CHECK(lines[1] == "axpy on 0: 1.00 MiB rw");
    CHECK(lines[2] == "axpy on 0: nothing");  // freed before, and no address
    CHECK(lines[3] == "own::structure<Params> on 0: 2.00 MiB rw?, 1.00 MiB rw?");
    CHECK(lines[4] == "none on 0: nothing");
    CHECK(lines[5].ends_with(": 2.00 MiB rw, 1.00 MiB rw"));
    CHECK_FALSE(contains(lines[5], "on 0:"));
    CHECK(lines[6] == "axpy on 2: 2.00 MiB rw");

    const auto process = nlohmann::json::parse(said.out)["processes"][0];
    const auto info = support::tidemark_json({"info", folder.recording});
    for (const auto& counts : {process, info}) {
        CHECK(counts["launches"] == 7);
        CHECK(counts["unknown_launches"] == 0);
        CHECK(counts["uses"] == 8);
        CHECK(counts["possible_uses"] == 2);
    }
    CHECK(info["unmatched"] == 0);
    const auto spilled = support::tidemark_json(
        {"replay", folder.recording, "--gpu-memory", "100%", "--spill", "lru"});
    CHECK(spilled["kernels"] == 5);  // those that use something
    CHECK(spilled["warnings"].empty());

    const std::string chart = folder.file("run.json");
    REQUIRE(support::tidemark({"export", folder.recording, "-o", chart}).code == 0);
    std::map<std::uint64_t, nlohmann::json> launches;
    const auto trace = nlohmann::json::parse(support::read_file(chart));
    for (const auto& entry : trace["traceEvents"]) {
        if (entry["ph"] == "X" && entry["args"].contains("blocks"))
            launches[entry["args"]["launch"]] = entry;
    }
    REQUIRE(launches.size() == 7);
    CHECK(launches[4]["name"] == "own::structure<Params>");
    CHECK(launches[4]["args"]["blocks"] == 2);
    CHECK(launches[4]["args"]["possible"] == 2);
    CHECK(launches[6]["tid"] != launches[4]["tid"]);
    CHECK(launches[1]["ts"].get<double>() + launches[1]["dur"].get<double>() ==
          Approx(launches[2]["ts"].get<double>()));

    CHECK(folder.record({"kernels"}).code == 0);  // without the option
    CHECK(use_lines(read_events(folder.recording)).empty());
}

TEST_CASE("record --kernels forgets kernels whose code is unloaded", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"reload"}, {"--kernels"}).code == 0);
    CHECK(use_lines(read_events(folder.recording)) ==
          std::vector<std::string>{"scalar on 0: 1.00 MiB rw",
                                   "own::structure<Params> on 0: 1.00 MiB rw?"});
}

TEST_CASE("record --kernels knows what copies and fills read and write", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"copies"}, {"--kernels"}).code == 0);
    CHECK(use_lines(read_events(folder.recording)) ==
          std::vector<std::string>{
              "cuMemcpyAsync on 0: 1.00 MiB r, 2.00 MiB rw",  // half of it stays
              "cuMemcpyAsync on 0: 3.00 MiB r, 1.00 MiB w", "cuMemsetD8Async on 0: 2.00 MiB w",
              "cuMemcpyHtoD on 2: 1.00 MiB rw", "cuMemcpy2D on 0: 3.00 MiB r, 32.0 KiB rw"});
}

TEST_CASE("record --kernels takes copies in a batch as one launch", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"batches"}, {"--kernels"}).code == 0);
    CHECK(use_lines(read_events(folder.recording)) ==
          std::vector<std::string>{"cuMemcpyBatchAsync on 0: 1.00 MiB r, 2.00 MiB rw, 3.00 MiB w",
                                   "cuMemcpy3DBatchAsync on 0: 1.00 MiB r, 32.0 KiB rw"});
}

TEST_CASE("record --kernels finds the memory that is mapped at an address", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"mapped"}, {"--kernels"}).code == 0);
    CHECK(use_lines(read_events(folder.recording)) ==
          std::vector<std::string>{"axpy on 0: 4.00 MiB rw", "scalar on 0: nothing",
                                   "axpy on 0: nothing"});
}

TEST_CASE("record --kernels says which launches it knows nothing of", "[cli][record]") {
    const RecordFolder folder;
    const support::Said said = folder.record({"graphs"}, {"--kernels"});
    const std::vector<std::string> lines = use_lines(read_events(folder.recording));
    REQUIRE(lines.size() == 2);  // what is captured doesn't run
    CHECK(lines[0].starts_with("cuGraphLaunch on "));
    CHECK(lines[0].ends_with(": unknown"));
    CHECK(contains(said.err, "2 launches of graphs, or of kernels whose arguments"));
}

TEST_CASE("record --kernels takes launches of several threads", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"two_threads"}, {"--kernels"}).code == 0);
    const std::vector<std::string> lines = use_lines(read_events(folder.recording));
    CHECK(std::ranges::count(lines, "axpy on 0: 1.00 MiB rw") == 1000);
    CHECK(std::ranges::count(lines, "axpy on 0: 2.00 MiB rw") == 1000);
    CHECK(lines.size() == 2000);
}

TEST_CASE("record --ranges keeps what a program says by NVTX", "[cli][record]") {
    RecordFolder folder;
    const support::Said said = folder.record({"ranges"}, {"--ranges"});
    INFO(said.err);
    REQUIRE(said.code == 0);
    CHECK(range_lines(read_events(folder.recording)) ==
          std::vector<std::string>{"+before CUDA", "+step", "!a mark", "-step", "-before CUDA",
                                   "+outer", "+NCCL: all reduce", "-outer", "-NCCL: all reduce",
                                   "+started", "+of a thread", "-started", "-of a thread",
                                   "+never ends", "+neither"});
    const auto info = support::tidemark_json({"info", folder.recording});
    CHECK(info["range_names"] == 8);
    CHECK(support::tidemark({"replay", folder.recording, "-p", "extent"}).code == 0);

    CHECK(folder.record({"ranges"}).code == 0);  // without the option
    CHECK(range_lines(read_events(folder.recording)).empty());

    folder.here.environment.emplace_back("NVTX_INJECTION64_PATH", "/other/tool.so");
    CHECK(folder.record({"ranges"}, {"--ranges"}).code == 5);
}
