// Recordings through the C interface: what is written, what a killed program leaves, and children.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/c_api/tidemark.h"
#include "tests/support/live_child.h"
#include "tests/support/live_folder.h"

namespace {

using tidemark::support::LiveChild;
using tidemark::support::LiveFolder;

tm_recorder* must_open(const std::string& path) {
    TM_INIT(tm_recorder_options, options);
    options.name = "tester";
    options.path = path.c_str();
    options.devices = 2;
    const std::array<const char*, 2> names{"a", "b"};
    const std::array<std::uint64_t, 2> capacities{1000, 0};
    options.device_names = names.data();
    options.device_capacities = capacities.data();
    tm_recorder* recorder = nullptr;
    REQUIRE(tm_recorder_open(&options, &recorder) == TM_OK);
    return recorder;
}

tm_status record(tm_recorder* recorder, unsigned kind, std::uint64_t address, std::uint64_t size,
                 std::uint32_t tag = 0, std::uint32_t stack = 0, unsigned device = 0) {
    TM_INIT(tm_event, event);
    event.kind = static_cast<std::uint16_t>(kind);
    event.device = static_cast<std::uint16_t>(device);
    event.address = address;
    event.size = size;
    event.extra = size;
    event.tag = tag;
    event.stack = stack;
    return tm_recorder_event(recorder, &event);
}

struct Read {
    explicit Read(const std::string& path) {
        REQUIRE(tm_trace_open(path.c_str(), nullptr, &trace) == TM_OK);
        columns.struct_size = sizeof columns;
        REQUIRE(tm_trace_columns(trace, &columns) == TM_OK);
    }

    Read(const Read&) = delete;
    Read& operator=(const Read&) = delete;

    ~Read() { tm_trace_close(trace); }

    std::vector<std::string> kinds() const {
        std::vector<std::string> all;
        for (std::uint64_t i = 0; i < columns.count; ++i)
            all.emplace_back(tm_event_kind(columns.kind[i]));
        return all;
    }

    std::string string(std::uint32_t number) const {
        const char* text = nullptr;
        std::size_t length = 0;
        REQUIRE(tm_trace_string(trace, number, &text, &length) == TM_OK);
        return {text, length};
    }

    tm_trace* trace = nullptr;
    tm_columns columns{};
};

}  // namespace

TEST_CASE("what a program of C records is read as a trace", "[c_api]") {
    const LiveFolder folder;
    const std::string path = folder.file("run.tml");
    tm_recorder* const recorder = must_open(path);
    CHECK(tm_recorder_path(recorder) == path);
    CHECK(std::string(tm_recorder_shared_path(recorder)).find(".live") != std::string::npos);
    tm_recorder* second = nullptr;
    CHECK(tm_recorder_open(nullptr, &second) == TM_UNSUPPORTED);
    const std::uint32_t tag = tm_recorder_string(recorder, "weights");
    CHECK(tag == tm_recorder_string(recorder, "weights"));
    const tm_recorded_frame frame{"build", "model.py", 12};
    const std::uint32_t stack = tm_recorder_stack(recorder, &frame, 1);
    REQUIRE((tag != 0 && stack != 0));
    CHECK(tm_recorder_setting(recorder, "allocator", "torch", 0) == TM_OK);
    CHECK(record(recorder, TM_EVENT_LIVE_SEGMENT, 1 << 21, 1 << 21) == TM_OK);
    CHECK(tm_recorder_range(recorder, "step", 0) == TM_OK);
    const std::uint32_t operation = tm_recorder_string(recorder, "aten::empty (128)");
    CHECK(record(recorder, TM_EVENT_OPERATION, 0, 0, operation) == TM_OK);
    CHECK(record(recorder, TM_EVENT_ALLOCATE, 1 << 21, 512, tag, stack) == TM_OK);
    CHECK(record(recorder, TM_EVENT_USE, 1 << 21, 3, tag) == TM_OK);
    CHECK(record(recorder, TM_EVENT_FREE_REQUESTED, 1 << 21, 512) == TM_OK);
    CHECK(tm_recorder_range(recorder, "step", 1) == TM_OK);
    CHECK(record(recorder, TM_EVENT_FREE_COMPLETED, 1 << 21, 512) == TM_OK);
    CHECK(tm_recorder_mark(recorder, "here") == TM_OK);
    CHECK(record(recorder, 16, 0, 0) == TM_BAD_OPTION);
    CHECK(record(recorder, 64, 0, 0) == TM_BAD_OPTION);
    CHECK(record(recorder, TM_EVENT_FREE, 1, 1, 0, 0, 2) == TM_BAD_OPTION);
    TM_INIT(tm_recorder_counts, counts);
    CHECK(tm_recorder_count(recorder, &counts) == TM_OK);
    CHECK(counts.published >= 7);
    CHECK(counts.dropped == 0);
    REQUIRE(tm_recorder_close(recorder) == TM_OK);
    CHECK(tm_recorder_close(nullptr) == TM_OK);

    const Read read(path);
    CHECK(read.kinds() == std::vector<std::string>{"segment_alloc", "range_begin", "operation",
                                                   "allocate", "use", "retire", "range_end",
                                                   "finish", "mark"});
    CHECK(read.string(read.columns.tag[2]) == "aten::empty (128)");
    CHECK(read.string(read.columns.tag[3]) == "weights");
    CHECK(read.columns.aux[4] == 3);
    CHECK(read.columns.slot[4] == read.columns.slot[3]);
    CHECK(read.string(read.columns.aux[8]) == "here");
    tm_frame found{};
    std::size_t count = 0;
    REQUIRE(tm_trace_stack(read.trace, read.columns.stack[3], &found, 1, &count) == TM_OK);
    CHECK(count == 1);
    CHECK(found.line == 12);
    CHECK(std::string(tm_trace_info(read.trace)).find("torch") != std::string::npos);
}

