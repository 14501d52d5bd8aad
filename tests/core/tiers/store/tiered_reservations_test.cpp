// TieredStore: reservations that wait, who gets them, and what leaves for them.
#include <catch2/catch.hpp>

#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;

ReservationSpec spec_of(std::vector<SpaceId> spaces, Bytes size) {
    ReservationSpec access_spec;
    access_spec.spaces = std::move(spaces);
    access_spec.size = size;
    access_spec.patient = true;
    return access_spec;
}

TEST_CASE("a reservation takes what is free, or what can leave", "[tiers][reserve]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(700, kGpu, 1);
    auto small = f.settle(f.store->reserve(spec_of({kGpu}, 300)));
    REQUIRE(small);
    CHECK(small->size() == 300);
    CHECK(f.store->where(buffer) == Spaces{kGpu});
    auto large = f.settle(f.store->reserve(spec_of({kGpu}, 500)));
    REQUIRE(large);
    CHECK(f.store->where(buffer) == Spaces{kHost});
    CHECK(f.space(kGpu).counters().used == 800);
    f.store->check();
}

TEST_CASE("reservations wait in order and go on when others end", "[tiers][reserve]") {
    TieredFixture f;
    auto first = *f.settle(f.store->reserve(spec_of({kGpu}, 800)));
    auto second = f.store->reserve(spec_of({kGpu}, 800));
    auto third = f.store->reserve(spec_of({kGpu}, 100));
    CHECK_FALSE(second.ready());
    CHECK(third.wait_for(std::chrono::nanoseconds(0)));  // it fits beside, and may pass
    third.take()->release();
    first.release();
    CHECK(f.settle(std::move(second))->size() == 800);
}

TEST_CASE("without patience, and beyond the limit, a reservation is refused at once",
          "[tiers][reserve]") {
    TieredFixture f;
    const auto held = *f.settle(f.store->reserve(spec_of({kGpu}, 800)));
    ReservationSpec hasty = spec_of({kGpu}, 300);
    hasty.patient = false;
    CHECK(f.settle(f.store->reserve(hasty)).error().code == ErrorCode::no_space);
    CHECK(f.settle(f.store->reserve(spec_of({kGpu}, 1001))).error().code == ErrorCode::no_space);
    CHECK(f.settle(f.store->reserve(spec_of({{Tier::gpu, 9}}, 1))).error().code ==
          ErrorCode::unsupported);
    ReservationSpec up_to = spec_of({kGpu}, 900);
    up_to.up_to = true;
    CHECK(f.settle(f.store->reserve(up_to))->size() == 200);
}

TEST_CASE("any of several spaces will do, wherever something is freed (defect 10)",
          "[tiers][reserve]") {
    TieredFixture f({.gpu = 1000, .host = 2000, .disk = 0, .gpu1 = 500});
    const std::vector<SpaceId> spaces{kGpu, kGpu1};
    auto first = *f.settle(f.store->reserve(spec_of({kGpu}, 900)));
    auto second = *f.settle(f.store->reserve(spec_of(spaces, 400)));
    CHECK(second.space().id() == kGpu1);
    auto third = f.store->reserve(spec_of(spaces, 450));
    CHECK_FALSE(third.ready());
    second.release();
    CHECK(f.settle(std::move(third))->space().id() == kGpu1);
}

TEST_CASE("what leaves for a reservation isn't taken by those without one", "[tiers][reserve]") {
    TieredFixture f;
    (void)f.filled(500, kGpu, 1);
    (void)f.filled(500, kGpu, 2);
    auto reservation = f.store->reserve(spec_of({kGpu}, 900));
    BufferSpec spec;
    spec.size = 400;
    spec.space = kGpu;
    spec.patient = true;
    auto creation = f.store->create(spec);
    const auto held = f.settle(std::move(reservation));
    REQUIRE(held);
    CHECK_FALSE(creation.ready());
}

TEST_CASE("a task's own buffers leave for the task, and for nobody else", "[tiers][reserve]") {
    TieredFixture f;
    auto mine = *f.settle(f.store->reserve(spec_of({kGpu}, 600)));
    const auto others = *f.settle(f.store->reserve(spec_of({kGpu}, 400)));
    BufferSpec spec;
    spec.size = 600;
    spec.space = kGpu;
    spec.reservation = mine.id();
    const BufferRef own = *f.settle(f.store->create(spec));
    f.write(own, kGpu, 3);
    CHECK(f.settle(f.store->free_bytes(kGpu, 100)).freed == 0);
    const auto created = f.settle(f.store->create(spec));
    INFO((created ? "" : to_text(created.error())));
    REQUIRE(created);
    const BufferRef next = *created;
    CHECK(f.store->where(own) == Spaces{kHost});
    CHECK(f.reads(own, kHost, 3));
    CHECK(f.store->destroy(next));
    f.store->check();
}

TEST_CASE("a buffer whose reservation ends while it stands in line comes back without one",
          "[tiers][reserve]") {
    TieredFixture f;
    auto mine = *f.settle(f.store->reserve(spec_of({kGpu}, 600)));
    BufferSpec spec;
    spec.size = 600;
    spec.space = kGpu;
    spec.reservation = mine.id();
    const BufferRef own = *f.settle(f.store->create(spec));
    f.write(own, kGpu, 3);
    const BufferRef other = *f.settle(f.store->create(spec));
    f.write(other, kGpu, 4);
    REQUIRE(f.store->where(own) == Spaces{kHost});
    auto waiting = f.store->acquire(own, access_spec(kGpu, AccessMode::read));
    f.store->pump();
    REQUIRE_FALSE(waiting.ready());
    mine = {};
    const auto access = f.settle(std::move(waiting));
    INFO((access ? "" : to_text(access.error())));
    CHECK(access);
    CHECK(f.store->where(other) == Spaces{kHost});
    f.store->check();
}

TEST_CASE("closing refuses reservations that wait", "[tiers][reserve]") {
    TieredFixture f;
    const auto held = *f.settle(f.store->reserve(spec_of({kGpu}, 1000)));
    auto waiting = f.store->reserve(spec_of({kGpu}, 1));
    f.store->close();
    CHECK(waiting.take().error().code == ErrorCode::cancelled);
}

}  // namespace
}  // namespace tidemark
