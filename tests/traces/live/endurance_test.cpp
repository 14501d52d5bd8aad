// Recordings of programs that never end, and on systems that refuse: what is bounded stays so, the
// program goes on, and what is lost is told.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "tests/support/live_child.h"
#include "tests/support/live_folder.h"
#include "tests/support/live_recording.h"
#include "tests/support/vector_trace.h"
#include "traces/live/live_set.h"
#include "traces/live/programs.h"
#include "traces/live/publisher.h"
#include "traces/live/ring_names.h"
#include "traces/open.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

using live::Publisher;
using live::PublishOptions;
using live::ReportedEvent;
using support::events_of;
using support::LiveChild;
using support::LiveFolder;
using support::must_open;
using support::must_start;

ReportedEvent allocation(std::uint64_t address) {
    return {.kind = live::RecordKind::allocate, .address = address, .size = 8, .extra = 8};
}

// By name of the pieces.
std::vector<std::string> pieces_in(const fs::path& folder) {
    std::vector<std::string> pieces;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.is_regular_file())
            pieces.push_back(entry.path().string());
    }
    std::sort(pieces.begin(), pieces.end());
    return pieces;
}

struct Read {
    std::uint64_t allocations = 0;
    std::uint64_t lost = 0;
};

Read read(const Trace& trace) {
    Read found;
    for (const TraceEvent& event : events_of(trace)) {
        const std::string_view name =
            event.kind == EventKind::mark ? trace.info().strings[event.aux] : std::string_view();
        found.allocations += event.kind == EventKind::allocate ? 1U : 0U;
        if (name.ends_with(" events are missing"))
            found.lost += std::stoull(std::string(name));
    }
    return found;
}

// Files of this process may not grow beyond so many bytes.
void limit_files(rlim_t bytes) {
    rlimit most{};
    ::getrlimit(RLIMIT_FSIZE, &most);
    most.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &most);
}

// Publishes after its thread has begun to end.
struct LatePublisher {
    Publisher* publisher = nullptr;

    ~LatePublisher() {
        if (publisher != nullptr)
            publisher->put(allocation(1));
    }
};

thread_local LatePublisher late_publisher;

}  // namespace

TEST_CASE("ever new names leave a limited recording small, and no text is another's", "[live]") {
    constexpr std::uint64_t kRounds = 6000;
    const LiveFolder folder;
    const auto publisher =
        must_start({.recording = folder.file("a.tml"), .history_limit = 1_MiB, .records = false});
    publisher->range("always", false);
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
        ReportedEvent event = allocation(i % 100 + 1);
        event.tag = publisher->string(fmt::format("tag of {}", event.address + 100 * (i / 100)));
        event.pool = PoolId{static_cast<std::uint32_t>(event.address)};
        publisher->put(event);
        publisher->range(fmt::format("step {}", i), false);
        publisher->mark(fmt::format("in step {}", i));
        publisher->range(fmt::format("step {}", i), true);
        event.kind = live::RecordKind::free;
        publisher->put(event);
        if (i % 100 == 0)
            REQUIRE(publisher->empty_rings());
    }
    publisher->put(allocation(1000));
    CHECK(publisher->counts().dropped == 0);
    REQUIRE(publisher->close());

    const std::vector<std::string> pieces = pieces_in(folder.path());
    REQUIRE(pieces.size() == 4);
    Bytes bytes = 0;
    for (const std::string& piece : pieces)
        bytes += fs::file_size(piece);
    CHECK(bytes < 2_MiB);

    for (const std::string& piece : pieces) {
        const auto trace = must_open(piece);
        const TraceInfo& info = trace->info();
        CHECK(info.anomalies == Anomalies{});
        std::vector<std::string_view> open;
        std::uint64_t last = 0;
        std::uint64_t wrong = 0;
        for (const TraceEvent& event : events_of(*trace)) {
            const std::string_view name = info.strings[event.aux];
            if (event.kind == EventKind::range_begin) {
                open.push_back(name);
            } else if (event.kind == EventKind::range_end) {
                wrong += open.empty() || open.back() != name ? 1U : 0U;
                if (!open.empty())
                    open.pop_back();
            } else if (event.kind == EventKind::mark) {
                const std::uint64_t step = std::stoull(std::string(name.substr(8)));
                wrong += (last != 0 && step != last + 1) || open.size() != 2 ||
                                 open.back() != fmt::format("step {}", step)
                             ? 1U
                             : 0U;
                last = step;
            } else if (event.kind == EventKind::allocate && event.address <= 100) {
                wrong += info.pools[event.aux] != fmt::format("pool {}", event.address) ? 1U : 0U;
                const std::string_view tag = info.strings[event.tag];
                wrong += tag != live::kTooManyNames && !tag.starts_with("tag of ") ? 1U : 0U;
            }
        }
        CHECK(wrong == 0);
        CHECK((last == kRounds || piece == pieces.back()));  // that may have only the end
        CHECK(open == std::vector<std::string_view>{"always"});
    }
}

