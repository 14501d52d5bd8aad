// TieredStore: several buffers at once, buffers without content, and what a forecast does.
#include <catch2/catch.hpp>

#include "core/tiers/victims/learned_forecast.h"
#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;

AccessSpec patient_on(SpaceId space) {
    AccessSpec spec;
    spec.space = space;
    spec.patient = true;
    return spec;
}

std::vector<BufferUse> reading(std::initializer_list<BufferRef> buffers) {
    std::vector<BufferUse> uses;
    for (const BufferRef buffer : buffers)
        uses.push_back({buffer, AccessMode::read, 0});
    return uses;
}

BufferRef blank(TieredFixture& f, Bytes size, SpaceId space) {
    BufferSpec spec;
    spec.size = size;
    spec.space = space;
    spec.blank = true;
    return *f.settle(f.store->create(spec));
}

TEST_CASE("buffers that are asked for together are there together", "[tiers][group]") {
    TieredFixture f;
    const BufferRef first = f.filled(300, kHost, 1);
    const BufferRef second = f.filled(300, kGpu, 2);
    auto pending = f.store->acquire_all(reading({first, second}), patient_on(kGpu));
    CHECK_FALSE(pending.ready());
    const std::vector<Access> accesses = std::move(*f.settle(std::move(pending)));
    REQUIRE(accesses.size() == 2);
    CHECK(has_content(f.transfers.bytes(accesses[0].location()), 1));
    CHECK(has_content(f.transfers.bytes(accesses[1].location()), 2));
    CHECK(f.store->destroy(second).error().code == ErrorCode::bad_input);
    CHECK(f.store->counters(kGpu).used >= 600);
}

TEST_CASE("what is there and free is granted at once, without a turn of the engine",
          "[tiers][group]") {
    StoreOptions options;
    options.pump_in_calls = false;
    TieredFixture f({}, options);
    const BufferRef first = f.filled(300, kGpu, 1);
    auto pending = f.store->acquire_all(reading({first, first}), patient_on(kGpu));
    REQUIRE(pending.ready());
    CHECK(pending.take()->size() == 1);  // each buffer once
}

TEST_CASE("groups that want each other's room let go, and both come to an end", "[tiers][group]") {
    TieredFixture f;
    std::vector<BufferRef> buffers;
    for (std::uint64_t i = 0; i < 4; ++i)
        buffers.push_back(f.filled(400, i < 2 ? kGpu : kHost, i));
    // Each has one on the GPU, and needs room for another where only two fit.
    auto first = f.store->acquire_all(reading({buffers[0], buffers[2]}), patient_on(kGpu));
    auto second = f.store->acquire_all(reading({buffers[1], buffers[3]}), patient_on(kGpu));
    f.calm();
    REQUIRE(first.ready() != second.ready());  // there is no room for both
    auto& winner = first.ready() ? first : second;
    auto& other = first.ready() ? second : first;
    winner.take()->clear();
    CHECK(f.settle(std::move(other))->size() == 2);
    f.store->check();
}

TEST_CASE("a group that can never fit is refused at once, one that can't now if it isn't patient",
          "[tiers][group]") {
    TieredFixture f;
    const BufferRef first = f.filled(600, kHost, 1);
    const BufferRef second = f.filled(600, kHost, 2);
    const BufferRef third = f.filled(300, kHost, 3);
    CHECK(f.settle(f.store->acquire_all(reading({first, second}), patient_on(kGpu))).error().code ==
          ErrorCode::no_space);
    const Access held = f.access(second, kGpu, AccessMode::pin);
    AccessSpec hasty = patient_on(kGpu);
    hasty.patient = false;
    CHECK(f.settle(f.store->acquire_all(reading({third, first}), hasty)).error().code ==
          ErrorCode::no_space);
    CHECK(f.settle(f.store->acquire_all(reading({third}), hasty)));
    f.store->check();
}

TEST_CASE("a group that comes to nothing has written nothing", "[tiers][group]") {
    TieredFixture f;
    const BufferRef overwritten = f.filled(300, kHost, 7);
    const BufferRef other = f.filled(600, kHost, 8);
    const BufferRef pinned = f.filled(500, kGpu, 9);
    const Access held = f.access(pinned, kGpu, AccessMode::pin);
    AccessSpec hasty = patient_on(kGpu);
    hasty.patient = false;
    const std::vector<BufferUse> uses{{overwritten, AccessMode::overwrite, 0},
                                      {other, AccessMode::read, 0}};
    CHECK_FALSE(f.settle(f.store->acquire_all(uses, hasty)));
    f.store->check();
    CHECK(f.reads(overwritten, kHost, 7));  // its location on the GPU was never filled
}

