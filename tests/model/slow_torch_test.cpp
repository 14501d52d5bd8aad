// The slow model by itself: worked examples from the specification of PyTorch's behaviour.
#include "tests/model/slow_torch.h"

#include <catch2/catch.hpp>

namespace tidemark::model {
namespace {

constexpr auto kDefault = PoolId::default_pool;
constexpr StreamId kStream{0};
constexpr StreamId kOther{1};

using EffectKind = Effect::Kind;

// A model on a driver of its own.
struct Bench {
    explicit Bench(const SlowSettings& settings = {}, Bytes capacity = 1_GiB)
        : driver({.capacity = capacity}), torch(settings, driver) {
        driver.begin_step();
    }

    Address allocate(Bytes size, StreamId stream = kStream, PoolId pool = kDefault) {
        const SlowTorch::Grant grant = torch.allocate(size, stream, pool);
        REQUIRE_FALSE(grant.refusal);
        return grant.block.begin;
    }

    bool refuses(Bytes size, PoolId pool = kDefault) {
        return torch.allocate(size, kStream, pool).refusal.has_value();
    }

    // The sizes of the effects of one kind since the log was cleared, in order.
    std::vector<Bytes> sizes_of(EffectKind kind) {
        std::vector<Bytes> sizes;
        for (const Effect& effect : driver.effects()) {
            if (effect.kind == kind)
                sizes.push_back(effect.range.size);
        }
        return sizes;
    }

