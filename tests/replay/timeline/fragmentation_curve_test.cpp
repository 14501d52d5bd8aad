// What cannot go back to the device, against a look at every segment, page and block after every
// event; and against what an allocator itself says of its memory.
#include "replay/timeline/fragmentation_curve.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "replay/analysis/advise/memory.h"
#include "replay/scenario/record_history.h"
#include "replay/timeline/memory_spans.h"
#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "traces/open.h"

namespace tidemark {
namespace {

using support::SmallHistory;

const std::atomic<bool> kGoOn = false;

std::shared_ptr<FragmentationCurve> curve_of(const std::shared_ptr<const History>& history) {
    auto curve = FragmentationCurve::create(history);
    REQUIRE(curve);
    const auto extended = (*curve)->extend(kGoOn);
    REQUIRE(extended);
    CHECK(*extended);
    CHECK((*curve)->events() == history->counts().events);
    return *curve;
}

bool is_in(const Segment& segment, std::uint16_t device, std::uint64_t address) {
    return segment.device == device && address >= to_integer(segment.begin) &&
           address - to_integer(segment.begin) < segment.size;
}

std::vector<Segment> segments_of(const History& history) {
    std::vector<Segment> segments;
    for (SegmentIndex i = 0; i < history.counts().segments; ++i)
        segments.push_back(history.segment(i));
    return segments;
}

Bytes overlap(const Block& block, std::uint64_t begin, Bytes size) {
    const std::uint64_t first = std::max(begin, to_integer(block.address));
    const std::uint64_t end = std::min(begin + size, to_integer(block.address) + block.size);
    return end > first ? end - first : 0;
}

// When the memory of a page came: the rest of a mapping that was unmapped in part is older than it.
EventIndex first_birth(const std::vector<Segment>& segments, const Segment& segment, Bytes at) {
    const std::uint64_t address = to_integer(segment.begin) + at;
    EventIndex born = segment.born;
    for (bool older = segment.kind == SegmentKind::mapping; older;) {
        older = false;
        for (const Segment& other : segments)
            if (other.kind == SegmentKind::mapping && other.died == born && other.born < born &&
                is_in(other, segment.device, address)) {
                born = other.born;
                older = true;
            }
    }
    return born;
}

// A segment, or a page, from when on and until when.
struct PlainPiece {
    std::uint16_t device = 0;
    std::uint64_t begin = 0;
    Bytes size = 0;
    EventIndex born = 0;
    EventIndex died = 0;
    EventIndex first_birth = 0;
};

std::vector<PlainPiece> pieces_of(const History& history) {
    const std::vector<Segment> segments = segments_of(history);
    std::vector<PlainPiece> pieces;
    for (const Segment& segment : segments) {
        if (segment.kind == SegmentKind::reservation)
            continue;
        const Bytes page = segment.kind == SegmentKind::mapping ? segment.page : segment.size;
        for (Bytes at = 0; at < segment.size; at += page)
            pieces.push_back({segment.device, to_integer(segment.begin) + at, page, segment.born,
                              segment.died, first_birth(segments, segment, at)});
    }
    return pieces;
}

// By the definition: each piece that is there and of which something is taken.
Bytes plain_held(const History& history, const std::vector<PlainPiece>& pieces, EventIndex event) {
    std::vector<std::pair<std::uint16_t, Block>> live;
    Bytes held = 0;
    for (BlockIndex i = 0; i < history.counts().blocks; ++i) {
        const Block block = history.block(i);
        if (block.born > event || block.reused <= event)
            continue;
        live.emplace_back(history.site(block.site).device, block);
        held += block.size;
    }
    for (const PlainPiece& piece : pieces) {
        if (piece.born > event || event >= piece.died)
            continue;
        Bytes taken = 0;
        for (const auto& [device, block] : live)
            if (device == piece.device && piece.first_birth <= block.born)
                taken += overlap(block, piece.begin, piece.size);
        held += taken == 0 ? 0 : piece.size - taken;
    }
    return held;
}

void check_events(const History& history, const FragmentationCurve& curve, EventIndex step) {
    const std::vector<PlainPiece> pieces = pieces_of(history);
    for (EventIndex event = 0; event < curve.events(); event += step) {
        INFO("event " << event);
        REQUIRE(curve.held(event) == plain_held(history, pieces, event));
    }
}

// Segments, reservations with pages, and blocks in them and elsewhere, at random.
class RandomMemory {
  public:
    explicit RandomMemory(std::uint64_t seed) : random_(seed) {
        for (std::uint16_t device = 0; device < 2; ++device) {
            // Pages of 4096 in one, in the other of 20 MiB.
            steps_.reserve(kPages, 64 * 4096, device);
            steps_.reserve(kLarge, 400_MiB, device);
        }
    }

