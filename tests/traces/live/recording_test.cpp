// Recordings: what threads, long runs and killed programs leave behind.
#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/base/random.h"
#include "tests/support/live_child.h"
#include "tests/support/live_folder.h"
#include "tests/support/live_recording.h"
#include "tests/support/system_limits.h"
#include "tests/support/vector_trace.h"
#include "traces/live/live_set.h"
#include "traces/live/programs.h"
#include "traces/live/publisher.h"
#include "traces/live/recording_chain.h"
#include "traces/live/remainder.h"
#include "traces/open.h"

namespace tidemark {
namespace {

// Of a child that nobody kills.
constexpr std::uint64_t kMostPublished = 20'000'000;

using live::Publisher;
using live::PublishOptions;
using support::events_of;
using support::LiveChild;
using support::LiveFolder;
using support::must_open;
using support::must_start;

Allocation at(std::uint64_t address, Bytes size) {
    return {.address = Address{address}, .size = size};
}

// Events that the trace says are missing.
std::uint64_t lost_in(const Trace& trace) {
    std::uint64_t lost = 0;
    for (const TraceEvent& event : events_of(trace)) {
        const std::string_view name =
            event.kind == EventKind::mark ? trace.info().strings[event.aux] : std::string_view();
        if (name.ends_with(" events are missing"))
            lost += std::stoull(std::string(name));
    }
    return lost;
}

using Live = std::map<std::uint64_t, Bytes>;  // sizes by address

Live live_in(const std::vector<TraceEvent>& events) {
    Live live;
    for (const TraceEvent& event : events) {
        if (event.kind == EventKind::allocate)
            live[event.address] = event.size;
        else if (event.kind == EventKind::free)
            live.erase(event.address);
    }
    return live;
}

}  // namespace

TEST_CASE("uses are those of the block that lives there, whoever else is used", "[live]") {
    const LiveFolder folder;
    const auto publisher = must_start({.recording = folder.file("a.tml")});
    const std::uint32_t mm = publisher->string("aten::mm");
    const auto put_use = [&](std::uint64_t address, std::uint64_t how, std::uint64_t launch) {
        publisher->put({.kind = live::RecordKind::use,
                        .stream = 7,
                        .address = address,
                        .size = how,
                        .extra = launch,
                        .tag = mm});
    };
    publisher->observer().on_allocate({.size = 100}, at(0x1000, 512));
    publisher->observer().on_allocate({.size = 100}, at(0x2000, 512));
    put_use(0x2000, live::kUseReads, 1);
    put_use(0x1000, live::kUseReads | live::kUseWrites, 1);
    put_use(0x9000, live::kUseWrites, 2);
    publisher->observer().on_deallocate(at(0x2000, 512), StreamId{});
    put_use(0x2000, ~std::uint64_t{0}, ~std::uint64_t{0});
    REQUIRE(publisher->close());

    ReadOptions strict;
    strict.strict = true;
    const auto opened = open_trace(folder.file("a.tml"), strict);
    REQUIRE(opened);
    const std::vector<TraceEvent> events = events_of(**opened);
    REQUIRE(events.size() == 7);
    const auto check = [&](std::size_t i, std::uint32_t slot, unsigned flags,
                           std::uint32_t launch) {
        INFO(i);
        CHECK(events[i].kind == EventKind::use);
        CHECK(events[i].slot == slot);
        CHECK(events[i].flags == flags);
        CHECK(events[i].aux == launch);
        CHECK((*opened)->info().strings[events[i].tag] == "aten::mm");
        CHECK((*opened)->info().streams[to_integer(events[i].stream)] == 7);
    };
    check(2, events[1].slot, kReads, 1);
    check(3, events[0].slot, kReads | kWrites, 1);
    check(4, kNoSlot, kWrites, 2);
    check(6, kNoSlot, kReads | kWrites | kPerhaps, 0xffffffffU);
    CHECK((*opened)->info().anomalies == Anomalies{});
}

TEST_CASE("a recording tells what was told, with tags, stacks, streams, steps and marks",
          "[live]") {
    const LiveFolder folder;
    const auto publisher = must_start(
        {.name = "teller", .recording = folder.file("a.tml"), .devices = {{"gpu", 80_GiB}}});
    MemoryObserver& observer = publisher->observer();
    const std::vector<live::LiveFrame> stack = {{"build", "model.cpp", 5}, {"main", "m.cpp", 9}};
    observer.on_segment(SegmentChange::segment_alloc, {Address{0x1000}, 4096}, StreamId{},
                        Address::null);
    {
        const LiveRange step("step 1");
        const LiveScope scope("weights", stack);
        observer.on_allocate({.size = 100, .stream = StreamId{7}, .pool = PoolId{4}},
                             at(0x1000, 512));
    }
    observer.on_record_use(at(0x1000, 512), StreamId{2});
    publisher->mark("here");
    observer.on_refused({.size = 1_GiB}, {});
    observer.on_deallocate(at(0x1000, 512), StreamId{7});
    observer.on_trim();
    REQUIRE(publisher->close());

    const auto trace = must_open(folder.file("a.tml"));
    const TraceInfo& info = trace->info();
    const std::vector<TraceEvent> events = events_of(*trace);
    std::vector<EventKind> kinds;
    for (const TraceEvent& event : events)
        kinds.push_back(event.kind);
    using enum EventKind;
    REQUIRE(kinds == std::vector<EventKind>{segment_alloc, range_begin, allocate, range_end,
                                            record_use, EventKind::mark, out_of_memory,
                                            EventKind::free, trim});
    CHECK(info.strings[events[1].aux] == "step 1");
    CHECK(info.strings[events[2].tag] == "weights");
    CHECK(events[2].size == 100);
    CHECK(events[2].address == 0x1000);
    CHECK(info.streams[to_integer(events[2].stream)] == 7);
    CHECK(info.pools[events[2].aux] == "pool 4");
    REQUIRE(info.stacks[events[2].stack].size() == 2);
    CHECK(info.strings[info.stacks[events[2].stack][0].name] == "build");
    CHECK(info.stacks[events[2].stack][1].line == 9);
    CHECK(events[4].slot == events[2].slot);
    CHECK(info.strings[events[5].aux] == "here");
    CHECK(events[7].tag == 0);
    CHECK(info.devices == std::vector<TraceDevice>{{"gpu", 80_GiB}});
    CHECK(info.source == "teller");
    CHECK(info.anomalies == Anomalies{});
    CHECK_FALSE(info.begins_inside);
    CHECK_FALSE(info.cut_off);
    CHECK(info.warnings.empty());
}

TEST_CASE("what another allocator does is told as it is, what lived before it included", "[live]") {
    using enum live::RecordKind;
    const Bytes limit = GENERATE(as<Bytes>(), 0, 1_MiB);
    CAPTURE(limit);
    const LiveFolder folder;
    const auto publisher =
        must_start({.recording = folder.file("a.tml"), .history_limit = limit, .devices = {{}}});
    REQUIRE(publisher->setting("allocator", "torch", false));
    REQUIRE(publisher->setting("max_split_size", "-1", true));
    REQUIRE(publisher->setting("max_split_size", "67108864", true));
    const std::uint32_t small = publisher->string("small");
    const std::uint32_t frames =
        publisher->stack(std::array<live::LiveFrame, 1>{{{"f", "a.py", 3}}});
    constexpr std::uint64_t kHandle = 0x7f00'1234'5678;  // more than 32 bits
    publisher->put({.kind = live_segment, .stream = kHandle, .address = 0x200000, .size = 2_MiB});
    publisher->put({.kind = live_block, .address = 0x200000, .size = 100, .extra = 512});
    publisher->put({.kind = live_retired, .address = 0x200200, .size = 512, .extra = 512});
    publisher->put({.kind = live_mapping, .address = 0x4000000, .size = 60_MiB, .tag = small});
    publisher->put({.kind = allocate,
                    .stream = kHandle,
                    .address = 0x200400,
                    .size = 700,
                    .extra = 1024,
                    .pool = PoolId{0x80000003},
                    .stack = frames});
    publisher->put({.kind = free_requested, .address = 0x200400, .size = 700});
    publisher->put({.kind = free_completed, .address = 0x200400, .size = 700});
    publisher->put({.kind = free_requested, .address = 0x200000, .size = 100});
    publisher->put({.kind = refused, .address = 77, .size = 1024, .pool = PoolId{2}});
    publisher->put({.kind = free_completed, .address = 0x200200, .size = 512});
    publisher->put({.kind = free_completed, .address = 0x200000, .size = 100});
    publisher->put({.kind = unmap, .address = 0x4000000 + 20_MiB, .size = 20_MiB});
    REQUIRE(publisher->close());

    const auto trace = must_open(folder.file(limit == 0 ? "a.tml" : "a-000001.tml"));
    const TraceInfo& info = trace->info();
    const std::vector<TraceEvent> events = events_of(*trace);
    std::vector<EventKind> kinds;
    for (const TraceEvent& event : events)
        kinds.push_back(event.kind);
    using Kind = EventKind;
    REQUIRE(kinds == std::vector<Kind>{Kind::segment_alloc, Kind::block, Kind::allocate,
                                       Kind::block, Kind::allocate, Kind::retire, Kind::segment_map,
                                       Kind::allocate, Kind::free, Kind::retire,
                                       Kind::out_of_memory, Kind::finish, Kind::finish,
                                       Kind::segment_unmap});
    CHECK(info.preamble_count == 7);
    CHECK(info.from_torch());
    CHECK(info.settings ==
          std::vector<std::pair<std::string, std::string>>{{"max_split_size", "67108864"}});
    CHECK(events[0].flags == (kPreamble | kSmallPool));
    CHECK(info.streams[to_integer(events[0].stream)] == kHandle);
    CHECK(events[1].size == 512);
    CHECK(events[3].flags == (kPreamble | kPending));
    CHECK(events[6].flags == (kPreamble | kExpandable | kSmallPool));
    CHECK(info.pools[events[7].aux] == "(3, 0)");
    CHECK(info.strings[info.stacks[events[7].stack][0].name] == "f");
    CHECK(events[8].slot == events[7].slot);
    CHECK(events[8].size == 700);
    CHECK(events[10].address == 77);
    CHECK(info.pools[events[10].aux] == "(0, 2)");
    CHECK(events[11].slot == events[4].slot);
    CHECK(events[12].slot == events[2].slot);
    CHECK(info.anomalies == Anomalies{});
}

TEST_CASE("a later piece knows what is half freed and half unmapped", "[live]") {
    live::LiveSet set;
    const std::vector<live::Record> reported = {
        {.sequence = 0, .address = 100, .size = 100, .kind = live::RecordKind::map},
        {.sequence = 1,
         .address = 100,
         .size = 10,
         .extra = 10,
         .kind = live::RecordKind::allocate},
        {.sequence = 2,
         .address = 110,
         .size = 10,
         .extra = 10,
         .kind = live::RecordKind::allocate},
        {.sequence = 3, .address = 110, .size = 10, .kind = live::RecordKind::free_requested},
        {.sequence = 4, .address = 130, .size = 20, .kind = live::RecordKind::unmap}};
    set.add(reported);
    const auto row = [](const live::Record& record) {
        return std::tuple(record.kind, record.address, record.size);
    };
    std::vector<std::tuple<live::RecordKind, std::uint64_t, std::uint64_t>> rows;
    for (const live::Record& record : set.snapshot())
        rows.push_back(row(record));
    using enum live::RecordKind;
    CHECK(rows == std::vector{std::tuple(live_mapping, std::uint64_t{100}, std::uint64_t{30}),
                              std::tuple(live_mapping, std::uint64_t{150}, std::uint64_t{50}),
                              std::tuple(live_block, std::uint64_t{100}, std::uint64_t{10}),
                              std::tuple(live_retired, std::uint64_t{110}, std::uint64_t{10})});
}

TEST_CASE("the order of several threads is that in which the lock was held", "[live]") {
    constexpr int kThreads = 4;
    constexpr int kEvents = 20'000;
    const LiveFolder folder;
    const auto publisher = must_start({.recording = folder.file("a.tml"), .ring_slots = 1U << 17U});
    std::mutex lock;
    std::vector<std::uint64_t> order;  // the naive model
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            const LiveScope scope("thread " + std::to_string(thread));
            for (int i = 0; i < kEvents; ++i) {
                const std::lock_guard guard(lock);
                const std::uint64_t address = order.size() + 1;
                order.push_back(static_cast<std::uint64_t>(thread));
                publisher->observer().on_allocate({.size = address}, at(address, address));
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    REQUIRE(publisher->counts().dropped == 0);
    REQUIRE(publisher->close());

    const auto trace = must_open(folder.file("a.tml"));
    const std::vector<TraceEvent> events = events_of(*trace);
    REQUIRE(events.size() == kThreads * kEvents);
    bool same = true;
    for (std::size_t i = 0; i < events.size(); ++i) {
        same = same && events[i].address == i + 1 &&
               trace->info().strings[events[i].tag] == "thread " + std::to_string(order[i]);
    }
    CHECK(same);
}

TEST_CASE("what one thread frees and another is granted is recorded in that order", "[live]") {
    // Blocks go from thread to thread by a flag of their own: no lock, and no pause between the
    // two.
    constexpr std::size_t kThreads = 3;
    constexpr std::uint64_t kBlocks = 8;
    constexpr std::uint64_t kRounds = 4000;
    const LiveFolder folder;
    const auto publisher = must_start({.recording = folder.file("a.tml")});
    std::array<std::atomic<std::uint64_t>, kBlocks> turns = {};  // of a block: whose it is
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (std::uint64_t mine = thread; mine < kRounds; mine += kThreads) {
                for (std::uint64_t block = 0; block < kBlocks; ++block) {
                    while (turns[block].load(std::memory_order_acquire) != mine)
                        std::this_thread::yield();
                    publisher->observer().on_allocate({.size = mine + 1}, at(block + 1, mine + 1));
                    publisher->observer().on_deallocate(at(block + 1, mine + 1), {});
                    turns[block].store(mine + 1, std::memory_order_release);
                }
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    REQUIRE(publisher->counts().dropped == 0);
    REQUIRE(publisher->close());

    const auto trace = must_open(folder.file("a.tml"));
    CHECK(trace->info().anomalies == Anomalies{});
    std::map<std::uint64_t, std::uint64_t> counts;  // events by address
    bool in_order = true;
    for (const TraceEvent& event : events_of(*trace)) {
        const std::uint64_t number = counts[event.address]++;
        in_order = in_order && (number % 2 == 0 ? event.kind == EventKind::allocate &&
                                                      event.size == number / 2 + 1
                                                : event.kind == EventKind::free);
    }
    CHECK(in_order);
    REQUIRE(counts.size() == kBlocks);
    for (const auto& [address, events] : counts)
        CHECK(events == 2 * kRounds);
}

TEST_CASE("each event of a program that is too fast is recorded or counted as lost", "[live]") {
    const LiveFolder folder;
    const auto publisher = must_start(
        {.recording = folder.file("a.tml"), .rings = 2, .ring_slots = 2048, .records = false});
    std::vector<std::thread> threads;
    // The third thread finds no ring.
    std::atomic<int> begun = 0;
    for (std::uint64_t thread = 0; thread < 3; ++thread) {
        threads.emplace_back([&, thread] {
            publisher->observer().on_allocate({}, at(thread << 32U | 1U, 1));
            for (++begun; begun < 3;)
                std::this_thread::yield();
            for (std::uint64_t i = 2; i <= 5000; ++i)
                publisher->observer().on_allocate({}, at(thread << 32U | i, 1));
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    const std::uint64_t dropped = publisher->counts().dropped;
    REQUIRE(publisher->close());

    const auto trace = must_open(folder.file("a.tml"));
    const std::vector<TraceEvent> events = events_of(*trace);
    const auto allocations = static_cast<std::uint64_t>(
        std::count_if(events.begin(), events.end(),
                      [](const TraceEvent& event) { return event.kind == EventKind::allocate; }));
    CHECK(dropped > 5000);
    CHECK(lost_in(*trace) == dropped);
    CHECK(allocations + dropped == 15'000);
}

TEST_CASE("a process has one publisher, and a forked child publishes nothing", "[live]") {
    const LiveFolder folder;
    {
        const auto publisher = must_start({.recording = folder.file("a.tml")});
        CHECK(Publisher::start({.recording = folder.file("b.tml")}).error().code ==
              ErrorCode::unsupported);
        publisher->observer().on_allocate({.size = 1}, at(1, 1));
        LiveChild child([&](LiveChild::Shared&) {
            publisher->observer().on_allocate({.size = 2}, at(2, 2));
            publisher->mark("from the child");
            const LiveScope scope("child");
            publisher->observer().on_allocate({.size = 3}, at(3, 3));
        });
        child.join();
        publisher->observer().on_deallocate(at(1, 1), StreamId{});
    }
    CHECK(live::list_programs().empty());
    const auto trace = must_open(folder.file("a.tml"));
    CHECK(trace->info().event_count == 2);
    CHECK(must_start({.recording = folder.file("b.tml")}) != nullptr);
}

TEST_CASE("a publisher without a mapping or a thread is an error and no program", "[live]") {
    const LiveFolder folder;
    const PublishOptions options{.recording = folder.file("a.tml"), .overwrite = true};
    {
        const support::NoMappings none;
        const auto refused = Publisher::start(options);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().what == "cannot be mapped: Cannot allocate memory");
    }
    {
        const support::ThreadLimit none(0);
        const auto refused = Publisher::start(options);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().what.starts_with("cannot start a thread"));
    }
    CHECK(live::list_programs().empty());
    CHECK(std::filesystem::is_empty(folder.path() / "run"));
    CHECK(must_start(options) != nullptr);
}

TEST_CASE("a recording that is there is written over only where that is asked for", "[live]") {
    const LiveFolder folder;
    for (const Bytes limit : {Bytes{0}, Bytes{4_MiB}}) {
        const std::string path = folder.file(limit == 0 ? "whole.tml" : "limited.tml");
        PublishOptions options{.recording = path, .history_limit = limit};
        REQUIRE(must_start(options)->close());
        const auto refused = Publisher::start(options);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == ErrorCode::bad_option);
        CHECK(refused.error().where == path);
        options.overwrite = true;
        CHECK(must_start(options) != nullptr);
    }
}

TEST_CASE("a limited recording forgets its begin and keeps what lives", "[live]") {
    const LiveFolder folder;
    const auto publisher = must_start({.recording = folder.file("a.tml"), .history_limit = 4_MiB});
    Random random(5);
    Live live;
    {
        const LiveScope scope("old");
        for (std::uint64_t i = 1; i <= 50; ++i) {
            live[i] = i;
            publisher->observer().on_allocate({.size = i}, at(i, i));
        }
    }
    const LiveScope scope("young");
    const LiveRange range("all the time");
    for (int i = 0; i < 300'000; ++i) {
        const std::uint64_t address = 100 + random.below(500);
        const auto found = live.find(address);
        if (found != live.end()) {
            live.erase(found);
            publisher->observer().on_deallocate(at(address, 8), StreamId{});
        } else {
            const Bytes size = 1 + random.below(8);
            live[address] = size;
            publisher->observer().on_allocate({.size = size}, at(address, 8));
        }
        while (i % 20'000 == 0 && publisher->counts().dropped == 0 &&
               live::read_program(publisher->shared_path())->counters.fullest_ring > 0.2)
            std::this_thread::yield();
    }
    REQUIRE(publisher->counts().dropped == 0);
    REQUIRE(publisher->close());

    Bytes on_disk = 0;
    std::vector<std::string> pieces;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        if (entry.is_regular_file()) {
            pieces.push_back(entry.path().string());
            on_disk += entry.file_size();
        }
    }
    std::sort(pieces.begin(), pieces.end());
    REQUIRE(pieces.size() == 4);
    CHECK(on_disk < 5_MiB);
    for (const std::string& piece : pieces) {
        INFO(piece);
        const auto trace = must_open(piece);
        CHECK(trace->info().begins_inside);
        CHECK(trace->info().anomalies == Anomalies{});
        CHECK(trace->info().preamble_count > 50);
        const std::vector<TraceEvent> events = events_of(*trace);
        CHECK(live_in(events) == live);
        REQUIRE(events.size() > 50);
        const auto first = std::find_if(events.begin(), events.end(), [](const TraceEvent& event) {
            return event.kind == EventKind::allocate;
        });
        CHECK(trace->info().strings[first->tag] == "old");
    }
}

TEST_CASE("what a killed program had published is there", "[live][one-thread]") {
    Random random(11);
    for (int round = 0; round < 12; ++round) {
        const LiveFolder folder;
        const bool limited = round % 3 == 2;
        LiveChild child([&](LiveChild::Shared& shared) {
            const auto publisher = Publisher::start({.name = "victim",
                                                     .recording = folder.file("a.tml"),
                                                     .history_limit = limited ? 64_MiB : 0,
                                                     .ring_slots = 1U << 14U});
            if (!publisher)
                return;
            for (std::uint64_t i = 1; i < kMostPublished; ++i) {
                (*publisher)->observer().on_allocate({.size = i}, at(i, i));
                shared.published.store(i);
            }
        });
        child.await(1 + random.below(200'000));
        child.kill();
        const std::uint64_t published = child.published();
        const std::string path = folder.file(limited ? "a-000001.tml" : "a.tml");

        // Read as it was left, and again after its remainder was put into the recording.
        const bool recovers = round % 2 == 0;
        const auto programs = live::list_programs();
        REQUIRE(programs.size() == 1);
        CHECK_FALSE(programs.front().alive);
        CHECK(programs.front().name() == "victim");
        if (recovers) {
            const auto recovered = live::recover(programs.front());
            REQUIRE(recovered);
            CHECK(live::list_programs().empty());
            CHECK(live::recover(programs.front()).error().code == ErrorCode::not_found);
        }
        const auto trace = must_open(path);
        const std::uint64_t lost = lost_in(*trace);
        std::uint64_t last = 0;
        std::uint64_t present = 0;
        for (const TraceEvent& event : events_of(*trace)) {
            if (event.kind != EventKind::allocate)
                continue;
            CHECK((event.address > last && event.address == event.size));
            last = event.address;
            ++present;
        }
        INFO(fmt::format("round {}: {} published, {} present, {} lost", round, published, present,
                         lost));
        CHECK(present + lost >= published);
        CHECK(present + lost <= published + 1);
        CHECK_FALSE(trace->info().cut_off);
        CHECK(trace->info().warnings.back() ==
              "the program died; everything that it had published is here");
    }
}

TEST_CASE("programs are found by process and by name", "[live]") {
    const LiveFolder folder;
    const auto publish = [](const char* name) {
        return [name](LiveChild::Shared& shared) {
            const auto publisher = Publisher::start({.name = name, .history_limit = 1_MiB});
            (*publisher)->mark("ready");
            shared.published = 1;
            while (!shared.go_on)
                ::usleep(100);
        };
    };
    LiveChild trainer(publish("trainer"));
    LiveChild server(publish("server-1"));
    LiveChild other(publish("server-2"));
    for (const LiveChild* child : {&trainer, &server, &other})
        child->await(1);

    CHECK(live::list_programs().size() == 3);
    CHECK(live::find_program("trainer")->process() == static_cast<std::uint32_t>(trainer.id()));
    CHECK(live::find_program("tr")->name() == "trainer");
    CHECK(live::find_program(std::to_string(other.id()))->name() == "server-2");
    CHECK(live::find_program("server-1")->name() == "server-1");
    const auto ambiguous = live::find_program("server");
    REQUIRE_FALSE(ambiguous);
    CHECK(ambiguous.error().code == ErrorCode::bad_option);
    CHECK(ambiguous.error().hint.find("server-2") != std::string::npos);
    const auto unknown = live::find_program("nobody");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().hint.find("(trainer)") != std::string::npos);

    server.kill();
    CHECK(live::find_program("server")->name() == "server-2");
    trainer.go_on();
    trainer.join();
    CHECK(live::find_program("trainer").error().code == ErrorCode::not_found);
}

}  // namespace tidemark
