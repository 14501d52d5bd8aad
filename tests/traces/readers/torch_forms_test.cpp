// Forms in which people have snapshots: whatever wraps one, or carries it, it says the same.
#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"
#include "tests/traces/readers/snapshots.h"
#include "traces/open.h"
#include "traces/readers/foreign_files.h"

namespace tidemark {
namespace {

using Catch::Contains;
using support::error_of;
using support::HandMade;
using support::must_read;
using support::ReadTrace;
using support::TestFolder;
using namespace std::string_literals;
namespace pickled = support::pickled;

constexpr std::uint64_t kBase = 0x7f0000000000U;

HandMade small_snapshot() {
    HandMade snapshot;
    snapshot.segment(kBase, 2_MiB, {support::block(kBase, 2_MiB, "inactive", 0)});
    snapshot.entry("segment_alloc", kBase, 2_MiB)
        .entry("alloc", kBase, 100)
        .entry("free_requested", kBase, 100)
        .entry("free_completed", kBase, 100);
    return snapshot;
}

// The pickled object without what begins and ends a file.
std::string object_of(const std::string& file) {
    return file.substr(2, file.size() - 3);
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t bits = 0;
        for (std::size_t j = 0; j < 3; ++j)
            bits =
                bits << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
        for (std::size_t j = 0; j < 4; ++j)
            text += i + j > bytes.size() ? '=' : kLetters[bits >> (18 - 6 * j) & 63U];
    }
    return text;
}

void check_small(const ReadTrace& trace) {
    REQUIRE(trace.count(EventKind::allocate) == 1);
    CHECK(trace.count(EventKind::free) == 1);
    CHECK(trace.count(EventKind::segment_alloc) == 1);
    CHECK(trace.events[1].address == kBase);
    CHECK(trace.events[1].size == 100);
}

TEST_CASE("a snapshot beside other things is found, and they are kept", "[torch][forms]") {
    const std::string snapshot = object_of(small_snapshot().file());
    const ReadTrace trace =
        must_read(pickled::file(pickled::dict({{"rank", pickled::number(3)},
                                               {"filename", pickled::string("a.py")},
                                               {"snapshot", snapshot}})));
    check_small(trace);
    CHECK(trace.info.metadata ==
          std::vector<std::pair<std::string, std::string>>{{"rank", "3"}, {"filename", "a.py"}});
}

TEST_CASE("several snapshots of one file are recordings of their own", "[torch][forms]") {
    const std::string snapshot = object_of(small_snapshot().file());
    const TestFolder folder;
    for (const std::string& bytes :
         {pickled::file(pickled::list({snapshot, snapshot})),
          pickled::file(pickled::dict({{"a", snapshot}, {"b", snapshot}})),
          pickled::file("}(K\x00"s + snapshot + "K\x01"s + snapshot + "u"s),
          small_snapshot().file() + small_snapshot().file()}) {
        const std::string path = folder.write("several.pickle", bytes);
        CHECK(count_recordings(path) == 2);
        CHECK_THAT(error_of(bytes), Contains("holds 2 snapshots"));
        CHECK(open_trace(path + "#1").has_value());
        CHECK(open_trace(path + "#2").error().what == "there is no snapshot 2: the file holds 2");
        CHECK(open_trace(path).error().hint.ends_with("#0 to " + path + "#1"));
    }
    CHECK(count_recordings(folder.write("one.pickle", small_snapshot().file())) == 1);
    CHECK(named_part("a#b").path == "a#b");
}

TEST_CASE("what follows a snapshot and can't be read is a warning", "[torch][forms]") {
    const ReadTrace trace = must_read(small_snapshot().file() + "\x80\x04\xff."s);
    check_small(trace);
    REQUIRE(trace.info.warnings.size() == 1);
    CHECK_THAT(trace.info.warnings[0], Contains("the bytes after the snapshots"));
    const std::string cut = small_snapshot().file();
    ReadOptions lenient;
    lenient.lenient = true;
    check_small(must_read(cut + cut.substr(0, cut.size() - 5)));
    check_small(must_read(cut + cut.substr(0, cut.size() - 5), lenient));
}

TEST_CASE("numbers may be texts", "[torch][forms]") {
    HandMade snapshot = small_snapshot();
    snapshot.entry("alloc", kBase + 1024, 7,
                   {{"size", pickled::string("2048")}, {"stream", pickled::string("0x10")}});
    const ReadTrace trace = must_read(snapshot.file());
    REQUIRE(trace.count(EventKind::allocate) == 2);
    CHECK(trace.events[3].size == 2048);
    CHECK(trace.info.streams == std::vector<std::uint64_t>{0, 0x10});
}

TEST_CASE("an archive of torch.save is read by its first member", "[torch][forms]") {
    const std::string name = "archive/data.pkl";
    std::string header("PK\x03\x04", 4);
    header += std::string(22, '\0') + static_cast<char>(name.size()) + std::string(3, '\0');
    check_small(must_read(header + name + small_snapshot().file()));
    header[8] = 8;
    CHECK_THAT(error_of(header + name + small_snapshot().file()), Contains("is a zip archive"));
}

TEST_CASE("a page of _memory_viz holds the pickle", "[torch][forms]") {
    const std::string page =
        "<!DOCTYPE html>\n<script>import {add_local_files} from "
        "\"MemoryViz.js\"\nconst local_files = [{\"name\": \"s.pickle\", "
        "\"base64\": \"";
    const std::string file = small_snapshot().file() + "\0\0"s;
    check_small(must_read(page + base64(file) + "\"}]\n</script>"));
    CHECK_THAT(error_of(page.substr(0, page.size() - 12)), Contains("no snapshot"));
    CHECK_THAT(error_of(page + base64(file).substr(0, 40)), Contains("ends here"));
}

TEST_CASE("a snapshot may be JSON", "[torch][forms]") {
    const std::string json = R"( {"segments": [{"device": 0, "address": 139637976727552,
        "total_size": 2097152, "stream": 0, "segment_type": "small", "segment_pool_id": [0, 0],
        "blocks": [{"address": 139637976727552, "size": 2097152, "state": "inactive"}]}],
        "device_traces": [[
        {"action": "segment_alloc", "addr": 139637976727552, "size": 2097152, "stream": 0},
        {"action": "alloc", "addr": 139637976727552, "size": 100, "stream": 0, "time_us": 1.7e15},
        {"action": "free", "addr": 139637976727552, "size": 100, "stream": 0}]]})";
    check_small(must_read(json));
    CHECK_THAT(error_of(json.substr(0, json.size() - 5)), Contains("JSON"));
    CHECK_THAT(error_of(R"({"device_traces": )" + std::string(100, '[')), Contains("too deep"));
}