TEST_CASE("a piece knows the ranges that are open, whoever ends them, and not too many", "[live]") {
    using enum live::RecordKind;
    live::LiveSet set;
    const auto name = [&](std::uint32_t id, std::string_view text) {
        std::array<live::Record, 2> slots{
            {{.size = text.size(), .site = id, .kind = live::RecordKind::string}}};
        std::copy(text.begin(), text.end(), reinterpret_cast<char*>(&slots[1]));
        set.add(slots);
    };
    const auto range = [&](live::RecordKind kind, std::uint32_t id) {
        set.add(std::array<live::Record, 1>{{{.extra = id, .kind = kind}}});
    };
    const auto open = [&] {
        const std::vector<live::Record> slots = set.snapshot();
        return std::count_if(slots.begin(), slots.end(),
                             [](const live::Record& record) { return record.kind == live_range; });
    };
    constexpr std::uint32_t kOther = 1U << live::kNumberBits;  // another thread's ring
    name(1, "a");
    name(kOther | 1U, "a");
    range(range_begin, 1);
    range(range_end, kOther | 1U);
    CHECK(open() == 0);
    name(live::kPassingNumber, "b");
    range(range_begin, live::kPassingNumber);
    name(live::kPassingNumber, "c");
    range(range_begin, live::kPassingNumber);
    name(live::kPassingNumber, "b");
    range(range_end, live::kPassingNumber);
    CHECK(open() == 1);
    for (int i = 0; i < 5000; ++i)
        range(range_begin, 1);
    CHECK(open() == 1024);
}

TEST_CASE("streams beyond what a ring can number are lost and no other's", "[live]") {
    const LiveFolder folder;
    const auto publisher = must_start({.recording = folder.file("a.tml"), .records = false});
    constexpr std::uint64_t kStreams = 66'000;
    for (std::uint64_t i = 1; i <= kStreams; ++i) {
        ReportedEvent event = allocation(i);
        event.stream = i << 8U;
        publisher->put(event);
    }
    CHECK(publisher->counts().dropped == kStreams - 0xffff);
    REQUIRE(publisher->close());
    const auto trace = must_open(folder.file("a.tml"));
    CHECK(read(*trace).lost == kStreams - 0xffff);
    for (const TraceEvent& event : events_of(*trace)) {
        if (event.kind == EventKind::allocate &&
            trace->info().streams[to_integer(event.stream)] != event.address << 8U)
            FAIL("the stream of another");
    }
}

