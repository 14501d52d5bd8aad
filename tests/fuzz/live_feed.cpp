// A viewer of living programs, from one end to the other: what a program publishes, through its
// ring and its recorder into a recording, and from there through the feed into a history, of which
// every view is drawn.
//
// The first byte says how the rest is meant: as calls of the publisher, which can say what any
// program can; or as the bytes of records, which a file may hold whoever wrote it.
#include "viz/live/live_feed.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "tests/fuzz/draw_all.h"
#include "tests/fuzz/targets.h"
#include "tests/support/test_folder.h"
#include "traces/live/programs.h"
#include "traces/live/publisher.h"
#include "traces/live/recording_chain.h"
#include "viz/model/session/session.h"

namespace tidemark::fuzz {
namespace {

constexpr std::uint64_t kMostEvents = 1024;  // of a history: it is begun again now and then
constexpr std::size_t kMostBytes = 32'768;

// Eight bytes: what happens, and to what.
struct Step {
    std::uint8_t kind = 0;
    std::uint8_t location = 0;
    std::uint8_t size = 0;
    std::uint8_t extra = 0;
    std::uint8_t stream = 0;
    std::uint8_t device = 0;
    std::uint8_t name = 0;
    std::uint8_t time = 0;
};

static_assert(sizeof(Step) == 8);

// Small numbers near each other, and the ends of the scale.
std::uint64_t number(std::uint8_t from, std::uint64_t unit) {
    constexpr std::uint8_t kSmall = 0xc0;
    if (from < kSmall)
        return from * unit;
    return from < 0xe0 ? ~std::uint64_t{0} - (0xdfU - from) * unit
                       : std::uint64_t{1} << (32U + from - 0xe0U);
}

void publish(live::Publisher& publisher, const Step& step) {
    const std::string name = "step " + std::to_string(step.name % 16U);
    switch (step.kind % 32U) {
        case 16:
            return publisher.range(name, false);
        case 17:
            return publisher.range(name, true);
        case 18:
            return publisher.mark(name);
        case 20:
            static_cast<void>(publisher.setting(name, "value", step.extra % 2 != 0));
            return;
        default:
            break;
    }
    const live::LiveFrame frame{name, "file.py", step.extra};
    const bool lives = step.kind % 64U >= 48;
    publisher.put(
        {.kind = static_cast<live::RecordKind>(lives ? 48U + step.kind % 5U : step.kind % 20U),
         .device = static_cast<std::uint8_t>(step.device % 2U),
         .stream = step.stream % 8U,
         .address = number(step.location, 4096),
         .size = number(step.size, 4096),
         .extra = number(step.extra, 4096),
         .pool = PoolId{step.name % 4U},
         .tag = publisher.string(name),
         .stack = publisher.stack(std::span(&frame, 1)),
         .time = number(step.time, 1'000'000)});
}

// What the feed makes of a recording, as far as it can be read.
void feed_all(viz::LiveFeed& feed, const live::Header& header) {
    live::RecordingChain chain(header, 1, live::Owner::oneself);
    for (;;) {
        const Result<live::ChainPiece> piece = chain.next(0);
        if (!piece || !piece->found)
            return;
        TM_CHECK(feed.add(*piece).has_value());
    }
}

void draw(viz::LiveFeed& feed, const std::string& name) {
    TM_CHECK(feed.finish().has_value());
    viz::Session session;
    viz::ViewedRun run;
    run.label = name;
    run.trace_name = name;
    run.policy = "live";
    run.history = feed.history();
    run.state.phase = viz::LoadState::Phase::ready;
    run.live = viz::LiveState{.alive = !feed.counts().ended,
                              .died = feed.counts().died,
                              .now = 1'000'000'000,
                              .events_per_second = 1e6,
                              .dropped = feed.counts().lost,
                              .unknown_frees = feed.counts().unknown_frees};
    session.runs.push_back(std::move(run));
    draw_all(session);
}

live::Header header_of(const std::string& recording, std::uint64_t session) {
    live::Header header;
    header.magic = live::kRecordingMagic;
    header.session = session;
    header.segment = 1;
    header.devices = 2;
    live::put_text(header.name, "fuzzed");
    live::put_text(header.recording, recording);
    live::seal(header);
    return header;
}

void as_calls(std::span<const std::byte> bytes, bool limited) {
    const support::TestFolder folder;
    auto publisher = live::Publisher::start({.name = "fuzzed",
                                             .recording = folder.file("a.tml"),
                                             .history_limit = limited ? 1_MiB : 0,
                                             .devices = {{"a", 1_GiB}, {"b", 0}},
                                             .rings = 1,
                                             .ring_slots = 2048,
                                             .runtime_folder = folder.file("run"),
                                             .records = false,
                                             .given_times = true});
    TM_CHECK(publisher.has_value());
    const auto program = live::read_program((*publisher)->shared_path());
    TM_CHECK(program.has_value());
    for (std::size_t at = 0; at + sizeof(Step) <= bytes.size(); at += sizeof(Step)) {
        Step step;
        std::memcpy(&step, bytes.data() + at, sizeof step);
        publish(**publisher, step);
        if (at / sizeof(Step) % 128 == 0)
            TM_CHECK((*publisher)->empty_rings().has_value());
    }
    TM_CHECK((*publisher)->close().has_value());
    auto feed = viz::LiveFeed::create(program->header, kMostEvents);
    TM_CHECK(feed.has_value());
    feed_all(**feed, program->header);
    draw(**feed, "calls");
}

void as_records(std::span<const std::byte> bytes, std::uint8_t cut) {
    const live::Header header = header_of("none.tml", 1);
    auto feed = viz::LiveFeed::create(header, kMostEvents, Nanoseconds{cut} << 53U);
    TM_CHECK(feed.has_value());
    bool snapshot = cut % 3 == 0;
    const std::size_t most = (1 + std::size_t{cut} % 64) * sizeof(live::Record);
    while (!bytes.empty()) {
        const auto piece = bytes.first(std::min(bytes.size(), most));
        bytes = bytes.subspan(piece.size());
        TM_CHECK((*feed)
                     ->add({.found = true,
                            .snapshot = snapshot,
                            .jumped = snapshot,
                            .forgotten = cut,
                            .records = live::records_of(piece)})
                     .has_value());
        snapshot = !snapshot && cut % 5 == 0;
    }
    draw(**feed, "records");
}

}  // namespace

void live_feed(std::span<const std::byte> bytes) {
    const auto how = bytes.empty() ? 0U : std::to_integer<std::uint8_t>(bytes.front());
    bytes = bytes.subspan(std::min<std::size_t>(bytes.size(), 1));
    bytes = bytes.first(std::min(bytes.size(), kMostBytes));
    if (how % 2 == 0)
        as_calls(bytes, how % 4 == 0);
    else
        as_records(bytes, static_cast<std::uint8_t>(how));
}

}  // namespace tidemark::fuzz