TEST_CASE("frees that nobody completed were complete at once", "[torch][forms]") {
    HandMade snapshot;
    snapshot.segment(kBase, 2_MiB,
                     {support::block(kBase, 1_MiB, "active_pending_free", 100),
                      support::block(kBase + 1_MiB, 1_MiB, "inactive", 0)});
    snapshot.entry("segment_alloc", kBase, 2_MiB)
        .entry("alloc", kBase, 100)
        .entry("alloc", kBase + 1_MiB, 100)
        .entry("free_requested", kBase + 1_MiB, 100)
        .entry("free_requested", kBase, 100);
    const ReadTrace trace = must_read(snapshot.file());
    CHECK(trace.count(EventKind::free) == 1);
    CHECK(trace.count(EventKind::retire) == 1);
    REQUIRE_FALSE(trace.info.warnings.empty());
    CHECK_THAT(trace.info.warnings.front(), Contains("skip_actions"));
}

TEST_CASE("a free that a refused request has waited for is one that waited", "[torch][forms]") {
    using namespace support::pickled;
    const auto trace = [](std::int64_t completed_us) {
        HandMade snapshot;
        snapshot.segment(kBase, 2_MiB, {support::block(kBase, 2_MiB, "inactive", 0)});
        snapshot.entry("segment_alloc", kBase, 2_MiB)
            .entry("alloc", kBase, 100)
            .entry("free_requested", kBase, 100)
            .entry("free_completed", kBase, 100, {{"time_us", number(completed_us)}})
            .entry("oom", 0, 4_MiB, {{"time_us", number(completed_us + 1)}});
        return must_read(snapshot.file());
    };
    CHECK(trace(2'000'000).count(EventKind::retire) == 1);
    REQUIRE(trace(2'000'000).count(EventKind::finish) == 1);
    CHECK(trace(2'000'000).events[3].flags == kInVain);
    CHECK(trace(1'000'003).count(EventKind::free) == 1);
}