    Driver driver;
    SlowTorch torch;
};

SlowSettings with_expandable() {
    return {.expandable = true};
}

using Sizes = std::vector<Bytes>;

}  // namespace

TEST_CASE("the model rounds sizes as chapter 1 says", "[model]") {
    SlowSettings settings;
    CHECK(settings.round_size(1) == 512);
    CHECK(settings.round_size(512) == 512);
    CHECK(settings.round_size(513) == 1024);

    settings.divisions = parse_divisions("8");
    CHECK(settings.round_size(1'200'000) == 1'310'720);
    CHECK(settings.round_size(1'048'577) == 1'179'648);
    CHECK(settings.round_size(3'000) == 3'072);
    CHECK(settings.round_size(5'000) == 5'120);
    CHECK(settings.round_size(64_MiB) == 64_MiB);
}

TEST_CASE("the model reads a list of divisions as chapter 1 says", "[model]") {
    const std::array<Bytes, 16> expected{2, 0, 4, 0, 8, 0, 1, 0, 2, 4, 4, 4, 4, 4, 4, 4};
    CHECK(parse_divisions("[1:2,4:4,16:8,64:1,256:2,>:4]") == expected);
    CHECK(parse_divisions("[4:8]")[0] == 8);
    CHECK(parse_divisions("[4:8]")[3] == 0);
}

TEST_CASE("the model's segments have the sizes of chapter 3", "[model]") {
    const SlowSettings settings;
    CHECK(settings.segment_size(1_MiB) == 2_MiB);
    CHECK(settings.segment_size(1_MiB + 512) == 20_MiB);
    CHECK(settings.segment_size(10_MiB - 512) == 20_MiB);
    CHECK(settings.segment_size(10_MiB) == 10_MiB);
    CHECK(settings.segment_size(10_MiB + 512) == 12_MiB);
}

TEST_CASE("the model's reservations have the sizes of an H200", "[model]") {
    CHECK(reservation_size(150'109'880'320, 20_MiB) == 168'883'650'560);
    CHECK(reservation_size(150'109'880'320, 2_MiB) == 168'875'261'952);
}

TEST_CASE("the model's limit is a part of the device, rounded down", "[model]") {
    CHECK(SlowSettings{.fraction = 0.3}.limit_on(1001) == 300);
    CHECK(SlowSettings{.limit = 200, .fraction = 0.3}.limit_on(1001) == 200);
    CHECK_FALSE(SlowSettings{.fraction = 1.0}.limit_on(1001));
    CHECK(SlowSettings{.fraction = 1.0, .version = 208}.limit_on(1001) == 1001);
    CHECK_FALSE(SlowSettings{.version = 208}.limit_on(1001));
}

TEST_CASE("the model splits off the low end and joins free neighbours", "[model]") {
    Bench bench;
    const Address first = bench.allocate(3_MiB);
    const Address second = bench.allocate(4_MiB);
    CHECK(second - first == 3_MiB);
    bench.torch.deallocate(first);
    bench.torch.deallocate(second);
    REQUIRE(bench.torch.regions().size() == 1);
    CHECK(bench.torch.regions()[0].range.size == 20_MiB);
}

TEST_CASE("the model keeps a remainder of 1 MiB in a large block", "[model]") {
    Bench bench;
    bench.allocate(11_MiB);
    CHECK(bench.torch.usage().allocated == 12_MiB);
    bench.allocate(9_MiB);
    bench.allocate(9_MiB);
    CHECK(bench.torch.usage().allocated == 30_MiB);
    CHECK(bench.torch.regions().back().range.size == 2_MiB);
}

TEST_CASE("the model takes the best fit, and of equals the lowest", "[model]") {
    Bench bench;
    const Address large = bench.allocate(40_MiB);
    const Address low = bench.allocate(30_MiB);
    const Address high = bench.allocate(30_MiB);
    for (const Address address : {high, large, low})
        bench.torch.deallocate(address);
    CHECK(bench.allocate(30_MiB) == low);
    CHECK(bench.allocate(30_MiB) == high);
    CHECK(bench.allocate(30_MiB) == large);
}

TEST_CASE("the model keeps blocks from max_split on for large requests", "[model]") {
    Bench bench({.max_split = 30_MiB});
    const Address block = bench.allocate(60_MiB);
    bench.torch.deallocate(block);
    CHECK(bench.allocate(20_MiB) != block);  // too small for it
    CHECK(bench.allocate(40_MiB) != block);  // wastes 20 MiB
    CHECK(bench.allocate(42_MiB) == block);
    CHECK(bench.torch.usage().allocated == 120_MiB);  // and has all of it
}

TEST_CASE("the model collects all garbage of that age, even beyond the target", "[model]") {
    Bench bench({.gc_threshold = 0.5, .limit = 200_MiB});
    const Address first = bench.allocate(40_MiB);
    const Address second = bench.allocate(40_MiB);
    const Address young = bench.allocate(30_MiB);
    bench.torch.deallocate(first);
    bench.torch.deallocate(second);
    const Address busy = bench.allocate(31_MiB);  // ages the two
    bench.torch.deallocate(young);
    bench.torch.deallocate(busy);
    bench.driver.clear_effects();

    bench.allocate(60_MiB);

    CHECK(bench.torch.coverage().of(Rule::gc_released) == 1);
    CHECK(bench.sizes_of(EffectKind::segment_free) == Sizes{40_MiB});
}

TEST_CASE("the model gives one large block back before it empties the cache", "[model]") {
    Bench bench({.max_split = 20_MiB, .limit = 120_MiB});
    const Address large = bench.allocate(60_MiB);
    bench.torch.deallocate(bench.allocate(30_MiB));
    bench.torch.deallocate(large);
    bench.driver.clear_effects();

    bench.allocate(38_MiB);

    CHECK(bench.sizes_of(EffectKind::segment_free) == Sizes{60_MiB});
    CHECK(bench.torch.stats().retries == 0);
}

TEST_CASE("the model empties its cache, large blocks first, and tries once more", "[model]") {
    Bench bench({.limit = 50_MiB});
    const Address small = bench.allocate(100);
    const Address large = bench.allocate(30_MiB);
    bench.torch.deallocate(small);
    bench.torch.deallocate(large);
    bench.driver.clear_effects();

    bench.allocate(48_MiB);

    CHECK(bench.sizes_of(EffectKind::segment_free) == Sizes{30_MiB, 2_MiB});
    CHECK(bench.torch.stats().retries == 1);
    CHECK(bench.refuses(10_MiB));
    CHECK(bench.torch.stats().out_of_memory == 1);
}

TEST_CASE("the model does not take what the wait of a retry has freed", "[model]") {
    Bench bench({.limit = 21_MiB});
    const Address waiting = bench.allocate(9_MiB);
    bench.allocate(9_MiB);
    bench.torch.record_use(waiting, kOther);
    bench.torch.deallocate(waiting);

    CHECK(bench.refuses(9_MiB));
    CHECK(bench.torch.usage().active == 9_MiB);
    CHECK(bench.allocate(9_MiB) == waiting);
}

TEST_CASE("the model frees a block when all other streams are done", "[model]") {
    Bench bench({}, 1_GiB);
    const Address block = bench.allocate(600);
    bench.torch.record_use(block, kOther);
    bench.torch.deallocate(block);
    bench.driver.begin_step();
    CHECK(bench.allocate(600) != block);
    bench.driver.finish(kOther, 100);
    CHECK(bench.allocate(600) == block);
}

TEST_CASE("the model puts frees aside while a scope is open", "[model]") {
    Bench bench;
    const Address before = bench.allocate(600);
    const Address inside = bench.allocate(700);
    bench.torch.record_use(before, kOther);
    bench.torch.begin_pool(PoolId{1}, {});
    bench.torch.record_use(inside, kOther);  // the graph orders it
    bench.torch.deallocate(before);
    bench.torch.deallocate(inside);
    CHECK(bench.torch.usage().active == 2048);
    bench.torch.end_pool(PoolId{1});
    CHECK(bench.allocate(700) == inside);
    CHECK(bench.torch.usage().active == 2048);
}

TEST_CASE("the model maps only what is missing behind a free tail", "[model]") {
    Bench bench(with_expandable());
    bench.allocate(30_MiB);
    CHECK(bench.sizes_of(EffectKind::reserve).size() == 1);
    CHECK(bench.sizes_of(EffectKind::segment_map) == Sizes{40_MiB});
    bench.driver.clear_effects();

    bench.allocate(35_MiB);

    CHECK(bench.sizes_of(EffectKind::segment_map) == Sizes{40_MiB});
    CHECK(bench.torch.regions().back().range.size == 15_MiB);
}

TEST_CASE("the model prefers a hole to the growing end", "[model]") {
    Bench bench(with_expandable());
    const Address hole = bench.allocate(35_MiB);
    bench.allocate(10_MiB);  // leaves a tail of 15 MiB
    bench.torch.deallocate(hole);
    CHECK(bench.allocate(12_MiB) == hole);
}

TEST_CASE("the model maps two runs around a free piece, or leaves the first", "[model]") {
    Bench bench(with_expandable());
    const Address first = bench.allocate(45_MiB);
    const Address piece = bench.allocate(2_MiB);
    bench.torch.deallocate(first);
    bench.torch.trim_unused();  // 40 MiB at the begin
    bench.torch.deallocate(piece);
    bench.driver.clear_effects();

    SECTION("granted") {
        CHECK(bench.allocate(70_MiB) == first);
        CHECK(bench.sizes_of(EffectKind::segment_map) == Sizes{40_MiB, 20_MiB});
    }
    SECTION("refused") {
        bench.driver.begin_refusal(2, 100);
        CHECK(bench.refuses(70_MiB, PoolId::default_pool));
        CHECK(bench.sizes_of(EffectKind::segment_map) == Sizes{40_MiB});
        CHECK(bench.sizes_of(EffectKind::segment_unmap) == Sizes{60_MiB});  // by the retry
    }
}

TEST_CASE("the model unmaps whole pages and gives an empty reservation back", "[model]") {
    Bench bench(with_expandable());
    const Address low = bench.allocate(5_MiB);
    const Address middle = bench.allocate(50_MiB);
    bench.torch.deallocate(middle);
    bench.torch.empty_cache();
    CHECK(bench.sizes_of(EffectKind::segment_unmap) == Sizes{40_MiB});
    CHECK(bench.torch.usage().reserved == 20_MiB);
    bench.torch.deallocate(low);
    bench.torch.empty_cache();
    CHECK(bench.sizes_of(EffectKind::unreserve).size() == 1);
    CHECK(bench.driver.used() == 0);
}

TEST_CASE("the model keeps a reservation that was never used", "[model]") {
    Bench bench(with_expandable(), 100_MiB);
    CHECK(bench.refuses(100_MiB + 1));
    bench.torch.empty_cache();
    CHECK(bench.sizes_of(EffectKind::unreserve).empty());
    bench.allocate(20_MiB);
    CHECK(bench.sizes_of(EffectKind::reserve).size() == 1);
}

TEST_CASE("the model releases a pool when it is closed, small blocks first", "[model]") {
    Bench bench;
    constexpr PoolId kPool{7};
    bench.torch.begin_pool(kPool, {});
    const Address small = bench.allocate(100, kStream, kPool);
    const Address large = bench.allocate(30_MiB, kStream, kPool);
    bench.torch.deallocate(small);
    bench.torch.deallocate(large);
    bench.torch.end_pool(kPool);
    bench.torch.empty_cache();
    CHECK(bench.sizes_of(EffectKind::segment_free).empty());
    bench.torch.close_pool(kPool);
    bench.torch.empty_cache();
    CHECK(bench.sizes_of(EffectKind::segment_free) == Sizes{2_MiB, 30_MiB});
}

TEST_CASE("the model trims a closed pool alone, and waits for its streams alone", "[model]") {
    Bench bench;
    constexpr PoolId kPool{7};
    const Address ours = bench.allocate(30_MiB, kStream, kPool);
    const Address others = bench.allocate(40_MiB);
    for (const Address address : {ours, others}) {
        bench.torch.record_use(address, kOther);
        bench.torch.deallocate(address);
    }
    bench.torch.trim_pool(kPool);
    CHECK(bench.torch.usage().active == 70_MiB);  // it isn't closed
    bench.torch.close_pool(kPool);
    bench.torch.trim_pool(kPool);
    CHECK(bench.torch.usage().active == 40_MiB);
    CHECK(bench.sizes_of(EffectKind::segment_free) == Sizes{30_MiB});
}

TEST_CASE("the model refuses at once while a scope is open", "[model]") {
    Bench bench({.limit = 50_MiB});
    bench.torch.deallocate(bench.allocate(30_MiB));
    bench.torch.begin_pool(PoolId{1}, {});
    CHECK(bench.refuses(40_MiB));
    CHECK(bench.torch.stats().retries == 0);
    bench.torch.end_pool(PoolId{1});
    bench.allocate(40_MiB);
    CHECK(bench.torch.stats().retries == 1);
}

TEST_CASE("the model serves the default pool from a pool that helps out", "[model]") {
    Bench bench({.limit = 50_MiB});
    constexpr PoolId kPool{1};
    bench.torch.begin_pool(kPool, {.serves_on_refusal = true, .splits = false});
    const Address block = bench.allocate(40_MiB, kStream, kPool);
    bench.torch.deallocate(block);
    bench.torch.end_pool(kPool);
    CHECK(bench.allocate(30_MiB) == block);
    CHECK(bench.torch.stats().retries == 1);
    CHECK(bench.torch.usage().allocated == 40_MiB);  // it does not split
}

}  // namespace tidemark::model