TEST_CASE("a blank buffer leaves and comes back without a copy until it is written",
          "[tiers][blank]") {
    TieredFixture f;
    const BufferRef buffer = blank(f, 400, kGpu);
    CHECK(f.settle(f.store->free_bytes(kGpu, 400)).freed == 400);
    CHECK(f.store->where(buffer).empty());
    CHECK(f.transfers.copies() == 0);
    f.write(buffer, kGpu, 5);
    CHECK(f.transfers.copies() == 0);
    CHECK(f.settle(f.store->free_bytes(kGpu, 400)).freed == 400);
    CHECK(f.transfers.copies() == 1);
    CHECK(f.reads(buffer, kGpu, 5));
    f.store->check();
}

TEST_CASE("what is told to leave leaves, if it may", "[tiers][evict]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(400, kGpu, 5);
    {
        const Access held = f.access(buffer, kGpu, AccessMode::read);
        CHECK_FALSE(f.store->evict(buffer, kGpu));
    }
    CHECK(f.store->evict(buffer, kGpu));
    f.calm();
    CHECK(f.store->where(buffer) == Spaces{kHost});
    CHECK_FALSE(f.store->evict(buffer, kGpu));
    CHECK(f.reads(buffer, kGpu, 5));
}

// Knows that ten buffers are read in turn, round after round.
class RoundRobin final : public Forecast {
  public:
    static constexpr std::uint64_t kBuffers = 10;

    void allocated(BufferId, Bytes, std::uint32_t) override {}

    void used(const HappenedUse& use) override { now_ += use.writes ? 0 : 1; }

    void freed(BufferId) override {}

    void marked(std::uint64_t) override {}

    std::uint64_t now() const override { return now_; }

    std::uint64_t next_use(BufferId id) const override {
        const std::uint64_t turn = now_ % kBuffers;
        return now_ + 1 + (to_integer(id) + kBuffers - turn) % kBuffers;
    }

    std::uint64_t end_of(BufferId) const override { return kNeverUsed; }

    ExpectedUse expected(std::uint64_t position) const override {
        return {ExpectedUse::Kind::use,
                BufferId{static_cast<std::uint32_t>((position - 1) % kBuffers)}, true};
    }

    Bytes growth_until(std::uint64_t) const override { return 0; }

    ForecastScore score() const override { return {now_, 0, 0}; }

  private:
    std::uint64_t now_ = 0;
};

// Rounds of ten buffers of which six fit.
SpillCounters rounds(std::shared_ptr<Forecast> forecast, bool guesses, bool prefetch) {
    StoreOptions options;
    options.spill.forecast = std::move(forecast);
    options.spill.guesses = guesses;
    options.spill.prefetch = prefetch;
    TieredFixture f({.gpu = 600, .host = 4000}, options, "learned");
    std::vector<BufferRef> buffers;
    for (std::uint64_t i = 0; i < RoundRobin::kBuffers; ++i)
        buffers.push_back(f.filled(100, kGpu, i));
    for (int round = 0; round < 12; ++round) {
        f.store->mark("round");
        for (std::uint64_t i = 0; i < buffers.size(); ++i) {
            REQUIRE(f.reads(buffers[i], kGpu, i));
            f.calm();
            f.store->check();
        }
    }
    return f.store->counters(kGpu);
}

TEST_CASE("what is known to come is brought back before, in place of what comes later",
          "[tiers][ahead]") {
    const SpillCounters plain = rounds(std::make_shared<RoundRobin>(), false, false);
    const SpillCounters ahead = rounds(std::make_shared<RoundRobin>(), false, true);
    CHECK(plain.prefetched == 0);
    CHECK(plain.misses >= 12 * 4);
    CHECK(ahead.prefetched > 0);
    CHECK(ahead.misses < plain.misses / 4);
}

TEST_CASE("a real store learns, and loses nothing by it", "[tiers][ahead]") {
    (void)rounds(std::make_shared<LearnedForecast>(), true, true);
}

}  // namespace
}  // namespace tidemark
