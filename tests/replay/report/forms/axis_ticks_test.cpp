// Ticks of axes, and positions as text.
#include "replay/report/forms/axis_ticks.h"

#include <limits>
#include <set>

#include <catch2/catch.hpp>

#include "tests/support/property.h"

using namespace tidemark;

namespace {

std::vector<std::string> labels(AxisUnit unit, Window window, std::size_t most) {
    std::vector<std::string> all;
    for (const Tick& tick : time_ticks(unit, window, most).ticks)
        all.push_back(tick.label);
    return all;
}

using Labels = std::vector<std::string>;

constexpr Position kSecond = 1'000'000'000;

}  // namespace

TEST_CASE("an axis may end where positions do", "[report][axis]") {
    constexpr Position kLast = std::numeric_limits<Position>::max();
    for (const Position begin : {Position{0}, kLast - 1, kLast - 100, kLast / 2}) {
        for (const AxisUnit unit : {AxisUnit::time, AxisUnit::events}) {
            const AxisTicks axis = time_ticks(unit, {begin, kLast}, 10);
            CHECK(axis.ticks.size() <= 12);
            CHECK(axis.fine.size() <= 120);
        }
    }
}

TEST_CASE("ticks stand within the window, evenly, with labels that differ", "[report][axis]") {
    CHECK(support::counterexample(support::effort(100), [] {
              const AxisUnit unit = *rc::gen::element(AxisUnit::time, AxisUnit::events);
              const Position length =
                  *rc::gen::inRange<Position>(16, Position{1} << 61U) >> *rc::gen::inRange(0, 56);
              const Position begin =
                  *rc::gen::inRange<Position>(0, Position{1} << 61U) >> *rc::gen::inRange(0, 60);
              const Window window{begin, begin + std::max<Position>(length, 16)};
              const std::size_t most = *rc::gen::inRange<std::size_t>(1, 20);
              const AxisTicks axis = time_ticks(unit, window, most);
              RC_ASSERT(axis.ticks.size() <= most + 1);
              std::set<std::string> seen;
              for (std::size_t i = 0; i < axis.ticks.size(); ++i) {
                  const Tick& tick = axis.ticks[i];
                  RC_ASSERT(tick.position >= window.begin && tick.position < window.end);
                  RC_ASSERT(seen.insert(tick.label).second);
                  RC_ASSERT(tick.label.size() <= 26);
                  if (i >= 2)
                      RC_ASSERT(tick.position - axis.ticks[i - 1].position ==
                                axis.ticks[1].position - axis.ticks[0].position);
              }
              RC_ASSERT(axis.fine.size() <= 12 * (most + 2));
          }) == "");
}

TEST_CASE("labels have the unit and the digits that they need", "[report][axis]") {
    CHECK(labels(AxisUnit::time, {0, 1000}, 5) ==
          Labels{"0", "200 ns", "400 ns", "600 ns", "800 ns"});
    CHECK(labels(AxisUnit::time, {0, 2 * kSecond}, 4) == Labels{"0", "0.5 s", "1.0 s", "1.5 s"});
    CHECK(labels(AxisUnit::time, {3 * kSecond / 2, 8 * kSecond / 5}, 5) ==
          Labels{"1.50 s", "1.52 s", "1.54 s", "1.56 s", "1.58 s"});
    CHECK(labels(AxisUnit::time, {0, 600 * kSecond}, 5) == Labels{"0", "2m", "4m", "6m", "8m"});
    CHECK(labels(AxisUnit::time, {290 * kSecond, 351 * kSecond}, 3) ==
          Labels{"5m 00s", "5m 20s", "5m 40s"});
    CHECK(labels(AxisUnit::time, {0, 36'000 * kSecond}, 6) == Labels{"0", "2h", "4h", "6h", "8h"});
    CHECK(labels(AxisUnit::events, {0, 5'000'000}, 5) ==
          Labels{"#0", "#1,000", "#2,000", "#3,000", "#4,000"});

    const AxisTicks far = time_ticks(AxisUnit::time, {8 * kSecond + 100, 8 * kSecond + 200}, 3);
    CHECK(far.base == "8.0000001 s");
    REQUIRE(far.ticks.size() == 2);
    CHECK(far.ticks[1].label == "+50 ns");
}

TEST_CASE("byte ticks are powers of two apart", "[report][axis]") {
    const auto byte_labels = [](Bytes begin, Bytes end, std::size_t most) {
        Labels all;
        for (const ByteTick& tick : byte_ticks(begin, end, most))
            all.push_back(tick.label);
        return all;
    };
    const Bytes gib = Bytes{1} << 30U;
    CHECK(byte_labels(0, 80 * gib, 5) ==
          Labels{"0", "16 GiB", "32 GiB", "48 GiB", "64 GiB", "80 GiB"});
    CHECK(byte_labels(0, 2 * gib, 4) == Labels{"0", "0.5 GiB", "1 GiB", "1.5 GiB", "2 GiB"});
    CHECK(byte_labels(0, 100, 4) == Labels{"0", "32 B", "64 B", "96 B"});
    CHECK(byte_labels(gib, gib + 1024, 2).front() == "1048576 KiB");
    CHECK(support::counterexample(support::effort(100), [] {
              const Bytes end = *rc::gen::arbitrary<Bytes>() >> *rc::gen::inRange(0, 64);
              const std::size_t most = *rc::gen::inRange<std::size_t>(1, 12);
              std::set<std::string> seen;
              const auto ticks = byte_ticks(0, end, most);
              RC_ASSERT(ticks.size() <= most + 1);
              for (const ByteTick& tick : ticks) {
                  RC_ASSERT(tick.bytes <= end);
                  RC_ASSERT(seen.insert(tick.label).second);
              }
          }) == "");
}

TEST_CASE("positions are told as exactly as asked", "[report][axis]") {
    CHECK(position_text(AxisUnit::time, 1'250'000'000) == "1.25 s");
    CHECK(position_text(AxisUnit::time, 1'250'400'001, 1'000'000) == "1.25 s");
    CHECK(position_text(AxisUnit::time, 1'250'400'001, 1) == "1.250400001 s");
    CHECK(position_text(AxisUnit::time, 12) == "12 ns");
    CHECK(position_text(AxisUnit::time, 125 * kSecond + kSecond / 10, kSecond / 10) == "2m 05.1s");
    CHECK(position_text(AxisUnit::events, 12'345'678) == "event 12,345");
    CHECK(length_text(AxisUnit::events, 1000) == "1 event");
}
