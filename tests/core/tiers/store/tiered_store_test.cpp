// TieredStore: access, its order, prefetching, listeners, the end.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/system_limits.h"
#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;

TEST_CASE("a buffer is there to write and read, and its end gives all back", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(300, kGpu, 1);
    CHECK(f.allocated(kGpu) == 300);
    CHECK(f.store->where(buffer) == Spaces{kGpu});
    CHECK(f.reads(buffer, kGpu, 1));
    CHECK(f.store->counters(kGpu).hits == 2);
    REQUIRE(f.store->destroy(buffer));
    f.calm();
    CHECK(f.allocated(kGpu) == 0);
    CHECK(f.transfers.blocks() == 0);
}

TEST_CASE("a store whose worker cannot be started is driven by its calls", "[tiers][spill]") {
    TieredFixture f;
    {
        const ThreadLimit none(0);
        const Result<void> started = f.store->start_worker();
        REQUIRE_FALSE(started);
        CHECK(started.error().code == ErrorCode::io);
    }
    CHECK(f.reads(f.filled(300, kGpu, 1), kGpu, 1));
}

TEST_CASE("a buffer that ended has no tier, and nothing is done with it (defect 22)",
          "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(100, kGpu, 1);
    REQUIRE(f.store->destroy(buffer));
    const BufferRef other = f.create(100, kGpu);  // takes over the id
    CHECK(other.id == buffer.id);
    CHECK(f.store->where(buffer).empty());
    CHECK(f.store->reclaimable(buffer, kGpu) == 0);
    CHECK_FALSE(f.store->set_hint(buffer, 1));
    CHECK(f.store->destroy(buffer).error().code == ErrorCode::not_found);
    CHECK(f.settle(f.store->acquire(buffer, access_spec(kGpu, AccessMode::read))).error().code ==
          ErrorCode::not_found);
}

TEST_CASE("a buffer in use can't be ended", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.create(100, kGpu);
    Access access = f.access(buffer, kGpu, AccessMode::pin);
    CHECK(f.store->destroy(buffer).error().code == ErrorCode::bad_input);
    access.release();
    CHECK(f.store->destroy(buffer));
}

TEST_CASE("requests that make no sense are refused", "[tiers][spill]") {
    TieredFixture f;
    BufferSpec empty;
    empty.space = kGpu;
    CHECK(f.settle(f.store->create(empty)).error().code == ErrorCode::unsupported);
    BufferSpec nowhere;
    nowhere.size = 1;
    nowhere.space = {Tier::gpu, 9};
    CHECK(f.settle(f.store->create(nowhere)).error().code == ErrorCode::unsupported);
    const BufferRef buffer = f.create(10, kGpu);
    CHECK(f.settle(f.store->acquire(buffer, access_spec({Tier::host, 9}, AccessMode::read)))
              .error()
              .code == ErrorCode::unsupported);
    CHECK(f.settle(f.store->free_bytes({Tier::host, 9}, 1)).end == FreeEnd::nothing_left);
}

TEST_CASE("accesses of a buffer are served in order, readers together", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(100, kGpu, 1);
    auto first = f.store->acquire(buffer, access_spec(kGpu, AccessMode::read));
    auto second = f.store->acquire(buffer, access_spec(kGpu, AccessMode::read));
    auto writer = f.store->acquire(buffer, access_spec(kGpu, AccessMode::write));
    auto late = f.store->acquire(buffer, access_spec(kGpu, AccessMode::read));
    CHECK(second.ready());
    CHECK_FALSE(writer.ready());
    CHECK_FALSE(late.ready());
    first.take()->release();
    CHECK_FALSE(writer.ready());
    second.take()->release();
    REQUIRE(writer.ready());
    CHECK_FALSE(late.ready());
    writer.take()->release();
    CHECK(late.ready());
}

TEST_CASE("a stream waits for others' work on the buffer, a reader only for writes",
          "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.create(100, kGpu);
    const auto use = [&](AccessMode mode, std::uint32_t stream) {
        AccessSpec spec = access_spec(kGpu, mode);
        spec.stream = StreamId{stream};
        const std::uint64_t before = f.transfers.ordered();
        f.settle(f.store->acquire(buffer, spec))->release();
        return f.transfers.ordered() - before;
    };
    CHECK(use(AccessMode::write, 1) == 0);
    CHECK(use(AccessMode::read, 1) == 0);  // its own work comes first anyway
    CHECK(use(AccessMode::read, 2) == 1);
    CHECK(use(AccessMode::write, 3) == 1);
    CHECK(use(AccessMode::write, 3) == 0);
    CHECK(use(AccessMode::read, 2) == 1);
}