TEST_CASE("a refused request is for the pool of the allocation before it", "[torch][forms]") {
    using namespace support::pickled;
    HandMade snapshot;
    snapshot.segment(kBase, 2_MiB, {support::block(kBase, 2_MiB, "active_allocated", 100)},
                     {{"segment_pool_id", number(0) + number(1) + "\x86"}});
    snapshot.entry("segment_alloc", kBase, 2_MiB).entry("alloc", kBase, 100).entry("oom", 0, 4_MiB);
    const ReadTrace trace = must_read(snapshot.file());
    REQUIRE(trace.count(EventKind::out_of_memory) == 1);
    CHECK(trace.events[2].aux == trace.events[1].aux);
    CHECK(trace.events[2].aux != 0);
    // What was given back for it was given back for a request outside of the pool.
    snapshot.entry("segment_free", kBase + 8_MiB, 2_MiB).entry("oom", 0, 4_MiB);
    const ReadTrace other = must_read(snapshot.file());
    CHECK(other.events.at(other.events.size() - 3).kind == EventKind::out_of_memory);
    CHECK(other.events.at(other.events.size() - 3).aux == 0);
}

TEST_CASE("GPUs that a snapshot names and never used are left out", "[torch][forms]") {
    HandMade snapshot = small_snapshot();
    const std::string traces =
        pickled::list({pickled::list(snapshot.entries), pickled::list({}), pickled::list({})});
    snapshot.more.push_back({"device_traces", traces});
    CHECK(must_read(snapshot.file()).info.devices.size() == 1);
}

TEST_CASE("pinned memory of the host is a device behind the GPUs", "[torch][forms]") {
    HandMade snapshot = small_snapshot();
    HandMade host;
    host.entry("alloc", 0x1000, 4096).entry("free_requested", 0x1000, 4096);
    snapshot.more.push_back({"host_traces", pickled::list(host.entries)});
    const ReadTrace trace = must_read(snapshot.file());
    REQUIRE(trace.info.devices.size() == 2);
    CHECK(trace.info.devices[1].is_host());
    CHECK(trace.info.gpus() == 1);
    CHECK(trace.count(EventKind::allocate) == 2);
}

TEST_CASE("files that are no recordings are named, with what to do", "[forms]") {
    const auto said = [](const std::string& name, std::string_view text) {
        const auto error = explain_foreign_file(name, text);
        return error ? error->what + " | " + error->hint : std::string();
    };
    CHECK_THAT(said("a.nsys-rep", "\x01"), Contains("nsys export --type sqlite"));
    CHECK_THAT(said("a.txt", "|  PyTorch CUDA memory summary, device ID 0 |"),
               Contains("memory_summary"));
    CHECK_THAT(said("a.json", "[[0, 1, 2], [[1, 2]]]"), Contains("memory timeline"));
    CHECK_THAT(said("a.log", "2024 I bfc_allocator.cc:123] [bfc_allocator.cc: Bin (256)"),
               Contains("BFC"));
    CHECK(said("a.txt", "Dear diary,").empty());
}

TEST_CASE("the message of an out of memory says what can be known", "[forms]") {
    CHECK(out_of_memory_sentence(
              "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
              "total capacity of 79.15 GiB of which 500.00 MiB is free. Process 1 has 1.00 GiB "
              "memory in use. Including non-PyTorch memory, this process has 77.66 GiB memory in "
              "use. Of the allocated memory 75.90 GiB is allocated by PyTorch, and 1.20 GiB is "
              "reserved by PyTorch but unallocated.") ==
          "2.00 GiB requested, 75.9 GiB allocated, 1.20 GiB reserved and unused, 500 MiB free of "
          "79.2 GiB. Even in one piece, the free memory is 319 MiB too small: no allocator "
          "setting alone would have helped");
    CHECK_THAT(out_of_memory_sentence(
                   "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB "
                   "total capacity; 6.54 GiB already allocated; 12.31 MiB free; 6.60 GiB reserved "
                   "in total by PyTorch)"),
               Contains("20.0 MiB requested, 6.54 GiB allocated, 61.4 MiB reserved and unused, "
                        "12.3 MiB free of 7.93 GiB. Unused and free memory together were enough"));
    CHECK(out_of_memory_sentence("Tried to allocate").empty());
}

}  // namespace
}  // namespace tidemark
