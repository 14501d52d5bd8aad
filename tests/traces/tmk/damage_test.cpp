// .tmk files that are cut off, damaged or made up: what was whole is kept, the rest is an error,
// and nothing crashes or takes memory that it has no claim to.
#include <cstring>

#include <catch2/catch.hpp>

#include "tests/traces/tmk/random_trace.h"
#include "traces/tmk/chunk.h"
#include "traces/tmk/tmk.h"
#include "traces/tmk/wire.h"

using namespace tidemark;
using support::small_info;
using support::write_tmk;

namespace {

using ByteVector = std::vector<std::byte>;

ByteVector first(const ByteVector& bytes, std::size_t count) {
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

// Opens and reads everything; the events, or none if that is an error somewhere.
std::vector<TraceEvent> read_what_can_be(ByteVector bytes) {
    const auto trace = open_tmk(std::move(bytes), "test.tmk");
    if (!trace)
        return {};
    const TraceInfo& info = (*trace)->info();
    auto events = support::read_all(*(*trace)->cursor());
    if (!events)
        return {};
    const auto is_inside = [&info](const TraceEvent& event) {
        return (event.slot == kNoSlot || event.slot < info.slot_count) &&
               event.device < info.devices.size() &&
               to_integer(event.stream) < info.streams.size() && event.stack < info.stacks.size() &&
               event.tag < info.strings.size();
    };
    REQUIRE(std::ranges::all_of(*events, is_inside));
    return std::move(*events);
}

// The same file with its first chunk's checksum made right again.
void mend_first_block(ByteVector& file) {
    std::uint64_t size = 0;
    std::memcpy(&size, file.data() + tmk::kHeaderSize + 16, sizeof size);
    const auto checked =
        std::span(file).subspan(tmk::kHeaderSize + 8, tmk::kBlockHeaderSize - 8 + size);
    const std::uint64_t hash = tmk::hash_bytes(checked);
    std::memcpy(file.data() + tmk::kHeaderSize, &hash, sizeof hash);
}

}  // namespace

TEST_CASE("a file cut off anywhere opens up to its last whole chunk", "[tmk][hostile]") {
    Random random(1);
    const auto events = support::plain_events(random, tmk::kChunkEvents + 300);
    const ByteVector whole = write_tmk(events, small_info());
    std::uint64_t first_size = 0;
    std::memcpy(&first_size, whole.data() + tmk::kHeaderSize + 16, sizeof first_size);
    const std::size_t one_chunk = tmk::kHeaderSize + tmk::kBlockHeaderSize + first_size;

    const auto trace = open_tmk(first(whole, one_chunk + 100), "test.tmk");

    REQUIRE(trace);
    CHECK((*trace)->info().cut_off);
    REQUIRE((*trace)->info().warnings.size() == 1);
    CHECK_THAT((*trace)->info().warnings[0],
               Catch::Contains("65,536 events") && Catch::Contains("call stacks"));
    const auto kept = support::read_all(*(*trace)->cursor());
    REQUIRE(kept);
    REQUIRE(kept->size() == tmk::kChunkEvents);
    std::vector<TraceEvent> expected(events.begin(), events.begin() + tmk::kChunkEvents);
    for (TraceEvent& event : expected)
        event.stack = 0;  // the stacks stood behind the events
    CHECK(*kept == expected);
}

TEST_CASE("a small file cut at every byte gives an error or a prefix",
          "[tmk][hostile][one-thread]") {
    Random random(2);
    const auto events = support::any_events(random, 200);
    const ByteVector whole = write_tmk(events, small_info());

    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto trace = open_tmk(first(whole, size), "test.tmk");
        if (size < tmk::kHeaderSize) {
            REQUIRE_FALSE(trace);
            continue;
        }
        REQUIRE(trace);
        REQUIRE((*trace)->info().cut_off);
        const auto kept = support::read_all(*(*trace)->cursor());
        REQUIRE(kept);
        REQUIRE((kept->empty() || kept->size() == events.size()));
    }
}

TEST_CASE("without its index a file keeps its names", "[tmk][hostile]") {
    Random random(3);
    const auto events = support::plain_events(random, 500);
    const ByteVector whole = write_tmk(events, small_info());

    const auto trace = open_tmk(first(whole, whole.size() - tmk::kTrailerSize), "test.tmk");

    REQUIRE(trace);
    CHECK((*trace)->info().cut_off);
    CHECK((*trace)->info().strings.size() == small_info().strings.size());
    CHECK(*support::read_all(*(*trace)->cursor()) == events);
    CHECK((*trace)->hash() == (*open_tmk(whole, "test.tmk"))->hash());
}