    void step() {
        const auto device = static_cast<std::uint16_t>(random_.below(2));
        switch (random_.below(10)) {
            case 0:
                return change_segment(device);
            case 1:
                return change_pages(device, kPages, 4096);
            case 2:
                return change_pages(device, kLarge, 20_MiB);
            case 3:
                steps_.idle();
                return;
            default:
                return random_.below(2) == 0 ? allocate(device) : end();
        }
    }

    SmallHistory& steps() { return steps_; }

  private:
    static constexpr std::uint64_t kSegments = 0x1000'0000;
    static constexpr std::uint64_t kPages = 0x2000'0000;
    static constexpr std::uint64_t kLarge = 0x4000'0000;

    struct Life {
        std::uint64_t id = 0;
        std::uint64_t begin = 0;
        Bytes size = 0;
        std::uint16_t device = 0;
    };

    // One of eight places; segments that hold blocks mostly stay.
    void change_segment(std::uint16_t device) {
        const std::uint64_t begin = kSegments + random_.below(8) * 0x2000;
        const auto key = std::pair(device, begin);
        if (const auto found = segments_.find(key); found != segments_.end()) {
            if (any_within(device, begin, found->second) && random_.below(4) != 0)
                return;
            steps_.end_segment(begin, found->second, device);
            segments_.erase(found);
        } else {
            const Bytes size = 0x200 * (1 + random_.below(16));
            segments_[key] = size;
            steps_.segment(begin, size, device);
        }
    }

    // One to three pages of a size come together, and go one by one.
    void change_pages(std::uint16_t device, std::uint64_t base, Bytes size) {
        const std::uint64_t slot = random_.below(5);
        const std::uint64_t begin = base + size * 3 * slot;
        auto& pages = pages_[{device, begin}];
        if (pages.empty()) {
            steps_.idle();
            const std::uint64_t count = 1 + random_.below(3);
            for (std::uint64_t i = 0; i < count; ++i) {
                pages.push_back(begin + i * size);
                steps_.builder().change_segment(
                    device, SegmentChange::map, {Address{pages.back()}, size},
                    StreamId::default_stream, steps_.builder().next_event() - 1, Address::null);
            }
            return;
        }
        const std::size_t which = random_.below(pages.size());
        if (any_within(device, pages[which], size))
            return;
        steps_.unmap(pages[which], size, device);
        pages.erase(pages.begin() + static_cast<std::ptrdiff_t>(which));
    }

    bool any_within(std::uint16_t device, std::uint64_t begin, Bytes size) const {
        return std::any_of(live_.begin(), live_.end(), [&](const Life& life) {
            return life.device == device && life.begin < begin + size &&
                   begin < life.begin + life.size;
        });
    }

    void allocate(std::uint16_t device) {
        Life life{next_++, 0, 0, device};
        switch (random_.below(4)) {
            case 0:  // in a segment, if there is one
                for (const auto& [key, size] : segments_)
                    if (key.first == device && random_.below(2) == 0) {
                        life.size = 0x40 * (1 + random_.below(8));
                        life.begin = key.second + 0x40 * random_.below(size / 0x40);
                        life.size = std::min(life.size, key.second + size - life.begin);
                    }
                break;
            case 1:
                life.size = 0x100 * (1 + random_.below(40));
                life.begin = kPages + 0x100 * random_.below(64 * 16 - 40);
                break;
            case 2:
                life.size = 1_MiB * (1 + random_.below(70));
                life.begin = kLarge + 1_MiB * random_.below(300);
                break;
            default:  // where no segment is
                life.size = random_.below(3) * 512;
                life.begin = 0x100'0000'0000 + 0x1000 * next_;
        }
        if (life.begin == 0 || any_within(device, life.begin, std::max<Bytes>(life.size, 1)))
            return;
        steps_.allocate(life.id, life.size, {.address = life.begin, .device = device});
        live_.push_back(life);
    }

    // At once, or with the device's consent: told by an event, by none, or much later.
    void end() {
        if (live_.empty())
            return;
        const std::size_t which = random_.below(live_.size());
        const Life life = live_[which];
        HistoryBuilder& builder = steps_.builder();
        const BlockIndex block = steps_.block(life.id);
        switch (random_.below(5)) {
            case 0:
                steps_.retire(life.id).idle().finish(life.id);
                break;
            case 1:
                REQUIRE(builder.make_room(1));
                builder.add({.time = 0, .kind = EventKind::free, .block = block, .deferred = true});
                for (std::uint64_t i = random_.below(3); i > 0; --i)
                    steps_.idle();
                builder.reuse(block);
                break;
            case 2:
                steps_.idle();
                builder.reuse(block);
                break;
            default:
                steps_.free(life.id);
        }
        live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
    }

