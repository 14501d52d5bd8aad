// LearnedForecast: what repeats is foreseen; what differs is stepped over, told, and found again.
#include "core/tiers/victims/learned_forecast.h"

#include <catch2/catch.hpp>

#include "core/tiers/victims/live_record.h"

using namespace tidemark;

namespace {

constexpr Bytes kSize = 100;

// One round of a program: layers write a buffer each forward and read it backward.
void play_round(LearnedForecast& forecast, std::uint32_t layers, Bytes size = kSize) {
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
        forecast.allocated(BufferId{layer}, size, 0);
        forecast.used({BufferId{layer}, false, true});
    }
    for (std::uint32_t layer = layers; layer-- > 0;) {
        forecast.used({BufferId{layer}, true, false});
        forecast.freed(BufferId{layer});
    }
}

}  // namespace

TEST_CASE("nothing is foreseen of a program that begins", "[tiers][forecast]") {
    LearnedForecast forecast;
    forecast.allocated(BufferId{0}, kSize, 0);
    CHECK(forecast.next_use(BufferId{0}) == kUnknownUse);
    CHECK(forecast.expected(forecast.now() + 1).kind == ExpectedUse::Kind::unknown);
    CHECK(forecast.growth_until(forecast.now() + 100) == 0);
}

TEST_CASE("after some rounds each next use is foreseen exactly", "[tiers][forecast]") {
    constexpr std::uint32_t kLayers = 40;
    LearnedForecast forecast;
    for (int round = 0; round < 3; ++round)
        play_round(forecast, kLayers);

    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
        forecast.allocated(BufferId{layer}, kSize, 0);
        forecast.used({BufferId{layer}, false, true});
    }
    // The buffer of a layer is read after those of all later layers.
    std::uint32_t right = 0;
    for (std::uint32_t layer = 0; layer < kLayers; ++layer)
        right += forecast.next_use(BufferId{layer}) == forecast.now() + (kLayers - layer) ? 1U : 0U;
    CHECK(right >= kLayers - 8);  // the first few of a round are still being recognised
    const ExpectedUse next = forecast.expected(forecast.now() + 1);
    CHECK(next.kind == ExpectedUse::Kind::use);
    CHECK(next.buffer == BufferId{kLayers - 1});
    CHECK(next.reads);
}

TEST_CASE("what is not used again is foreseen to end", "[tiers][forecast]") {
    LearnedForecast forecast;
    for (int round = 0; round < 4; ++round)
        play_round(forecast, 30);
    for (std::uint32_t layer = 0; layer < 30; ++layer) {
        forecast.allocated(BufferId{layer}, kSize, 0);
        forecast.used({BufferId{layer}, false, true});
    }
    forecast.used({BufferId{29}, true, false});
    CHECK(forecast.next_use(BufferId{29}) == kNeverUsed);
    CHECK(forecast.end_of(BufferId{29}) == forecast.now() + 1);
}

TEST_CASE("a peak to come is foreseen, larger where everything is larger", "[tiers][forecast]") {
    LearnedForecast forecast;
    for (int round = 0; round < 3; ++round)
        play_round(forecast, 50);
    for (std::uint32_t layer = 0; layer < 25; ++layer) {
        forecast.allocated(BufferId{layer}, 2 * kSize, 0);
        forecast.used({BufferId{layer}, false, true});
    }
    const Bytes growth = forecast.growth_until(forecast.now() + 1000);
    CHECK(growth > 25 * kSize);  // as last time it would be so many bytes more: now nearly twice
    CHECK(growth <= 25 * 2 * kSize);
}

TEST_CASE("a different program silences it, and it is found wrong", "[tiers][forecast]") {
    LearnedForecast forecast;
    for (int round = 0; round < 3; ++round)
        play_round(forecast, 30);
    const std::uint64_t wrong = forecast.score().wrong;
    for (std::uint32_t i = 0; i < 40; ++i)
        forecast.used({BufferId{50 + i % 7}, true, i % 3 == 0});
    CHECK(forecast.score().wrong > wrong);
}

TEST_CASE("one operation more or less does not lose the place", "[tiers][forecast]") {
    LearnedForecast forecast;
    for (int round = 0; round < 4; ++round)
        play_round(forecast, 60);
    const ForecastScore before = forecast.score();
    for (std::uint32_t layer = 0; layer < 60; ++layer) {
        forecast.allocated(BufferId{layer}, kSize, 0);
        if (layer == 30) {
            forecast.allocated(BufferId{100}, kSize, 0);  // a workspace, this time
            forecast.freed(BufferId{100});
        }
        forecast.used({BufferId{layer}, false, true});
    }
    const ForecastScore after = forecast.score();
    CHECK(after.wrong - before.wrong <= 4);
    CHECK(after.right - before.right >= 100);
}

TEST_CASE("the record of live bytes gives the most of any stretch", "[tiers][forecast]") {
    LiveRecord record;
    std::vector<Bytes> plain;
    std::uint64_t state = 1;
    for (int i = 0; i < 20'000; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        plain.push_back(state >> 40U);
        record.push_back(plain.back());
    }
    for (int i = 0; i < 2'000; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const std::size_t begin = (state >> 20U) % plain.size();
        const std::size_t end = begin + (state >> 45U) % (plain.size() - begin + 1);
        Bytes most = 0;
        for (std::size_t at = begin; at < end; ++at)
            most = std::max(most, plain[at]);
        REQUIRE(record.peak(begin, end) == most);
    }
    CHECK(record.peak(5, 5) == 0);
}