TEST_CASE("what is overwritten isn't copied", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(300, kDisk, 1);
    {
        const Access access = f.access(buffer, kGpu, AccessMode::overwrite);
        fill_content(f.transfers.bytes(access.location()), 2);
    }
    f.calm();
    CHECK(f.transfers.copies() == 0);
    CHECK(f.store->where(buffer) == Spaces{kGpu});
    CHECK(f.allocated(kDisk) == 0);
    CHECK(f.reads(buffer, kGpu, 2));
}

TEST_CASE("a prefetch takes room that there is, and makes some only if told", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef wanted = f.filled(400, kHost, 1);
    CHECK(f.settle(f.store->prefetch(wanted, kGpu)));
    CHECK(f.store->where(wanted) == Spaces{kGpu, kHost});
    const BufferRef other = f.filled(700, kHost, 2);
    CHECK(f.settle(f.store->prefetch(other, kGpu)).error().code == ErrorCode::no_space);
    CHECK(f.store->where(wanted) == Spaces{kGpu, kHost});
    CHECK(f.settle(f.store->prefetch(other, kGpu, true)));
    CHECK(f.store->where(wanted) == Spaces{kHost});
    CHECK(f.store->where(other) == Spaces{kGpu, kHost});
    CHECK(f.settle(f.store->prefetch(other, kGpu)));  // is there
}

TEST_CASE("spill-and-retry makes room through the store", "[tiers][spill]") {
    TieredFixture f;
    f.transfers.set_automatic(true);
    (void)f.filled(600, kGpu, 1);
    const OomHandling policy = spill_and_retry(f.store->spiller(kGpu));
    OomFacts facts;
    facts.space = kGpu;
    facts.requested = 800;
    facts.missing = 400;
    CHECK(policy->refused(facts) == OomAnswer::try_again);
    CHECK(f.space(kGpu).available() == 1000);
    CHECK(policy->refused(facts) == OomAnswer::give_up);  // there was nothing left to free
}

TEST_CASE("closing answers everything, waits for copies and gives all back", "[tiers][spill]") {
    TieredFixture f({.gpu = 500, .host = 1000, .disk = 0});
    const BufferRef held = f.filled(400, kGpu, 1);
    const BufferRef moving = f.filled(400, kHost, 2);
    Access pin = f.access(held, kGpu, AccessMode::pin);
    AccessSpec patient = access_spec(kGpu, AccessMode::read);
    patient.patient = true;
    auto waiting = f.store->acquire(moving, patient);
    BufferSpec spec;
    spec.size = 400;
    spec.space = kGpu;
    spec.patient = true;
    auto creation = f.store->create(spec);
    pin.release();
    auto freeing = f.store->free_bytes(kGpu, 400);
    auto reading = f.store->acquire(held, access_spec(kHost, AccessMode::write));
    CHECK(f.transfers.in_flight() > 0);
    f.transfers.set_automatic(true);
    f.store->close();
    CHECK(waiting.take().error().code == ErrorCode::cancelled);
    CHECK(creation.take().error().code == ErrorCode::cancelled);
    CHECK(reading.take().error().code == ErrorCode::cancelled);
    CHECK(freeing.take().end == FreeEnd::shut_down);
    CHECK(f.transfers.blocks() == 0);
    for (const auto& space : f.spaces)
        CHECK(space->counters().used == 0);
    CHECK(f.settle(f.store->create(spec)).error().code == ErrorCode::cancelled);
    CHECK(f.settle(f.store->acquire(held, patient)).error().code == ErrorCode::cancelled);
    CHECK(f.settle(f.store->free_bytes(kGpu, 1)).end == FreeEnd::shut_down);
    f.store->close();
}

TEST_CASE("an answer that nobody takes is let go of by itself", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(100, kHost, 1);
    (void)f.store->acquire(buffer, access_spec(kGpu, AccessMode::write));
    f.calm();
    CHECK(f.store->destroy(buffer));  // nobody holds it
    (void)f.store->create({.size = 10, .space = kGpu});
    f.calm();
}

}  // namespace
}  // namespace tidemark
