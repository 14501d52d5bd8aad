// Following living programs: what a follower shows is what the whole recording tells, however it
// was attached, paused, or cut off by the program's death.
#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/dead_program.h"
#include "tests/support/live_child.h"
#include "tests/support/live_folder.h"
#include "tests/support/property.h"
#include "tests/support/system_limits.h"
#include "traces/live/publisher.h"
#include "traces/live/remainder.h"
#include "traces/open.h"
#include "viz/live/attach.h"
#include "viz/live/live_feed.h"

namespace tidemark {
namespace {

// Of a child that nobody kills.
constexpr std::uint64_t kMostPublished = 20'000'000;

using live::Publisher;
using live::Record;
using live::RecordKind;
using support::LiveChild;
using support::LiveFolder;
using viz::Follower;

// What a history says of its blocks, comparable.
struct Life {
    std::uint64_t address = 0;
    Bytes size = 0;
    Bytes requested = 0;
    std::string tag;
    bool ended = false;

    friend auto operator<=>(const Life&, const Life&) = default;
};

std::vector<Life> lives_of(const History& history) {
    std::vector<Life> lives;
    for (BlockIndex i = 0; i < history.counts().blocks; ++i) {
        const Block block = history.block(i);
        lives.push_back({to_integer(block.address), block.size, block.requested,
                         std::string(history.strings()[history.site(block.site).tag]),
                         block.freed != kNever});
    }
    return lives;
}

// The same of a trace.
std::vector<Life> lives_of(const std::string& path) {
    const auto trace = open_trace(path);
    REQUIRE(trace);
    std::vector<Life> lives;
    std::vector<std::size_t> of_slot((*trace)->info().slot_count);
    const auto cursor = (*trace)->cursor();
    for (auto batch = cursor->next(); batch && batch->count != 0; batch = cursor->next()) {
        for (std::size_t i = 0; i < batch->count; ++i) {
            const TraceEvent event = (*batch)[i];
            if (event.kind == EventKind::allocate) {
                of_slot[event.slot] = lives.size();
                lives.push_back({event.address, 2 * event.size, event.size,
                                 std::string((*trace)->info().strings[event.tag]), false});
            } else if (event.kind == EventKind::free && event.slot != kNoSlot) {
                lives[of_slot[event.slot]].ended = true;
            }
        }
    }
    return lives;
}

// Allocates and frees at random, every block twice as large as asked for.
class Worker {
  public:
    explicit Worker(Publisher& publisher) : observer_(publisher.observer()) {}

    void work(int events) {
        for (int i = 0; i < events; ++i) {
            const std::uint64_t address = 1 + random_.below(300);
            Bytes& size = sizes_[address];
            if (size != 0) {
                observer_.on_deallocate({.address = Address{address}, .size = size}, StreamId{});
                size = 0;
            } else {
                const LiveScope scope(address < 100 ? "low" : "high");
                size = 2 * (1 + random_.below(100));
                observer_.on_allocate({.size = size / 2},
                                      {.address = Address{address}, .size = size});
            }
        }
    }

