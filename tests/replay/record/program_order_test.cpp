// Frees that nothing orders after another stream's use: found where order is recorded, and said to
// be unknown where it isn't.
#include "replay/record/program_order.h"

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

using namespace tidemark;

namespace {

constexpr StreamId kFirst{1};
constexpr StreamId kSecond{2};

class Program {
  public:
    Program& add(EventKind kind, StreamId stream, std::uint32_t aux = 0, std::uint8_t flags = 0) {
        TraceEvent event;
        event.kind = kind;
        event.slot = kind == EventKind::record_event || kind == EventKind::wait_event ||
                             kind == EventKind::synchronize
                         ? kNoSlot
                         : 0;
        event.size = kind == EventKind::allocate ? 1_MiB : 0;
        event.stream = stream;
        event.aux = aux;
        event.flags = flags;
        events_.push_back(event);
        return *this;
    }

    UnorderedFrees frees() const {
        TraceInfo info;
        info.streams = {0, 0x10, 0x20};
        const auto found = find_unordered_frees(support::VectorTrace(events_, info));
        REQUIRE(found);
        return *found;
    }

  private:
    std::vector<TraceEvent> events_;
};

Program used_on_the_second() {
    return Program().add(EventKind::allocate, kFirst).add(EventKind::use, kSecond, 1, kReads);
}

}  // namespace

TEST_CASE("a free that nothing orders after another stream's use is the program's fault",
          "[program-order]") {
    const UnorderedFrees frees = used_on_the_second()
                                     .add(EventKind::record_event, kFirst, 7)
                                     .add(EventKind::free, kFirst)
                                     .frees();
    CHECK(frees.count == 1);
    CHECK(frees.free_event == 3);
    CHECK(frees.use_event == 1);
    CHECK(to_text(frees).find(
              "event 3 frees memory on stream 0x10 that stream 0x20 used at event 1") !=
          std::string::npos);
}

TEST_CASE("an event, a wait of the program or record_stream orders it", "[program-order]") {
    CHECK(used_on_the_second()
              .add(EventKind::record_event, kSecond, 7)
              .add(EventKind::wait_event, kFirst, 7)
              .add(EventKind::free, kFirst)
              .frees()
              .count == 0);
    CHECK(used_on_the_second()
              .add(EventKind::synchronize, kSecond)
              .add(EventKind::free, kFirst)
              .frees()
              .count == 0);
    CHECK(used_on_the_second()
              .add(EventKind::synchronize, kFirst, 0, kWholeDevice)
              .add(EventKind::free, kFirst)
              .frees()
              .count == 0);
    CHECK(used_on_the_second()
              .add(EventKind::record_use, kSecond)
              .add(EventKind::retire, kFirst)
              .frees()
              .count == 0);
    // Of which streams it waits for nothing is recorded.
    CHECK(used_on_the_second().add(EventKind::retire, kFirst).frees().count == 0);
}

TEST_CASE("waiting for one stream doesn't order another", "[program-order]") {
    const UnorderedFrees frees = used_on_the_second()
                                     .add(EventKind::record_use, StreamId{0})
                                     .add(EventKind::record_event, kSecond, 7)
                                     .add(EventKind::retire, kFirst)
                                     .frees();
    CHECK(frees.count == 1);
    CHECK(frees.use_stream == 0x20);
}

TEST_CASE("where no order is recorded, it can't be checked", "[program-order]") {
    const UnorderedFrees frees =
        Program().add(EventKind::allocate, kFirst).add(EventKind::free, kSecond).frees();
    CHECK(frees.count == 1);
    CHECK_FALSE(frees.has_order);
    CHECK(to_text(frees).find("isn't known") != std::string::npos);
    CHECK(to_text(Program().add(EventKind::allocate, kFirst).add(EventKind::free, kFirst).frees())
              .empty());
}
