// TieredStore: copies: clean ones, failed ones, those in flight.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;

TEST_CASE("a clean buffer leaves without a copy", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(400, kGpu, 1);
    CHECK(f.settle(f.store->free_bytes(kGpu, 400)).freed == 400);
    CHECK(f.reads(buffer, kGpu, 1));  // comes back
    CHECK(f.store->where(buffer) == Spaces{kGpu, kHost});
    CHECK(f.allocated(kHost) == 400);
    const std::uint64_t copies = f.transfers.copies();

    CHECK(f.settle(f.store->free_bytes(kGpu, 400)).freed == 400);
    CHECK(f.transfers.copies() == copies);
    CHECK(f.store->counters(kGpu).dropped_clean == 400);
    CHECK(f.store->where(buffer) == Spaces{kHost});

    // Written, it is dirty: the copy below is void, and leaving takes a new one.
    f.write(buffer, kGpu, 2);
    f.calm();
    CHECK(f.store->where(buffer) == Spaces{kGpu});
    CHECK(f.allocated(kHost) == 0);
    CHECK(f.settle(f.store->free_bytes(kGpu, 400)).freed == 400);
    CHECK(f.reads(buffer, kHost, 2));
    f.store->check();
}

TEST_CASE("without clean copies a fetched buffer is in one place", "[tiers][spill]") {
    StoreOptions options;
    options.spill.keep_clean = false;
    TieredFixture f({}, options);
    const BufferRef buffer = f.filled(400, kGpu, 1);
    (void)f.settle(f.store->free_bytes(kGpu, 400));
    CHECK(f.reads(buffer, kGpu, 1));
    f.calm();
    CHECK(f.store->where(buffer) == Spaces{kGpu});
    CHECK(f.allocated(kHost) == 0);
}

TEST_CASE("a space that needs room gives up clean copies first", "[tiers][spill]") {
    TieredFixture f({.gpu = 1000, .host = 800});
    const BufferRef clean = f.filled(400, kGpu, 1);
    (void)f.settle(f.store->free_bytes(kGpu, 400));
    const BufferRef cold = f.filled(400, kHost, 2);  // used later than the copy was made
    CHECK(f.reads(clean, kGpu, 1));
    CHECK(f.store->where(clean) == Spaces{kGpu, kHost});
    const BufferRef more = f.filled(300, kHost, 3);
    CHECK(f.store->where(clean) == Spaces{kGpu});
    CHECK(f.store->where(cold) == Spaces{kHost});
    CHECK(f.store->counters(kHost).dropped_clean == 400);
    CHECK(f.reads(more, kHost, 3));
}

TEST_CASE("a failed copy leaves the buffer where it was, and the next victim goes",
          "[tiers][spill]") {
    TieredFixture f;
    const BufferRef first = f.filled(400, kGpu, 1);
    const BufferRef second = f.filled(400, kGpu, 2);
    f.transfers.fail_next_copy();
    const FreeReport report = f.settle(f.store->free_bytes(kGpu, 400));
    CHECK(report.end == FreeEnd::enough);
    CHECK(report.freed == 400);
    CHECK(report.failed_copies == 1);
    REQUIRE(report.last_failure);
    CHECK(report.last_failure->code == ErrorCode::io);
    f.calm();
    CHECK(f.store->where(first) == Spaces{kGpu});
    CHECK(f.store->where(second) == Spaces{kHost});
    CHECK(f.allocated(kGpu) == 400);
    CHECK(f.allocated(kHost) == 400);
    CHECK(f.transfers.held(kHost) == 400);
    CHECK(f.reads(first, kGpu, 1));
    CHECK(f.store->counters(kHost).failed == 1);
}

TEST_CASE("when every copy fails the request gets an ordinary error", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef first = f.filled(400, kGpu, 1);
    const BufferRef second = f.filled(400, kGpu, 2);
    f.transfers.fail_next_copy(2);
    BufferSpec more;
    more.size = 400;
    more.space = kGpu;
    CHECK(f.settle(f.store->create(more)).error().code == ErrorCode::no_space);
    f.calm();
    CHECK(f.allocated(kGpu) == 800);
    CHECK(f.allocated(kHost) == 0);
    CHECK(f.reads(first, kGpu, 1));
    CHECK(f.reads(second, kGpu, 2));
    CHECK(f.settle(f.store->create(more)));  // whoever asks again has them tried again
}

TEST_CASE("a failed fetch is the error of who wanted it, and nothing else", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(400, kHost, 1);
    f.transfers.fail_next_copy();
    CHECK(f.settle(f.store->acquire(buffer, access_spec(kGpu, AccessMode::write))).error().code ==
          ErrorCode::io);
    f.calm();
    CHECK(f.store->where(buffer) == Spaces{kHost});
    CHECK(f.allocated(kGpu) == 0);
    CHECK(f.reads(buffer, kGpu, 1));
}

TEST_CASE("memory that is full for its own reasons is made room in", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef old = f.filled(300, kGpu, 1);
    f.transfers.refuse_allocations(kGpu, 1);  // charged, but fragmented
    const BufferRef made = f.filled(200, kGpu, 2);
    CHECK(f.store->where(old) == Spaces{kHost});
    CHECK(f.allocated(kGpu) == 200);
    f.transfers.refuse_allocations(kGpu, 100);
    BufferSpec more;
    more.size = 200;
    more.space = kGpu;
    CHECK(f.settle(f.store->create(more)).error().code == ErrorCode::no_space);
    f.calm();
    f.transfers.refuse_allocations(kGpu, 0);
    CHECK(f.reads(made, kGpu, 2));
}

