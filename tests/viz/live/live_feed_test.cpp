// The feed under records that are more than they seem: what one of them ends, and what never ends.
#include "viz/live/live_feed.h"

#include <catch2/catch.hpp>

#include "traces/live/live_set.h"

namespace tidemark {
namespace {

using live::Record;
using live::RecordKind;

constexpr std::uint64_t kBase = 0x7f0000000000;
constexpr std::uint64_t kPages = 10'000;

std::unique_ptr<viz::LiveFeed> make_feed(std::uint64_t most_events = 1 << 20) {
    live::Header header;
    header.devices = 1;
    auto feed = viz::LiveFeed::create(header, most_events);
    REQUIRE(feed);
    return std::move(*feed);
}

// So many ranges side by side.
std::vector<Record> many(RecordKind kind) {
    std::vector<Record> records;
    for (std::uint64_t i = 0; i < kPages; ++i)
        records.push_back(
            {.sequence = i, .time = i, .address = kBase + i * 2_MiB, .size = 2_MiB, .kind = kind});
    return records;
}

}  // namespace

TEST_CASE("one record may end any number of mappings, segments or reservations", "[live][viz]") {
    for (const auto& [begin, end] : {std::pair{RecordKind::map, RecordKind::unmap},
                                     {RecordKind::segment_alloc, RecordKind::segment_free},
                                     {RecordKind::reserve, RecordKind::unreserve}}) {
        const auto feed = make_feed();
        REQUIRE(feed->add({.found = true, .records = many(begin)}));
        REQUIRE(feed->add({.found = true,
                           .records = {{.sequence = kPages,
                                        .time = kPages,
                                        .address = kBase,
                                        .size = kPages * 2_MiB,
                                        .kind = end}}}));
        REQUIRE(feed->finish());

        const auto history = feed->history();
        INFO("kind " << static_cast<int>(begin));
        CHECK(history->counts().segments == kPages);
        CHECK(history->segment(kPages / 2).died != kNever);
        if (begin != RecordKind::reserve)
            CHECK(history->counts().events == 2 * kPages);
        CHECK(history->values(
                  static_cast<EventIndex>(history->counts().events - 1))[Series::reserved] == 0);
    }
}

TEST_CASE("an unmapping in the middle of a mapping leaves both ends, also of a full history",
          "[live][viz]") {
    const auto feed = make_feed(1024);
    std::uint64_t sequence = 0;
    const auto change = [&](RecordKind kind, std::uint64_t address, Bytes size) {
        return Record{.sequence = ++sequence,
                      .time = sequence,
                      .address = address,
                      .size = size,
                      .kind = kind};
    };
    REQUIRE(feed->add({.found = true, .records = {change(RecordKind::map, kBase, 3000 * 2_MiB)}}));
    for (std::uint64_t i = 1; i < 3000; i += 2)
        REQUIRE(feed->add(
            {.found = true, .records = {change(RecordKind::unmap, kBase + i * 2_MiB, 2_MiB)}}));

    const auto history = feed->history();
    CHECK(history->values(static_cast<EventIndex>(history->counts().events -
                                                  1))[Series::reserved] == 1500 * 2_MiB);
    REQUIRE(
        feed->add({.found = true, .records = {change(RecordKind::unmap, kBase, 3000 * 2_MiB)}}));
    const auto last = feed->history();
    CHECK(last->values(static_cast<EventIndex>(last->counts().events - 1))[Series::reserved] == 0);
}

TEST_CASE("of ranges that nobody ends the last are known", "[live][viz]") {
    const auto feed = make_feed();
    std::vector<Record> records;
    constexpr std::uint64_t kRanges = 50'000;
    for (std::uint64_t i = 0; i < kRanges; ++i)
        records.push_back({.sequence = i, .time = i, .kind = RecordKind::range_begin});
    REQUIRE(feed->add({.found = true, .records = records}));
    CHECK(feed->history()->counts().annotations == kRanges);

    // Begun again with what is known.
    const auto small = make_feed(1024);
    records.resize(4000);
    REQUIRE(small->add({.found = true, .records = records}));
    REQUIRE(small->add(
        {.found = true, .records = {{.sequence = 4000, .time = 4000, .kind = RecordKind::trim}}}));
    CHECK(small->history()->counts().annotations == live::kMostOpenRanges);
}

TEST_CASE("sizes and times that no program has are taken as they come", "[live][viz]") {
    constexpr std::uint64_t kMost = ~std::uint64_t{0};
    const auto feed = make_feed();
    std::vector<Record> records;
    for (std::uint8_t kind = 0; kind < 60; ++kind) {
        if (!live::is_name(static_cast<RecordKind>(kind)))
            records.push_back({.sequence = kMost,
                               .time = kMost,
                               .address = kMost - kind % 3,
                               .size = kMost - kind % 5,
                               .extra = kMost,
                               .kind = static_cast<RecordKind>(kind)});
    }
    REQUIRE(feed->add({.found = true, .records = records}));
    REQUIRE(feed->add(
        {.found = true, .snapshot = true, .jumped = true, .forgotten = kMost, .records = records}));
    CHECK(feed->finish());
}

}  // namespace tidemark