TEST_CASE("a program of C that is killed leaves all that it had recorded", "[c_api]") {
    const LiveFolder folder;
    const std::string path = folder.file("killed.tml");
    LiveChild child([&](LiveChild::Shared& shared) {
        tm_recorder* const recorder = must_open(path);
        for (std::uint64_t i = 1; i < 20'000'000; ++i) {
            record(recorder, TM_EVENT_ALLOCATE, i << 9U, 512);
            record(recorder, TM_EVENT_FREE, i << 9U, 512);
            shared.published.store(i);
        }
    });
    child.await(50'000);
    child.kill();
    const Read read(path);
    std::uint64_t frees = 0;
    for (const std::string& kind : read.kinds())
        frees += kind == "free" ? 1U : 0U;
    // All of a thread that lost nothing: what it told to have recorded, and perhaps one more.
    const std::string info = tm_trace_info(read.trace);
    if (info.find("events are missing") == std::string::npos)
        CHECK((frees == child.published() || frees == child.published() + 1));
    CHECK(info.find("died") != std::string::npos);
}

TEST_CASE("a child that ends through its handlers leaves the recording to its parent", "[c_api]") {
    const LiveFolder folder;
    static tm_recorder* recorder = nullptr;
    static pid_t parent = 0;
    recorder = must_open(folder.file("parent.tml"));
    parent = ::getpid();
    std::atexit([] {
        if (::getpid() == parent)
            return;
        record(recorder, TM_EVENT_ALLOCATE, 2048, 512);
        tm_recorder_range(recorder, "child", 1);
        tm_recorder_close(recorder);
    });
    CHECK(record(recorder, TM_EVENT_ALLOCATE, 512, 512) == TM_OK);
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0)
        std::exit(0);
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(record(recorder, TM_EVENT_FREE, 512, 512) == TM_OK);
    REQUIRE(tm_recorder_close(recorder) == TM_OK);
    CHECK(Read(folder.file("parent.tml")).kinds() == std::vector<std::string>{"allocate", "free"});
}

TEST_CASE("a child made by fork records nothing, and its end harms nothing", "[c_api]") {
    const LiveFolder folder;
    const std::string path = folder.file("parent.tml");
    tm_recorder* const recorder = must_open(path);
    CHECK(record(recorder, TM_EVENT_ALLOCATE, 512, 512) == TM_OK);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool quiet = record(recorder, TM_EVENT_ALLOCATE, 1024, 512) == TM_OK &&
                           tm_recorder_string(recorder, "child") == 0 &&
                           tm_recorder_mark(recorder, "child") == TM_OK &&
                           tm_recorder_close(recorder) == TM_OK;
        ::_exit(quiet ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(record(recorder, TM_EVENT_FREE, 512, 512) == TM_OK);
    TM_INIT(tm_recorder_counts, counts);
    CHECK(tm_recorder_count(recorder, &counts) == TM_OK);
    CHECK(counts.dropped == 0);
    REQUIRE(tm_recorder_close(recorder) == TM_OK);
    const Read read(path);
    CHECK(read.kinds() == std::vector<std::string>{"allocate", "free"});
}

TEST_CASE("a context records into the file that it is told", "[c_api]") {
    const LiveFolder folder;
    tm_context* context = nullptr;
    TM_INIT(tm_context_options, options);
    options.machine = "sim";
    const std::string path = folder.file("run.tml");
    options.record = path.c_str();
    REQUIRE(tm_context_open(&options, &context) == TM_OK);
    TM_INIT(tm_request, request);
    request.bytes = 512;
    std::uint64_t address = 0;
    CHECK(tm_alloc(context, &request, &address, nullptr) == TM_OK);
    CHECK(tm_free(context, address, 512, 0) == TM_OK);
    CHECK(tm_context_close(context, nullptr) == TM_OK);
    const std::vector<std::string> kinds = Read(path).kinds();
    CHECK(std::count(kinds.begin(), kinds.end(), "allocate") == 1);
}

TEST_CASE("a context goes on when its recording has ended", "[c_api]") {
    const LiveFolder folder;
    tm_context* context = nullptr;
    TM_INIT(tm_context_options, options);
    options.machine = "sim";
    options.record = "ends";
    REQUIRE(tm_context_open(&options, &context) == TM_OK);
    TM_INIT(tm_request, request);
    request.bytes = 512;
    std::uint64_t address = 0;
    CHECK(tm_alloc(context, &request, &address, nullptr) == TM_OK);
    tm_recorder* other = nullptr;
    CHECK(tm_recorder_open(nullptr, &other) == TM_UNSUPPORTED);
    CHECK(tm_end_recording(context) == TM_OK);
    CHECK(tm_end_recording(context) == TM_OK);
    CHECK(tm_free(context, address, 512, 0) == TM_OK);

    other = must_open(folder.file("other.tml"));
    CHECK(tm_recorder_mark(other, "other") == TM_OK);
    CHECK(tm_alloc(context, &request, &address, nullptr) == TM_OK);
    CHECK(tm_recorder_close(other) == TM_OK);
    CHECK(tm_context_close(context, nullptr) == TM_OK);
    CHECK(Read(folder.file("other.tml")).kinds() == std::vector<std::string>{"mark"});
}