TEST_CASE("readers are served where the buffer is while it leaves, and it stays",
          "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(400, kGpu, 1);
    const BufferRef other = f.filled(400, kGpu, 2);
    auto freeing = f.store->free_bytes(kGpu, 400);
    REQUIRE(f.transfers.in_flight() == 1);
    auto reading = f.store->acquire(buffer, access_spec(kGpu, AccessMode::read));
    REQUIRE(reading.ready());
    reading.take()->release();
    CHECK(f.settle(freeing).freed == 400);
    f.calm();
    CHECK(f.store->where(buffer) == Spaces{kGpu, kHost});  // the copy was not in vain
    CHECK(f.store->where(other) == Spaces{kHost});
}

TEST_CASE("a writer cancels the copy of what it wants, and waits for its end", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(400, kGpu, 1);
    auto freeing = f.store->free_bytes(kGpu, 400);
    REQUIRE(f.transfers.in_flight() == 1);
    auto writing = f.store->acquire(buffer, access_spec(kGpu, AccessMode::write));
    CHECK_FALSE(writing.ready());
    f.transfers.finish_all();
    f.store->pump();
    REQUIRE(writing.ready());
    fill_content(f.transfers.bytes(writing.take()->location()), 3);
    CHECK(f.store->where(buffer) == Spaces{kGpu});
    CHECK(f.allocated(kHost) == 0);
    const FreeReport report = f.settle(freeing);  // there was nothing else
    CHECK(report.end == FreeEnd::nothing_left);
    CHECK(report.freed == 0);
    CHECK(report.in_use == 400);
    CHECK(f.reads(buffer, kHost, 3));
}

TEST_CASE("a place is freed when the work on it has passed, not before (A-T20)", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(400, kGpu, 1);
    f.calm();
    {
        AccessSpec spec = access_spec(kGpu, AccessMode::read);
        spec.stream = StreamId{7};
        const Access reading = *f.settle(f.store->acquire(buffer, spec));
    }
    CHECK(f.transfers.points() == 1);
    auto freeing = f.store->free_bytes(kGpu, 400);
    f.transfers.finish_all();
    f.store->pump();
    // The copy is done, a kernel still reads: the bytes are in both places, and both are paid for.
    CHECK(f.store->where(buffer) == Spaces{kHost});
    CHECK_FALSE(freeing.ready());
    CHECK(f.transfers.held(kGpu) == 400);
    CHECK(f.allocated(kGpu) == 400);
    f.transfers.pass_all();
    f.store->pump();
    REQUIRE(freeing.ready());
    CHECK(freeing.take().freed == 400);
    CHECK(f.transfers.held(kGpu) == 0);
}

TEST_CASE("a copy comes after what was written, and not after what was read", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(300, kGpu, 1);  // a point that has not passed
    f.access(buffer, kGpu, AccessMode::pin).release();
    AccessSpec reading = access_spec(kGpu, AccessMode::read);
    reading.stream = StreamId{5};
    f.settle(f.store->acquire(buffer, reading))->release();
    auto freeing = f.store->free_bytes(kGpu, 300);
    CHECK(f.transfers.awaited() == 1);
    CHECK(f.settle(freeing).freed == 300);

    // Where it comes back to, nothing of that is left to wait for.
    const std::uint64_t before = f.transfers.ordered();
    reading.stream = StreamId{6};
    f.settle(f.store->acquire(buffer, reading))->release();
    CHECK(f.transfers.ordered() == before);
}

TEST_CASE("while it is copied a buffer can't be written, and its old place lives (A-T20)",
          "[tiers][spill]") {
    TieredFixture f;
    for (const SpaceId from : {kGpu, kHost}) {
        const SpaceId to = from == kGpu ? kHost : kGpu;
        const BufferRef buffer = f.filled(300, from, 5);
        auto reading = f.store->acquire(buffer, access_spec(to, AccessMode::read));
        REQUIRE(f.transfers.in_flight() == 1);
        f.transfers.step_oldest();
        auto writing = f.store->acquire(buffer, access_spec(from, AccessMode::write));
        CHECK_FALSE(writing.ready());
        CHECK(f.transfers.held(from) == 300);
        f.transfers.finish_all();
        f.store->pump();
        Access access = *f.settle(reading);
        CHECK(has_content(f.transfers.bytes(access.location()), 5));
        CHECK_FALSE(writing.ready());
        access.release();
        CHECK(f.settle(writing));
        f.calm();
        REQUIRE(f.store->destroy(buffer));
        f.calm();
    }
}

TEST_CASE("a copy that fails in the middle keeps the old bytes (defect 23)", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(300, kGpu, 4);
    f.transfers.fail_next_copy();
    auto access = f.store->acquire(buffer, access_spec(kHost, AccessMode::write));
    CHECK(f.transfers.held(kGpu) == 300);
    CHECK(f.settle(access).error().code == ErrorCode::io);
    CHECK(f.store->where(buffer) == Spaces{kGpu});
    CHECK(f.reads(buffer, kGpu, 4));
    f.calm();
    CHECK(f.transfers.held(kHost) == 0);
}

TEST_CASE("bytes move between two GPUs by their own devices (defect 24)", "[tiers][spill]") {
    TieredFixture f({.gpu1 = 500});
    const BufferRef buffer = f.filled(300, kGpu, 1);
    CHECK(f.reads(buffer, kGpu1, 1));
    f.calm();
    CHECK(f.store->where(buffer) == Spaces{kGpu1});  // no faster than where it was: no spare
    CHECK(f.allocated(kGpu) == 0);
    CHECK(f.allocated(kGpu1) == 300);
    f.write(buffer, kGpu, 2);
    f.calm();
    CHECK(f.store->where(buffer) == Spaces{kGpu});
    CHECK(f.reads(buffer, kGpu, 2));
}

}  // namespace
}  // namespace tidemark