  private:
    MemoryObserver& observer_;
    Random random_{3};
    std::map<std::uint64_t, Bytes> sizes_;
};

std::unique_ptr<Follower> must_attach(std::string_view text, viz::FollowOptions options = {}) {
    const auto program = live::find_program(text);
    INFO((program ? std::string() : to_text(program.error())));
    REQUIRE(program);
    auto follower = Follower::start(*program, options);
    if (!follower)
        FAIL(to_text(follower.error()));
    return std::move(*follower);
}

// Polls until the program's end was seen.
viz::ViewedRun follow_to_end(Follower& follower) {
    viz::ViewedRun run = follower.new_run();
    while (!follower.over()) {
        follower.wait();
        follower.poll(run);
        std::this_thread::yield();
    }
    follower.poll(run);
    return run;
}

}  // namespace

TEST_CASE("a follower shows the past, then what comes, then the end", "[live][viz]") {
    const LiveFolder folder;
    auto publisher = Publisher::start({.name = "worker", .recording = folder.file("a.tml")});
    REQUIRE(publisher);
    Worker worker(**publisher);
    worker.work(10'000);
    (*publisher)->observer().on_refused({.size = 77}, {});

    viz::Session session;
    viz::LiveRuns runs(session);
    REQUIRE(runs.attach("worker"));
    CHECK(runs.attach("worker").value() == 0);  // it is there already
    REQUIRE(session.runs.size() == 1);
    worker.work(10'000);
    (*publisher)->observer().on_segment(SegmentChange::segment_alloc, {Address{1}, 4096}, {}, {});
    std::size_t before = 0;
    while (before < 20'002) {
        runs.wait();
        before = session.runs[0].history->counts().events;
    }
    runs.poll();
    CHECK(session.runs[0].live->alive);
    CHECK(runs.following());
    CHECK(session.runs[0].state.phase == viz::LoadState::Phase::ready);
    worker.work(5'000);
    REQUIRE((*publisher)->close());
    while (!session.runs[0].history->complete())
        runs.wait();
    runs.poll();

    const History& history = *session.runs[0].history;
    CHECK_FALSE(session.runs[0].live->alive);
    CHECK(session.runs[0].live->dropped == 0);
    CHECK(session.runs[0].live->unknown_frees == 0);
    CHECK_FALSE(runs.following());
    CHECK(history.counts().events == 25'002);
    CHECK(history.counts().segments == 1);
    REQUIRE(history.counts().marks == 1);
    CHECK(history.mark(0).kind == MarkKind::out_of_memory);
    CHECK(history.mark(0).event == 10'000);
    CHECK(history.mark(0).size == 77);
    CHECK(history.values(25'001)[Series::reserved] == 4096);
    CHECK(lives_of(history) == lives_of(folder.file("a.tml")));
}

TEST_CASE("memory that is mapped twice counts once, live and in the recording", "[live][viz]") {
    const LiveFolder folder;
    auto publisher = Publisher::start({.name = "worker", .recording = folder.file("a.tml")});
    REQUIRE(publisher);
    const auto follower = must_attach("worker");
    MemoryObserver& observer = (*publisher)->observer();
    const Range home{Address{0x10000}, 4096};
    const Range view{Address{0x90000}, 4096};
    observer.on_segment(SegmentChange::map, home, {}, Address::null);
    observer.on_segment(SegmentChange::map, view, {}, home.begin);
    observer.on_segment(SegmentChange::unmap, view, {}, home.begin);
    observer.on_segment(SegmentChange::map, view, {}, home.begin);
    // The home ends: the other place is it now.
    observer.on_segment(SegmentChange::unmap, home, {}, Address::null);
    observer.on_segment(SegmentChange::unmap, view, {}, home.begin);
    observer.on_segment(SegmentChange::map, view, {}, Address::null);
    REQUIRE((*publisher)->close());

    const viz::ViewedRun run = follow_to_end(*follower);
    const History& history = *run.history;
    const std::vector<Bytes> expected = {4096, 4096, 4096, 4096, 0, 0, 4096};
    REQUIRE(history.counts().events == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO("event " << i);
        CHECK(history.values(static_cast<EventIndex>(i))[Series::reserved] == expected[i]);
    }
    REQUIRE(history.counts().segments == 4);
    CHECK(history.segment(1).kind == SegmentKind::view);
    CHECK(history.segment(1).home == home.begin);
    CHECK(history.segment(3).kind == SegmentKind::mapping);

    const auto trace = open_trace(folder.file("a.tml"));
    REQUIRE(trace);
    CHECK((*trace)->info().event_count == 3);
}

TEST_CASE("a follower without a thread is an error", "[live][viz]") {
    const LiveFolder folder;
    const auto publisher = Publisher::start({.name = "worker", .recording = folder.file("a.tml")});
    REQUIRE(publisher);
    {
        const support::ThreadLimit none(0);
        const auto refused = Follower::start(live::find_program("worker").value());
        REQUIRE_FALSE(refused);
        CHECK(refused.error().what.starts_with("cannot start a thread"));
    }
    CHECK_FALSE(must_attach("worker")->over());
}

TEST_CASE("a follower of a killed program shows all that it had published",
          "[live][viz][one-thread]") {
    const LiveFolder folder;
    for (const bool recovers : {true, false}) {
        LiveChild child([&](LiveChild::Shared& shared) {
            auto publisher = Publisher::start({.name = "victim",
                                               .recording = folder.file("a.tml"),
                                               .overwrite = true});  // that of the round before
            for (std::uint64_t i = 1; publisher && i < kMostPublished; ++i) {
                (*publisher)->observer().on_allocate({.size = i}, {Address{i}, i});
                shared.published = i;
            }
        });
        child.await(5000);
        const auto first = must_attach("victim");
        viz::ViewedRun gone = first->new_run();
        while (gone.history->counts().events == 0)
            first->wait();
        first->detach();
        first->poll(gone);
        CHECK_FALSE(gone.live);
        CHECK(gone.history->counts().events > 0);

        const auto again = must_attach(std::to_string(child.id()), {.recovers = recovers});
        const auto other = must_attach("victim", {.recovers = recovers});
        child.await(50'000);
        child.kill();
        for (const auto& follower : {again.get(), other.get()}) {
            const viz::ViewedRun run = follow_to_end(*follower);
            CHECK(run.state.phase == viz::LoadState::Phase::ready);
            REQUIRE(run.live);
            CHECK_FALSE(run.live->alive);
            CHECK(run.live->died);
            CHECK(run.history->complete());
            CHECK(run.history->counts().blocks + run.live->dropped >= child.published());
            CHECK(run.history->counts().blocks + run.live->dropped <= child.published() + 1);
        }
        CHECK(live::list_programs().size() == (recovers ? 0 : 1));
        if (!recovers)
            CHECK(live::recover(live::list_programs().front()));
    }
}

TEST_CASE("a recording that isn't the user's own is not followed, and it is said why",
          "[live][viz]") {
    const LiveFolder folder;
    const support::DeadProgram program{.recording = folder.file("a.tml")};
    folder.write("private", program.recording_bytes());
    std::filesystem::create_symlink(folder.file("private"), program.recording);
    program.leave(folder);

    const viz::ViewedRun run = follow_to_end(*must_attach("victim", {.recovers = true}));

    CHECK(run.state.phase == viz::LoadState::Phase::failed);
    CHECK(run.state.error.what == "is a link, which isn't followed here");
    CHECK(run.history->counts().events == 0);
    CHECK(folder.read("private") == program.recording_bytes());
}

TEST_CASE("several programs are followed at once", "[live][viz]") {
    const LiveFolder folder;
    const auto work = [&](const std::string& name, std::uint64_t events) {
        return [&folder, name, events](LiveChild::Shared& shared) {
            auto publisher =
                Publisher::start({.name = name, .recording = folder.file(name + ".tml")});
            for (std::uint64_t i = 1; i <= events; ++i)
                (*publisher)->observer().on_allocate({.size = i}, {Address{i}, i});
            shared.published = events;
            while (!shared.go_on)
                ::usleep(100);
        };
    };
    LiveChild a(work("a", 1000));
    LiveChild b(work("b", 2000));
    a.await(1000);
    b.await(2000);
    viz::Session session;
    viz::LiveRuns runs(session);
    REQUIRE(runs.attach("a"));
    REQUIRE(runs.attach("b"));
    CHECK(viz::attachable_programs().size() == 2);
    const auto unknown = runs.attach("c");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().hint.find("(a)") != std::string::npos);
    a.go_on();
    b.go_on();
    a.join();
    b.join();
    while (!session.runs[0].history->complete() || !session.runs[1].history->complete())
        runs.wait();
    CHECK(session.runs[0].history->counts().events == 1000);
    CHECK(session.runs[1].history->counts().events == 2000);
    CHECK(session.runs[1].label.starts_with("b ("));
}

TEST_CASE("programs stand side by side by the clock, or from their own starts", "[live][viz]") {
    const LiveFolder folder;
    const auto work = [&](const std::string& name) {
        return [&folder, name](LiveChild::Shared& shared) {
            auto publisher =
                Publisher::start({.name = name, .recording = folder.file(name + ".tml")});
            (*publisher)->observer().on_allocate({.size = 1}, {Address{1}, 1});
            shared.published = 1;
            while (!shared.go_on)
                ::usleep(100);
        };
    };
    LiveChild early(work("early"));
    early.await(1);
    LiveChild late(work("late"));
    late.await(1);
    const Nanoseconds between = live::find_program("late")->header.start_time -
                                live::find_program("early")->header.start_time;
    REQUIRE(between > 0);
    viz::Session session;
    viz::LiveRuns runs(session);
    const auto first_event = [&](std::size_t run) {
        while (session.runs[run].history->counts().events == 0)
            runs.wait();
        return session.runs[run].history->time(0);
    };
    REQUIRE(runs.attach("late"));
    const Nanoseconds own = first_event(0);
    REQUIRE(runs.attach("early"));  // it began before what is there
    CHECK(first_event(0) == own + between);
    const Nanoseconds other = first_event(1);
    static_cast<void>(runs.poll());
    CHECK(session.runs[0].live->now >= between);
    REQUIRE(runs.align(false));
    CHECK(first_event(0) == own);
    CHECK(first_event(1) == other);
    REQUIRE(runs.align(true));
    CHECK(first_event(0) == own + between);
    early.go_on();
    late.go_on();
    early.join();
    late.join();
}

TEST_CASE("who comes late or was paused goes on from what lives", "[live][viz]") {
    const LiveFolder folder;
    // The ring is small, so that most is in the recording when work() has ended.
    auto publisher = Publisher::start({.name = "long",
                                       .recording = folder.file("a.tml"),
                                       .history_limit = 1_MiB,
                                       .ring_slots = 1U << 14U});
    REQUIRE(publisher);
    Worker worker(**publisher);
    const auto work = [&] {
        for (int i = 0; i < 20; ++i) {
            worker.work(2500);
            while (live::read_program((*publisher)->shared_path())->counters.fullest_ring > 0.3)
                std::this_thread::yield();
        }
    };
    const bool paused = GENERATE(false, true);
    std::unique_ptr<Follower> follower;
    if (paused) {
        follower = must_attach("long");
        follower->wait();
        follower->pause(true);
        work();
        viz::ViewedRun run = follower->new_run();
        follower->poll(run);
        CHECK(run.live->paused);
        CHECK(run.live->alive);
        CHECK(run.history->counts().events < 50'000);
    } else {
        work();
        follower = must_attach("long");
    }
    follower->pause(false);
    follower->wait();
    worker.work(3000);
    REQUIRE((*publisher)->close());
    const viz::ViewedRun run = follow_to_end(*follower);

    CHECK(run.state.phase == viz::LoadState::Phase::ready);
    CHECK(run.live->unknown_frees == 0);
    // What was forgotten meanwhile is counted and marked; a pause may also have come after all was
    // read, and then nothing is missing.
    INFO("paused " << paused << ", events " << run.history->counts().events << ", dropped "
                   << run.live->dropped);
    if (run.live->dropped == 0) {
        CHECK(paused);
        CHECK(run.history->counts().events == 53'000);
    } else {
        REQUIRE(run.history->counts().marks > 0);
        CHECK(run.history->mark(0).kind == MarkKind::lost);
    }
    // What lives at the end is what the last piece of the recording says.
    std::vector<std::string> pieces;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        if (entry.is_regular_file())
            pieces.push_back(entry.path().string());
    }
    const auto alive = [](std::vector<Life> lives) {
        std::erase_if(lives, [](const Life& life) { return life.ended; });
        std::sort(lives.begin(), lives.end());
        return lives;
    };
    CHECK(alive(lives_of(*run.history)) ==
          alive(lives_of(*std::max_element(pieces.begin(), pieces.end()))));
}

TEST_CASE("a history that is full is begun again with what lives", "[live][viz][property]") {
    const auto holds = [] {
        live::Header header;
        header.devices = 1;
        const auto feed = viz::LiveFeed::create(header, 1024);
        RC_ASSERT(feed.has_value());
        std::map<std::uint64_t, Bytes> naive;
        std::uint64_t sequence = 0;
        const auto pieces = *rc::gen::inRange(1, 40);
        for (int piece = 0; piece < pieces; ++piece) {
            live::ChainPiece next{.found = true};
            const auto count = *rc::gen::inRange<std::size_t>(0, 100);
            for (std::size_t i = 0; i < count; ++i) {
                const auto address = *rc::gen::inRange<std::uint64_t>(1, 60);
                Record record{.sequence = sequence, .time = 10 * sequence, .address = address};
                ++sequence;
                if (naive.erase(address) != 0) {
                    record.kind = RecordKind::free;
                } else {
                    record.kind = RecordKind::allocate;
                    record.size = sequence;
                    record.extra = sequence;
                    naive[address] = sequence;
                }
                next.records.push_back(record);
            }
            RC_ASSERT((*feed)->add(next).has_value());
        }
        const auto history = (*feed)->history();
        RC_ASSERT(history->counts().events <= 1024U);
        std::map<std::uint64_t, Bytes> alive;
        if (history->counts().events != 0)
            history->for_each_live(
                static_cast<EventIndex>(history->counts().events - 1), [&](BlockIndex block) {
                    alive[to_integer(history->block(block).address)] = history->block(block).size;
                });
        RC_ASSERT(alive == naive);
        RC_ASSERT((*feed)->counts().unknown_frees == 0U);
        RC_ASSERT((*feed)->counts().records == sequence);
    };
    CHECK(support::counterexample(support::effort(10), holds) == "");
}

TEST_CASE("names count from where they are defined", "[live][viz]") {
    live::Header header;
    header.devices = 1;
    const auto feed = viz::LiveFeed::create(header, 1 << 20);
    REQUIRE(feed);
    constexpr std::uint32_t kRing = 3U << live::kNumberBits;
    std::uint64_t address = 0;
    const auto block = [&](std::uint32_t site, std::uint16_t stream) {
        return Record{.address = ++address,
                      .size = 1,
                      .extra = 1,
                      .site = kRing | site,
                      .stream = stream,
                      .kind = RecordKind::allocate};
    };
    Record text;
    std::memcpy(static_cast<void*>(&text), "weights", 7);
    REQUIRE((*feed)->add(
        {.found = true,
         .records = {block(1, 1),
                     {.size = 7, .site = kRing | 9, .kind = RecordKind::string},
                     text,
                     block(1, 1),
                     {.address = kRing | 9, .site = kRing | 1, .kind = RecordKind::site},
                     block(1, 1),
                     {.extra = 0xabc, .site = kRing, .stream = 1, .kind = RecordKind::stream},
                     block(1, 1),
                     block(1, 0),
                     block(2, 1)}}));

    const auto history = (*feed)->history();
    REQUIRE(history->counts().blocks == 6);
    std::vector<std::pair<std::string, std::uint64_t>> seen;
    for (BlockIndex i = 0; i < 6; ++i) {
        const Site site = history->site(history->block(i).site);
        seen.emplace_back(history->strings()[site.tag],
                          history->streams()[to_integer(site.stream)]);
    }
    CHECK(seen ==
          std::vector<std::pair<std::string, std::uint64_t>>{
              {"", 0}, {"", 0}, {"weights", 0}, {"weights", 0xabc}, {"weights", 0}, {"", 0xabc}});
}

TEST_CASE("a feed counts what it cannot know and goes on", "[live][viz]") {
    live::Header header;
    header.devices = 1;
    const auto feed = viz::LiveFeed::create(header, 1 << 20);
    REQUIRE(feed);
    const auto word = [](RecordKind kind, std::uint64_t address, std::uint64_t size) {
        return Record{.address = address, .size = size, .extra = size, .kind = kind};
    };
    REQUIRE((*feed)->add(
        {.found = true,
         .records = {word(RecordKind::free, 5, 1), word(RecordKind::allocate, 5, 10),
                     word(RecordKind::lost, 0, 3), word(RecordKind::allocate, 5, 20),
                     word(static_cast<RecordKind>(200), 0, 0), word(RecordKind::segment_free, 9, 0),
                     word(RecordKind::unmap, 9, 64)}}));

    CHECK((*feed)->counts().unknown_frees == 1);
    CHECK((*feed)->counts().lost == 3);
    const auto history = (*feed)->history();
    REQUIRE(history->counts().blocks == 2);
    CHECK(history->block(0).freed == 2);  // somebody else has its place
    CHECK(history->block(1).freed == kNever);
    REQUIRE(history->counts().marks == 1);
    CHECK(history->mark(0).kind == MarkKind::lost);
    CHECK(history->mark(0).event == 2);
    CHECK(history->mark(0).size == 3);
}

TEST_CASE("a feed knows what was launched, until its stream's next event", "[live][viz]") {
    live::Header header;
    header.devices = 1;
    const auto feed = viz::LiveFeed::create(header, 1 << 20);
    REQUIRE(feed);
    const auto word = [](RecordKind kind, std::uint64_t address, std::uint64_t size,
                         std::uint64_t extra) {
        return Record{.address = address, .size = size, .extra = extra, .kind = kind};
    };
    REQUIRE((*feed)->add(
        {.found = true,
         .records = {word(RecordKind::allocate, 5, 10, 16), word(RecordKind::allocate, 6, 10, 16),
                     word(RecordKind::use, 5, live::kUseReads, 1),
                     word(RecordKind::use, 6, live::kUseWrites | live::kUsePerhaps, 1),
                     word(RecordKind::use, 0, live::kUsePerhaps, 2),
                     word(RecordKind::free, 5, 0, 0), word(RecordKind::execution, 1000, 30, 2),
                     word(RecordKind::execution, ~std::uint64_t{0}, ~std::uint64_t{0}, 7)}}));
    const auto history = (*feed)->history();
    REQUIRE(history->counts().executions == 2);
    CHECK(history->execution(0).launch == 1);
    CHECK(history->execution(0).begin == 1000);
    CHECK(history->execution(0).end() == 1030);
    CHECK(history->execution(1).launch == Execution::kNoLaunch);
    CHECK(history->execution(1).end() > 0);  // no sum of times is too large
    REQUIRE(history->counts().launches == 2);
    CHECK(history->uses(0).blocks == std::vector<BlockIndex>{0, 1});
    CHECK(history->uses(0).possible == 1);
    CHECK(history->launch(0).end == 4);
    CHECK(history->uses(1).unknown);
    CHECK(history->launch(1).end == 5);
}

}  // namespace tidemark
