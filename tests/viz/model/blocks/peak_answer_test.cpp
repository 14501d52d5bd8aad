// What the overview says of small histories, and where.
#include "viz/model/blocks/peak_answer.h"

#include <catch2/catch.hpp>

#include "tests/support/small_history.h"

namespace tidemark::viz {
namespace {

using support::SmallHistory;

PeakAnswer answer_of(const History& history) {
    const Cancelled never = false;
    return peak_answer(history, peak_summary(history, never));
}

// Two free segments of 2 MiB beside a full one.
SmallHistory in_pieces() {
    SmallHistory history;
    history.segment(0x10000000, 2_MiB).segment(0x20000000, 2_MiB).segment(0x30000000, 2_MiB);
    history.allocate(1, 2_MiB, {.address = 0x10000000, .tag = "weights"});
    return history;
}

}  // namespace

TEST_CASE("memory that grew although as much was free in pieces is the answer", "[viz][peak]") {
    SmallHistory made = in_pieces();
    // The segment comes with the request, in one event, as replays record it.
    made.builder().set_reserved(9_MiB);
    const EventIndex growth = made.builder().next_event();
    made.allocate(2, 3_MiB, {.address = 0x40000000});
    made.builder().change_segment(0, SegmentChange::segment_alloc, {Address{0x40000000}, 3_MiB},
                                  StreamId{}, growth);
    const auto history = made.build();
    const Cancelled never = false;
    const PeakSummary summary = peak_summary(*history, never);
    REQUIRE(summary.grown_for);
    const PeakAnswer answer = peak_answer(*history, summary);
    CHECK(answer.label == "4.00 MiB was free, but 3.00 MiB did not fit");
    CHECK(answer.detail == "the largest piece: 2.00 MiB");
    CHECK(answer.headline ==
          "9.00 MiB reserved at the peak; it grew for 3.00 MiB although 4.00 MiB was free");
    CHECK(answer.event == growth);
    CHECK(answer.to == 6_MiB);
    CHECK(answer.from == 2_MiB);
    CHECK(answer.is_waste);
}

TEST_CASE("out of memory comes before everything else", "[viz][peak]") {
    SmallHistory made = in_pieces();
    made.mark(MarkKind::out_of_memory, 3_MiB).idle().mark(MarkKind::out_of_memory, 4_MiB).idle();
    const auto history = made.build();
    const PeakAnswer answer = answer_of(*history);
    CHECK(answer.is_refusal);
    CHECK(answer.is_waste);
    CHECK(answer.label == "4.00 MiB was free, but 3.00 MiB did not fit");
    CHECK(answer.headline ==
          "Out of memory: 4.00 MiB was free, but 3.00 MiB did not fit, the first of "
          "2 times");
    CHECK(answer.to == 6_MiB);
    CHECK(answer.from == 2_MiB);
}

TEST_CASE("free memory on another GPU is not part of the answer", "[viz][peak]") {
    SmallHistory made;
    HistoryNames names;
    names.devices = {"GPU 0", "GPU 1"};
    made.names(std::move(names)).segment(0x10000000, 2_MiB).segment(0x20000000, 8_MiB, 1);
    made.mark(MarkKind::out_of_memory, 3_MiB).idle();
    const PeakAnswer answer = answer_of(*made.build());
    CHECK(answer.label == "3.00 MiB did not fit, 2.00 MiB was free on GPU 0");
    CHECK(answer.detail == "of 2.00 MiB reserved; the largest piece: 2.00 MiB");
}

TEST_CASE("a request larger than what lies free is told as that", "[viz][peak]") {
    SmallHistory made = in_pieces();
    made.mark(MarkKind::recorded_out_of_memory, 8_MiB).idle();
    const PeakAnswer answer = answer_of(*made.build());
    CHECK_FALSE(answer.is_waste);
    CHECK(answer.label == "8.00 MiB did not fit, 4.00 MiB was free");
    CHECK(answer.headline.starts_with("Out of memory when this was recorded: "));
}

TEST_CASE("else the answer is how much of the peak was free, or that all of it was used",
          "[viz][peak]") {
    SmallHistory made = in_pieces();
    const PeakAnswer answer = answer_of(*made.build());
    CHECK(answer.headline == "6.00 MiB reserved at the peak, 4.00 MiB of it was free (67 %)");
    CHECK(answer.label == "4.00 MiB of it was free (67 %)");
    CHECK(answer.detail == "4.00 MiB cached, 0 B fragmentation");
    CHECK(answer.from == 2_MiB);
    CHECK(answer.to == 6_MiB);
    SmallHistory full;
    full.segment(0x1000, 0x1000).allocate(1, 0x1000, {.address = 0x1000});
    CHECK(answer_of(*full.build()).headline == "4.00 KiB reserved at the peak, 100 % of it in use");
}

TEST_CASE("a holder knows what finds its blocks", "[viz][peak]") {
    const Cancelled never = false;
    SmallHistory made = in_pieces();
    made.allocate(2, 1_MiB, {.address = 0x20000000, .stack = {"conv", "main"}});
    const PeakSummary tagged = peak_summary(*made.build(), never);
    REQUIRE(tagged.holders.size() == 2);
    CHECK(tagged.holders[0].filter.text == "weights");
    CHECK(tagged.holders[0].largest == made.block(1));
    CHECK(tagged.holders[1].filter.text == "conv");
    SmallHistory nameless;
    nameless.segment(0x1000, 0x2000).allocate(1, 0x1000, {.address = 0x1000});
    nameless.allocate(2, 0x400, {.address = 0x2000});
    const PeakSummary sizes = peak_summary(*nameless.build(), never);
    REQUIRE(sizes.holders.size() == 2);
    CHECK(sizes.holders[0].filter.least == 0x1000);
    CHECK(sizes.holders[0].filter.most == 0x1000);
}

}  // namespace tidemark::viz
