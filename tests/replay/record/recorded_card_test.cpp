// What a record's out-of-memory events tell of the card.
#include "replay/record/recorded_card.h"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

class Record {
  public:
    Record& seed(Bytes size) {
        SeedSegment segment;
        segment.range = {Address{0x1000000}, size};
        record_.seeds.push_back(segment);
        return *this;
    }

    Record& step(EventKind kind, Bytes size, std::uint64_t address = 0x2000000) {
        RecordedStep step;
        step.event.kind = kind;
        step.event.size = size;
        step.event.address = address;
        step.index = record_.steps.size();
        record_.steps.push_back(step);
        return *this;
    }

    // The device had `free` bytes.
    Record& refuse(Bytes size, Bytes free) { return step(EventKind::out_of_memory, size, free); }

    RecordedCard card(Bytes total = 0) const { return recorded_card(record_, total); }

  private:
    DeviceRecord record_;
};

}  // namespace

TEST_CASE("reserved and free memory at an out-of-memory event are the card's room", "[card]") {
    const RecordedCard card = Record()
                                  .seed(1_GiB)
                                  .step(EventKind::segment_alloc, 9_GiB)
                                  .step(EventKind::segment_free, 2_GiB)
                                  .refuse(3_GiB, 2_GiB)
                                  .card();

    CHECK(card.room == 10_GiB);
    CHECK(card.most_room == 10_GiB);
    CHECK(card.reserved == 8_GiB);
    CHECK(card.free == 2_GiB);
    CHECK(card.event == 2);
}

TEST_CASE("of several events the least room counts, but what was reserved had room", "[card]") {
    Record record;
    record.step(EventKind::segment_map, 6_GiB).refuse(1_GiB, 2_GiB).refuse(1_GiB, 1_GiB);

    CHECK(record.card().room == 7_GiB);
    CHECK(record.card().most_room == 8_GiB);
    CHECK(record.card().event == 2);
    record.step(EventKind::segment_map, 3_GiB);  // others gave memory back
    CHECK(record.card().room == 9_GiB);
}

TEST_CASE("who doesn't say what was free tells nothing of the card", "[card]") {
    CHECK(Record().step(EventKind::segment_alloc, 1_GiB).card().room == 0);
    CHECK(Record().step(EventKind::segment_alloc, 1_GiB).refuse(2_GiB, 0).card().room == 0);
    CHECK(outside({}, 80_GiB) == 0);
}

TEST_CASE("what is no room is others', of the recorded card or the smallest that may be it",
          "[card]") {
    const RecordedCard unknown{.room = 66_GiB};

    CHECK(outside(unknown, 0) == 14_GiB);
    CHECK(outside(unknown, 80_GiB) == 14_GiB);
    CHECK(outside(unknown, 79_GiB) == 13_GiB);   // that card, as its driver counts
    CHECK(outside(unknown, 141_GiB) == 14_GiB);  // another: others come along
    CHECK(outside(unknown, 24_GiB) == 14_GiB);
    CHECK(outside({.room = 66_GiB, .total = 95_GiB}, 80_GiB) == 29_GiB);
    CHECK(outside({.room = 23_GiB}, 0) == 1_GiB);
    CHECK(outside({.room = 24_GiB - 100_MiB}, 0) == 32_GiB - 24_GiB + 100_MiB);
}