TEST_CASE("a flipped bit at every byte gives an error or what was written",
          "[tmk][hostile][one-thread]") {
    Random random(4);
    const auto events = support::plain_events(random, 300);
    const ByteVector whole = write_tmk(events, small_info());

    for (std::size_t i = 0; i < whole.size(); ++i) {
        ByteVector damaged = whole;
        damaged[i] ^= static_cast<std::byte>(1U << (i % 8));
        const auto trace = open_tmk(std::move(damaged), "test.tmk");
        if (!trace)
            continue;
        auto kept = support::read_all(*(*trace)->cursor());
        if (!kept)
            continue;
        if (kept->empty())
            continue;
        REQUIRE(kept->size() == events.size());
        for (std::size_t e = 0; (*trace)->info().cut_off && e < kept->size(); ++e)
            (*kept)[e].stack = events[e].stack;  // forgotten when the info block is what is damaged
        REQUIRE(*kept == events);
    }
}

TEST_CASE("a damaged chunk in a whole file is an error with its place", "[tmk][hostile]") {
    Random random(5);
    ByteVector file = write_tmk(support::plain_events(random, 1000), small_info());
    file[tmk::kHeaderSize + tmk::kBlockHeaderSize + 100] ^= std::byte{1};

    const auto trace = open_tmk(std::move(file), "test.tmk");
    REQUIRE(trace);
    const auto events = support::read_all(*(*trace)->cursor());

    REQUIRE_FALSE(events);
    CHECK(events.error().code == ErrorCode::bad_input);
    CHECK_THAT(to_text(events.error()), Catch::StartsWith("test.tmk:0x10: "));
}

TEST_CASE("chunks that were made up, with right checksums, do no harm",
          "[tmk][hostile][one-thread]") {
    Random random(6);
    for (int round = 0; round < 40; ++round) {
        const auto events =
            round % 2 == 0 ? support::any_events(random, 300) : support::plain_events(random, 300);
        const ByteVector whole = write_tmk(events, small_info());
        std::uint64_t size = 0;
        std::memcpy(&size, whole.data() + tmk::kHeaderSize + 16, sizeof size);
        for (int i = 0; i < 200; ++i) {
            ByteVector file = whole;
            const std::size_t begin = tmk::kHeaderSize + tmk::kBlockHeaderSize;
            for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes)
                file[begin + random.below(size)] = static_cast<std::byte>(random.below(256));
            mend_first_block(file);
            read_what_can_be(file);
            read_what_can_be(first(file, begin + size));  // without the tables behind it
        }
    }
}

TEST_CASE("a file that claims another's hash has another file hash", "[tmk][hostile]") {
    Random random(7);
    const ByteVector file = write_tmk(support::plain_events(random, 1000), small_info());
    ByteVector other = file;
    other[tmk::kHeaderSize + tmk::kBlockHeaderSize + 100] ^= std::byte{1};
    ByteVector mended = other;
    mend_first_block(mended);

    const auto honest = open_tmk(file, "test.tmk");
    const auto damaged = open_tmk(other, "test.tmk");
    const auto liar = open_tmk(mended, "test.tmk");
    REQUIRE((honest && damaged && liar));

    CHECK((*liar)->hash() == (*honest)->hash());
    CHECK((*liar)->file_hash() != (*honest)->file_hash());
    CHECK((*damaged)->file_hash() == (*honest)->file_hash());
    CHECK_FALSE(support::read_all(*(*damaged)->cursor()));  // so nothing comes of it
}

TEST_CASE("what is no .tmk, or of another version, is said so", "[tmk]") {
    ByteVector file = write_tmk({}, small_info());
    const auto error_of = [](ByteVector bytes) {
        const auto trace = open_tmk(std::move(bytes), "test.tmk");
        return trace ? "no error" : to_text(trace.error());
    };

    CHECK_THAT(error_of({}), Catch::Contains("not a .tmk"));
    CHECK_THAT(error_of(ByteVector(100)), Catch::Contains("not a .tmk"));
    CHECK_THAT(error_of(first(file, 12)), Catch::Contains("cut off"));
    file[8] = std::byte{2};
    CHECK_THAT(error_of(file), Catch::Contains("version 2"));
}