TEST_CASE("a file that may not grow loses events, says how many, and goes on later", "[live]") {
    const LiveFolder folder;
    LiveChild child([&](LiveChild::Shared& shared) {
        const auto publisher = must_start(
            {.name = "limited", .recording = folder.file("a.tml"), .rings = 1, .ring_slots = 2048});
        // Until the recorder has written or lost all that was put.
        const auto settle = [&] {
            while (live::read_program(publisher->shared_path())->counters.fullest_ring > 0)
                std::this_thread::yield();
        };
        const auto put = [&](std::uint64_t from, std::uint64_t to, std::string_view tag) {
            for (std::uint64_t i = from; i < to; ++i) {
                ReportedEvent event = allocation(i);
                event.tag = publisher->string(tag);
                publisher->put(event);
                if (i % 500 == 0)
                    settle();
            }
            settle();
        };
        limit_files(256 << 10U);
        put(1, 20'000, "before");
        const live::PublisherCounts counts = publisher->counts();
        limit_files(RLIM_INFINITY);
        put(20'000, 20'100, "before");
        put(20'100, 20'200, "after");
        const bool same = publisher->counts().lost == counts.lost && counts.dropped == 0;
        if (publisher->close() && same)
            shared.published = counts.lost;
    });
    child.join();
    const std::uint64_t lost = child.published();
    CHECK(lost > 10'000);
    const auto trace = must_open(folder.file("a.tml"));
    const Read found = read(*trace);
    CHECK(found.lost == lost);
    CHECK(found.allocations + lost == 20'199);
    const std::vector<TraceEvent> events = events_of(*trace);
    CHECK(trace->info().strings[events.back().tag] == "after");
    CHECK_FALSE(trace->info().cut_off);
}

TEST_CASE("a limit holds where no further piece can be begun, and the loss is told", "[live]") {
    const LiveFolder folder;
    const std::string gone = folder.file("gone");
    fs::create_directory(gone);
    const auto publisher =
        must_start({.recording = gone + "/a.tml", .history_limit = 256 << 10U, .records = false});
    const auto put = [&](std::uint64_t count) {
        for (std::uint64_t i = 1; i <= count; ++i) {
            publisher->put(allocation(i % 10 + 1));
            if (i % 100 == 0)
                static_cast<void>(publisher->empty_rings());
        }
    };
    put(3000);
    CHECK(publisher->counts().lost == 0);
    fs::rename(gone, folder.file("moved"));
    put(20'000);
    const std::uint64_t lost = publisher->counts().lost;
    CHECK(lost > 15'000);
    CHECK_FALSE(publisher->close());
    Bytes bytes = 0;
    for (const std::string& piece : pieces_in(folder.file("moved")))
        bytes += fs::file_size(piece);
    CHECK(bytes < 256 << 10U);
}

TEST_CASE("a recording whose file is removed is an error at its end", "[live]") {
    const LiveFolder folder;
    const auto publisher = must_start({.recording = folder.file("a.tml"), .records = false});
    publisher->put(allocation(1));
    REQUIRE(publisher->empty_rings());
    fs::remove(folder.file("a.tml"));
    publisher->put(allocation(2));
    const auto closed = publisher->close();
    REQUIRE_FALSE(closed);
    CHECK(closed.error().what == "cannot be written: No such file or directory");
}

TEST_CASE("a recording that is being written is not replaced, and its child holds no lock",
          "[live]") {
    const LiveFolder folder;
    const PublishOptions options{.recording = folder.file("a.tml"), .overwrite = true};
    auto publisher = must_start(options);
    LiveChild child([&](LiveChild::Shared& shared) {
        const auto second = Publisher::start(options);
        shared.published = second || second.error().code != ErrorCode::io ? 1 : 2;
        while (!shared.go_on)
            ::usleep(100);
    });
    child.await(1);
    CHECK(child.published() == 2);
    REQUIRE(publisher->close());
    publisher.reset();
    CHECK(must_start(options) != nullptr);
}

TEST_CASE("threads that come and go give their rings back, whatever they do at their end",
          "[live]") {
    constexpr int kThreads = 1000;
    const LiveFolder folder;
    // A ring is free again once it is emptied; when a recorder's thread does that, the machine's
    // load decides.
    const auto publisher = must_start(
        {.recording = folder.file("a.tml"), .rings = 2, .ring_slots = 2048, .records = false});
    for (int i = 0; i < kThreads; ++i) {
        std::thread([&] {
            late_publisher.publisher = publisher.get();
            for (std::uint64_t event = 0; event < 9; ++event)
                publisher->put(allocation(event + 2));
        }).join();
        REQUIRE(publisher->empty_rings());
    }
    const std::uint64_t dropped = publisher->counts().dropped;
    REQUIRE(publisher->close());
    const Read found = read(*must_open(folder.file("a.tml")));
    CHECK(found.lost == dropped);
    CHECK(found.allocations + dropped == 10 * kThreads);
    CHECK(dropped < kThreads);
}

}  // namespace tidemark