    Random random_;
    SmallHistory steps_;
    std::vector<Life> live_;
    std::map<std::pair<std::uint16_t, std::uint64_t>, Bytes> segments_;
    std::map<std::pair<std::uint16_t, std::uint64_t>, std::vector<std::uint64_t>> pages_;
    std::uint64_t next_ = 1;
};

SeriesColumn column_of(EventIndex first, EventIndex events) {
    SeriesColumn column;
    column.first_event = first;
    column.events = events;
    return column;
}

}  // namespace

TEST_CASE("what a segment holds keeps all of it; a free one is cached", "[fragmentation]") {
    SmallHistory steps;
    steps.segment(0x10000, 1000).segment(0x20000, 500);                   // 0 1
    steps.allocate(1, 100, {.address = 0x10000});                         // 2
    steps.allocate(2, 50, {.address = 0x10100});                          // 3
    steps.free(1).retire(2).idle().finish(2).end_segment(0x10000, 1000);  // 4 5 6 7 8
    const auto history = steps.build();
    const auto curve = curve_of(history);
    const Bytes held[] = {0, 0, 1000, 1000, 1000, 1000, 1000, 0, 0};
    const Bytes lost[] = {0, 0, 900, 850, 950, 950, 950, 0, 0};
    for (EventIndex event = 0; event < std::size(held); ++event) {
        INFO("event " << event);
        CHECK(curve->held(event) == held[event]);
        CHECK(curve->fragmentation(event) == lost[event]);
    }
}

TEST_CASE("of a reservation only pages that are taken in part are lost", "[fragmentation]") {
    SmallHistory steps;
    steps.reserve(0x1000'0000, 1_GiB).map(0x1000'0000, 20_MiB).map(0x1000'0000 + 20_MiB, 20_MiB);
    steps.map(0x1000'0000 + 40_MiB, 20_MiB);
    steps.allocate(1, 41_MiB, {.address = 0x1000'0000});
    steps.allocate(2, 1_MiB, {.address = 0x1000'0000 + 41_MiB}).free(1);
    steps.unmap(0x1000'0000, 40_MiB);
    const auto curve = curve_of(steps.build());
    CHECK(curve->fragmentation(4) == 19_MiB);
    CHECK(curve->fragmentation(5) == 18_MiB);
    CHECK(curve->fragmentation(6) == 19_MiB);
    CHECK(curve->fragmentation(7) == 19_MiB);  // not the page beside it
}

TEST_CASE("after every event it is what a look at everything finds", "[fragmentation]") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        INFO("seed " << seed);
        RandomMemory memory(seed);
        for (int i = 0; i < 400; ++i)
            memory.step();
        const auto history = memory.steps().build();
        check_events(*history, *curve_of(history), 1);
    }
}

TEST_CASE("a curve that grows with its history is the one made at the end", "[fragmentation]") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        INFO("seed " << seed);
        Random random(seed);
        RandomMemory memory(seed);
        std::shared_ptr<FragmentationCurve> curve;
        bool is_right = false;
        for (int part = 0; part < 12; ++part) {
            for (std::uint64_t i = random.below(90); i > 0; --i)
                memory.step();
            const auto history = part < 11 ? memory.steps().look() : memory.steps().build();
            if (!is_right)
                curve = FragmentationCurve::create(history).value();
            is_right = curve->extend(kGoOn).value();
        }
        const auto history = memory.steps().look();
        if (!is_right)
            curve = curve_of(history);
        check_events(*history, *curve, 1);
    }
}

TEST_CASE("it is swept while the history is written", "[fragmentation]") {
    RandomMemory memory(5);
    const auto history = memory.steps().look();
    std::atomic<bool> written = false;
    std::shared_ptr<FragmentationCurve> curve;
    std::thread sweeper([&] {
        for (bool last = false, is_right = false; !last || !is_right;) {
            last = written;
            if (!is_right)
                curve = FragmentationCurve::create(history).value();
            is_right = curve->extend(kGoOn).value();
        }
    });
    for (int i = 0; i < 2500; ++i) {
        memory.step();
        if (i % 5 == 0)
            memory.steps().look();
    }
    memory.steps().build();
    written = true;
    sweeper.join();
    check_events(*history, *curve, 17);
}

TEST_CASE("pages of later reservations at one address are their own", "[fragmentation]") {
    SmallHistory steps;
    steps.reserve(0x1000'0000, 1_GiB).map(0x1000'0000, 2_MiB);
    steps.allocate(1, 1_MiB, {.address = 0x1000'0000}).free(1);
    steps.unmap(0x1000'0000, 2_MiB).reserve(0x1000'0000, 2_GiB);
    steps.map(0x1000'0000, 20_MiB).allocate(2, 1_MiB, {.address = 0x1000'0000});
    const auto curve = curve_of(steps.build());
    CHECK(curve->fragmentation(2) == 1_MiB);
    CHECK(curve->fragmentation(7) == 19_MiB);
}

TEST_CASE("columns lose no peak, at every zoom", "[fragmentation]") {
    RandomMemory memory(3);
    for (int i = 0; i < 9000; ++i)
        memory.step();
    const auto history = memory.steps().build();
    const auto curve = curve_of(history);
    CHECK(support::counterexample(support::effort(200), [&] {
              const auto events = static_cast<EventIndex>(history->counts().events);
              const auto first = *rc::gen::inRange<EventIndex>(0, events);
              const auto wide = *rc::gen::element<EventIndex>(1, 10, 64, 65, 3000, events);
              const SeriesColumn query = column_of(
                  first,
                  *rc::gen::inRange<EventIndex>(0, std::min<EventIndex>(wide, events - first) + 1));
              HeldColumn plain;
              plain.last = first == 0 ? 0 : curve->held(first - 1);
              plain.min = plain.max = plain.last;
              for (EventIndex event = first; event < first + query.events; ++event) {
                  plain.last = curve->held(event);
                  plain.min = std::min(plain.min, plain.last);
                  plain.max = std::max(plain.max, plain.last);
              }
              HeldColumn found;
              curve->columns({&query, 1}, {&found, 1});
              RC_ASSERT(found == plain);
          }).empty());
}

TEST_CASE("what isn't known yet is nothing", "[fragmentation]") {
    SmallHistory steps;
    steps.segment(0x10000, 1000).allocate(1, 100, {.address = 0x10000});
    const auto history = steps.look();
    const auto curve = curve_of(history);
    for (int i = 0; i < 100'000; ++i)
        steps.idle();
    steps.look();
    const SeriesColumn query[] = {column_of(1, 3), column_of(2, 0), column_of(3, 1)};
    HeldColumn found[3];
    curve->columns(query, found);
    CHECK(found[0] == HeldColumn{0, 1000, 1000});
    CHECK(found[1] == HeldColumn{1000, 1000, 1000});
    CHECK(found[2] == HeldColumn{});
    const std::atomic<bool> stop = true;
    CHECK(curve->extend(stop).value());  // a part is kept
    CHECK(curve->events() > 2);
    CHECK(curve->events() < 100'000);
    CHECK(curve->extend(kGoOn).value());
    CHECK(curve->held(99'999) == 1000);
}

TEST_CASE("it is what the allocator's own regions say", "[fragmentation]") {
    for (const char* const path :
         {"generate:steps:events=4000", "generate:serving:events=4000", "generate:mix:events=4000",
          TIDEMARK_SOURCE_DIR "/traces/samples/torch/gpt2_var.pickle.xz"}) {
        const auto trace = open_trace(path);
        REQUIRE(trace);
        for (const char* const policy : {"torch", "torch:expandable_segments=true", "kv-pages"}) {
            INFO(path << " " << policy);
            TrialSetup setup;
            setup.policy = parse_policy(policy).value();
            const auto peak = find_peak(**trace, setup);
            REQUIRE(peak);
            const auto recorded = record_history(**trace, {.trace = path, .policy = policy}, {});
            REQUIRE(recorded);
            const auto curve = curve_of(recorded->history);
            const auto event = static_cast<EventIndex>(peak->fullest.event);
            CHECK(recorded->history->values(event)[Series::reserved] ==
                  peak->fullest.usage.reserved);
            const facts::MemoryParts parts = memory_parts(*peak);
            CHECK(curve->fragmentation(event) == parts.fragmentation);
            CHECK(facts::memory_parts(*recorded->history, event, kGoOn) == parts);
        }
    }
}

TEST_CASE("under every policy it lies between active and reserved", "[fragmentation]") {
    const auto trace = open_trace("generate:mix:events=3000,streams=3");
    REQUIRE(trace);
    for (const char* const policy :
         {"torch", "torch:expandable_segments=true", "vpmm", "best-fit", "buddy", "bump", "arena",
          "cuda-malloc", "extent", "kv-pages"}) {
        INFO(policy);
        const auto recorded = record_history(**trace, {.policy = policy}, {});
        REQUIRE(recorded);
        const History& history = *recorded->history;
        const auto curve = curve_of(recorded->history);
        for (EventIndex event = 0; event < history.counts().events; event += 7) {
            const SeriesValues values = history.values(event);
            REQUIRE(curve->held(event) >= values[Series::active]);
            REQUIRE(curve->held(event) <= values[Series::reserved]);
        }
        if (std::string_view(policy) != "extent")  // its blocks lie in second mappings
            check_events(history, *curve, 501);
        for (EventIndex event = 0; event < history.counts().events; event += 501)
            CHECK(free_space(memory_spans(history, event, kGoOn)).fragmentation ==
                  curve->fragmentation(event));
    }
}

}  // namespace tidemark
