// TieredStore: who makes room for whom: victims, cascades, thresholds, what may not leave.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;

TEST_CASE("a space that is full spills the policy's victims to make room", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef first = f.filled(400, kGpu, 1);
    const BufferRef second = f.filled(400, kGpu, 2);
    CHECK(f.reads(first, kGpu, 1));  // so the second is the least recently used
    const BufferRef third = f.filled(400, kGpu, 3);
    CHECK(f.store->where(first) == Spaces{kGpu});
    CHECK(f.store->where(second) == Spaces{kHost});
    CHECK(f.allocated(kGpu) == 800);
    CHECK(f.allocated(kHost) == 400);
    CHECK(f.reads(second, kHost, 2));
    CHECK(f.reads(third, kGpu, 3));
    f.store->check();
}

TEST_CASE("what is larger than its space is refused, and nobody leaves for it", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef small = f.filled(400, kGpu, 1);
    BufferSpec large;
    large.size = 1001;
    large.space = kGpu;
    CHECK(f.settle(f.store->create(large)).error().code == ErrorCode::no_space);
    CHECK(f.store->where(small) == Spaces{kGpu});
    large.otherwise = {kHost};
    const Result<BufferRef> made = f.settle(f.store->create(large));
    REQUIRE(made);
    CHECK(f.store->where(*made) == Spaces{kHost});
}

TEST_CASE("free N bytes now: as many as asked, or all and why not more", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef pinned = f.filled(200, kGpu, 1);
    const BufferRef kept = f.filled(200, kGpu, 2);
    const BufferRef loose = f.filled(300, kGpu, 3);
    const Access pin = f.access(pinned, kGpu, AccessMode::pin);
    REQUIRE(f.store->set_may_spill(kept, false));

    FreeReport report = f.settle(f.store->free_bytes(kGpu, 100));
    CHECK(report.end == FreeEnd::enough);
    CHECK(report.freed == 300);
    CHECK(f.allocated(kGpu) == 400);
    CHECK(f.store->where(loose) == Spaces{kHost});

    report = f.settle(f.store->free_bytes(kGpu, 100));
    CHECK(report.end == FreeEnd::nothing_left);
    CHECK(report.freed == 0);
    CHECK(report.in_use == 200);
    CHECK(report.kept == 200);
    CHECK(report.text() == "gpu:0: freed 0 B of 100 B: 200 B in use, 200 B not to be spilled");
    CHECK(f.settle(f.store->free_bytes(kGpu, 0)).end == FreeEnd::enough);
}

TEST_CASE("two requests to free bytes don't count the same ones", "[tiers][spill]") {
    TieredFixture f;
    for (std::uint64_t i = 0; i < 5; ++i)
        (void)f.filled(200, kGpu, i);
    auto first = f.store->free_bytes(kGpu, 300);
    auto second = f.store->free_bytes(kGpu, 300);
    CHECK(f.settle(first).freed == 400);
    CHECK(f.settle(second).freed == 400);
    CHECK(f.allocated(kGpu) == 200);
}

TEST_CASE("bytes that are about to come free for one request are not another's", "[tiers][spill]") {
    TieredFixture f;
    (void)f.filled(300, kGpu, 1);
    (void)f.filled(300, kGpu, 2);
    f.calm();
    auto first = f.store->free_bytes(kGpu, 300);
    f.transfers.finish_all();
    f.store->pump();
    auto second = f.store->free_bytes(kGpu, 300);
    CHECK(f.settle(first).freed == 300);
    CHECK(f.settle(second).freed == 300);
    CHECK(f.allocated(kGpu) == 0);

    // The same while a kernel has yet to end: nothing else is there to be freed.
    const BufferRef last = f.filled(300, kGpu, 3);
    AccessSpec reading = access_spec(kGpu, AccessMode::read);
    reading.stream = StreamId{5};
    f.settle(f.store->acquire(last, reading))->release();
    auto third = f.store->free_bytes(kGpu, 300);
    f.transfers.finish_all();
    f.store->pump();
    CHECK_FALSE(third.ready());
    auto fourth = f.store->free_bytes(kGpu, 300);
    REQUIRE(fourth.ready());
    CHECK(fourth.take().freed == 0);
    CHECK(f.settle(third).freed == 300);
    CHECK(f.store->where(last) == Spaces{kHost});
}

TEST_CASE("a buffer that may no longer leave stays, though its copy was begun", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(300, kGpu, 1);
    auto freeing = f.store->free_bytes(kGpu, 300);
    CHECK(f.transfers.in_flight() == 1);
    REQUIRE(f.store->set_may_spill(buffer, false));
    CHECK(f.settle(freeing).freed == 0);
    f.calm();
    CHECK(f.store->where(buffer) == Spaces{kGpu, kHost});
}

TEST_CASE("reclaimable bytes are those that come free (defect 27)", "[tiers][spill]") {
    TieredFixture f;
    // Memory that the program owns: leaving would free none of it.
    const auto owned = f.transfers.allocate(kGpu, 500);
    BufferSpec view;
    view.size = 500;
    view.space = kGpu;
    const BufferRef adopted = f.store->adopt(view, *owned);
    fill_content(f.transfers.bytes(*owned), 9);
    CHECK(f.store->reclaimable(adopted, kGpu) == 0);
    CHECK(f.allocated(kGpu) == 0);

    // Memory of a reservation that lives: leaving gives it back to the reservation.
    auto reservation = f.space(kGpu).try_reserve(300);
    BufferSpec reserved;
    reserved.size = 200;
    reserved.space = kGpu;
    reserved.reservation = reservation->id();
    const BufferRef paid = *f.settle(f.store->create(reserved));
    CHECK(f.space(kGpu).used() == 300);
    CHECK(f.store->reclaimable(paid, kGpu) == 0);

    const FreeReport report = f.settle(f.store->free_bytes(kGpu, 100));
    CHECK(report.freed == 0);
    CHECK(report.reserved == 200);
    CHECK(f.store->where(adopted) == Spaces{kGpu});
    CHECK(f.store->where(paid) == Spaces{kGpu});

    // It is read elsewhere all the same, and counted there.
    CHECK(f.reads(adopted, kHost, 9));
    CHECK(f.allocated(kHost) == 500);

    reservation->release();
    CHECK(f.store->reclaimable(paid, kGpu) == 200);
    CHECK(f.settle(f.store->free_bytes(kGpu, 100)).freed == 200);
    f.store->close();
    f.transfers.free(*owned);
}

TEST_CASE("buffers that are accessed, pinned or moving are no victims", "[tiers][spill]") {
    TieredFixture f;
    std::vector<BufferRef> buffers;
    for (std::uint64_t i = 0; i < 4; ++i)
        buffers.push_back(f.filled(250, kGpu, i));
    const Access reading = f.access(buffers[0], kGpu, AccessMode::read);
    const Access pinning = f.access(buffers[1], kGpu, AccessMode::pin);
    const Access writing = f.access(buffers[2], kGpu, AccessMode::write);
    auto first = f.store->free_bytes(kGpu, 250);  // takes the last one
    CHECK(f.transfers.in_flight() == 1);
    auto second = f.store->free_bytes(kGpu, 1);
    CHECK(f.transfers.in_flight() == 1);
    REQUIRE(second.ready());
    CHECK(second.take().in_use == 1000);
    CHECK(f.settle(first).freed == 250);
}

TEST_CASE("memory of captured graphs stays while it is marked", "[tiers][spill]") {
    TieredFixture f;
    BufferSpec spec;
    spec.size = 600;
    spec.space = kGpu;
    spec.may_spill = false;
    const BufferRef graph = *f.settle(f.store->create(spec));
    BufferSpec more;
    more.size = 600;
    more.space = kGpu;
    const Result<BufferRef> refused = f.settle(f.store->create(more));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::no_space);
    CHECK(refused.error().hint.find("600 B of 1000 B used") != std::string::npos);
    REQUIRE(f.store->set_may_spill(graph, true));
    CHECK(f.settle(f.store->create(more)));
    CHECK(f.store->where(graph) == Spaces{kHost});
}

TEST_CASE("a full host passes its own victims on to the disk", "[tiers][spill]") {
    TieredFixture f({.gpu = 1000, .host = 500});
    const BufferRef old = f.filled(400, kHost, 1);
    const BufferRef victim = f.filled(400, kGpu, 2);
    const FreeReport report = f.settle(f.store->free_bytes(kGpu, 400));
    CHECK(report.freed == 400);
    CHECK(f.store->where(victim) == Spaces{kHost});
    CHECK(f.store->where(old) == Spaces{kDisk});
    CHECK(f.reads(old, kGpu, 1));
    CHECK(f.reads(victim, kGpu, 2));
}

TEST_CASE("a host that is full for good is passed by", "[tiers][spill]") {
    TieredFixture f({.gpu = 1000, .host = 500});
    const BufferRef held = f.filled(400, kHost, 1);
    const Access pin = f.access(held, kHost, AccessMode::pin);
    const BufferRef victim = f.filled(400, kGpu, 2);
    CHECK(f.settle(f.store->free_bytes(kGpu, 400)).freed == 400);
    CHECK(f.store->where(victim) == Spaces{kDisk});
    CHECK(f.reads(victim, kGpu, 2));
}

TEST_CASE("without room anywhere below, freeing says so", "[tiers][spill]") {
    TieredFixture f({.gpu = 1000, .host = 300, .disk = 0});
    const BufferRef victim = f.filled(400, kGpu, 1);
    const FreeReport report = f.settle(f.store->free_bytes(kGpu, 400));
    CHECK(report.freed == 0);
    CHECK(report.no_room == 400);
    CHECK(f.reads(victim, kGpu, 1));
    CHECK(f.allocated(kHost) == 0);
}

TEST_CASE("spilling begins above one threshold and ends at the other", "[tiers][spill]") {
    TieredFixture f({.gpu = 1000, .host = 2000, .spill_start = 0.8, .spill_stop = 0.5});
    std::vector<BufferRef> buffers;
    for (std::uint64_t i = 0; i < 8; ++i)
        buffers.push_back(f.filled(100, kGpu, i));
    f.calm();
    CHECK(f.allocated(kGpu) == 800);  // not above
    CHECK(f.transfers.copies() == 0);
    buffers.push_back(f.filled(1, kGpu, 8));
    f.calm();
    CHECK(f.allocated(kGpu) == 401);  // 501 is not at the end yet
    CHECK(f.store->counters(kGpu).spills == 4);
    buffers.push_back(f.filled(300, kGpu, 9));
    f.calm();
    CHECK(f.allocated(kGpu) == 701);  // and it begins again only above the first
}

TEST_CASE("spilling ends at its threshold to the byte", "[tiers][spill]") {
    TieredFixture f({.gpu = 1000, .host = 2000, .spill_start = 0.8, .spill_stop = 0.5});
    for (std::uint64_t i = 0; i < 9; ++i)
        (void)f.filled(100, kGpu, i);
    f.calm();
    CHECK(f.allocated(kGpu) == 500);
    (void)f.filled(100, kGpu, 9);
    f.calm();
    CHECK(f.allocated(kGpu) == 600);  // not spilling any more
}

TEST_CASE("spilling in the background has a bounded number of bytes in flight", "[tiers][spill]") {
    StoreOptions options;
    options.spill.background_in_flight = 150;
    options.pump_in_calls = false;
    TieredFixture f({.gpu = 1000, .host = 2000, .spill_start = 0.5, .spill_stop = 0.1}, options);
    for (std::uint64_t i = 0; i < 5; ++i)
        (void)f.filled(100, kGpu, i);
    BufferSpec last;
    last.size = 100;
    last.space = kGpu;
    auto made = f.store->create(last);
    f.store->pump();
    CHECK(f.transfers.in_flight() == 2);
    REQUIRE(made.take());
    f.calm();
    CHECK(f.allocated(kGpu) == 100);
}

TEST_CASE("the program's hints decide who leaves under `hint`", "[tiers][spill]") {
    TieredFixture f({}, {}, "hint");
    const BufferRef first = f.filled(400, kGpu, 1);
    const BufferRef second = f.filled(400, kGpu, 2);
    REQUIRE(f.store->set_hint(first, 5));
    REQUIRE(f.store->set_hint(second, -1));
    (void)f.filled(400, kGpu, 3);
    CHECK(f.store->where(first) == Spaces{kGpu});
    CHECK(f.store->where(second) == Spaces{kHost});
}

TEST_CASE("whoever is patient waits until others let go", "[tiers][spill]") {
    TieredFixture f({.gpu = 500, .host = 1000, .disk = 0});
    const BufferRef held = f.filled(400, kGpu, 1);
    const BufferRef wanted = f.filled(400, kHost, 2);
    Access pin = f.access(held, kGpu, AccessMode::pin);
    AccessSpec spec = access_spec(kGpu, AccessMode::read);
    CHECK(f.settle(f.store->acquire(wanted, spec)).error().code == ErrorCode::no_space);
    spec.patient = true;
    auto waiting = f.store->acquire(wanted, spec);
    f.calm();
    CHECK_FALSE(waiting.ready());
    pin.release();
    CHECK(f.settle(waiting));
    CHECK(f.store->where(held) == Spaces{kHost});
}

TEST_CASE("a reservation pays for what is brought in on its account", "[tiers][spill]") {
    TieredFixture f;
    const BufferRef buffer = f.filled(400, kHost, 1);
    auto reservation = f.space(kGpu).try_reserve(500);
    (void)f.filled(500, kGpu, 2);  // the rest is full
    AccessSpec spec = access_spec(kGpu, AccessMode::read);
    spec.reservation = reservation->id();
    Access access = *f.settle(f.store->acquire(buffer, spec));
    CHECK(f.space(kGpu).used() == 1000);
    CHECK(reservation->unused() == 100);
    access.release();
    f.calm();
    REQUIRE(f.store->destroy(buffer));
    f.calm();
    CHECK(reservation->unused() == 500);
}

BufferSpec patient(Bytes size, SpaceId space) {
    BufferSpec spec;
    spec.size = size;
    spec.space = space;
    spec.patient = true;
    return spec;
}

TEST_CASE("who waits for room is refused where nobody can let go of any, and learns who has it",
          "[tiers][spill]") {
    TieredFixture f({.gpu = 0, .host = 1000, .disk = 500});
    for (std::uint64_t i = 0; i < 3; ++i)
        (void)f.filled(500, kHost, i);
    const Result<BufferRef> refused = f.settle(f.store->create(patient(500, kHost)));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::no_space);
    CHECK(refused.error().where == "host:0");
    CHECK(refused.error().hint ==
          "host:0: 1000 B of 1000 B used, 1000 B by buffers that cannot leave; "
          "disk:0: 500 B of 500 B used, 500 B by buffers that cannot leave");
    f.store->check();
}

TEST_CASE("copies that fail are why nothing leaves, and the buffers stay where they are",
          "[tiers][spill]") {
    TieredFixture f({.gpu = 0, .host = 1000, .disk = 5000});
    const BufferRef first = f.filled(500, kHost, 1);
    const BufferRef second = f.filled(500, kHost, 2);
    f.transfers.fail_next_copy(100);
    const Result<BufferRef> refused = f.settle(f.store->create(patient(500, kHost)));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::no_space);
    CHECK_THAT(refused.error().hint, Catch::Contains("the last copy failed: "));
    f.transfers.fail_next_copy(0);
    CHECK(f.reads(first, kHost, 1));
    CHECK(f.reads(second, kHost, 2));
    CHECK(f.settle(f.store->create(patient(500, kHost))));  // now they can leave
}

TEST_CASE("as long as an access is open, memory reserved or used by others, room is waited for",
          "[tiers][spill]") {
    TieredFixture f({.gpu = 0, .host = 1000, .disk = 0});
    const BufferRef held = f.filled(500, kHost, 1);
    Access access = f.access(held, kHost, AccessMode::read);
    auto reservation = f.space(kHost).try_reserve(500);
    auto waiting = f.store->create(patient(500, kHost));
    f.calm();
    CHECK_FALSE(waiting.ready());
    access.release();
    f.calm();
    CHECK_FALSE(waiting.ready());
    reservation.reset();
    CHECK(f.settle(waiting));

    REQUIRE(f.store->destroy(held));
    f.calm();
    auto others = f.space(kHost).charge(500);
    waiting = f.store->create(patient(500, kHost));
    f.calm();
    CHECK_FALSE(waiting.ready());
    f.space(kHost).uncharge(*others);
    CHECK(f.settle(waiting));
}

TEST_CASE("a reservation, and an access, that nothing can make room for are refused",
          "[tiers][spill]") {
    TieredFixture f({.gpu = 500, .host = 1000, .disk = 0});
    const BufferRef kept = f.filled(500, kGpu, 1);
    const BufferRef wanted = f.filled(500, kHost, 2);
    REQUIRE(f.store->set_may_spill(kept, false));
    AccessSpec spec = access_spec(kGpu, AccessMode::read);
    spec.patient = true;
    const Result<Access> access = f.settle(f.store->acquire(wanted, spec));
    REQUIRE_FALSE(access);
    CHECK(access.error().code == ErrorCode::no_space);
    CHECK_THAT(access.error().hint, Catch::Contains("500 B by buffers that stay"));
    ReservationSpec reservation;
    reservation.spaces = {kGpu};
    reservation.size = 100;
    reservation.patient = true;
    CHECK(f.settle(f.store->reserve(reservation)).error().code == ErrorCode::no_space);
    f.store->check();
}

TEST_CASE("a wait that its owner ends withdraws the request, of whatever kind", "[tiers][spill]") {
    bool over = false;
    StoreOptions options;
    options.wait_ends = [&over]() -> std::optional<Error> {
        return over ? std::optional(Error{ErrorCode::cancelled, "enough", "", ""}) : std::nullopt;
    };
    TieredFixture f({.gpu = 500, .host = 1000, .disk = 0}, options);
    const BufferRef held = f.filled(500, kGpu, 1);
    const BufferRef wanted = f.filled(500, kHost, 2);
    Access writing = f.access(held, kGpu, AccessMode::write);
    over = true;
    const Result<BufferRef> made = f.store->wait(f.store->create(patient(400, kGpu)));
    REQUIRE_FALSE(made);
    CHECK(made.error().what == "enough");
    CHECK_THAT(made.error().hint, Catch::Contains("500 B by buffers with 1 open access"));
    AccessSpec spec = access_spec(kGpu, AccessMode::read);
    spec.patient = true;
    CHECK(f.store->wait(f.store->acquire(wanted, spec)).error().what == "enough");
    CHECK(f.store->wait(f.store->acquire(held, access_spec(kGpu, AccessMode::read))).error().what ==
          "enough");
    ReservationSpec reservation;
    reservation.spaces = {kGpu};
    reservation.size = 100;
    reservation.patient = true;
    CHECK(f.store->wait(f.store->reserve(reservation)).error().what == "enough");
    const FreeReport report = f.store->wait(f.store->free_bytes(kHost, 1));
    CHECK(report.end == FreeEnd::nothing_left);
    writing.release();
    over = false;
    f.calm();
    CHECK(f.reads(held, kGpu, 1));
    CHECK(f.reads(wanted, kHost, 2));
    CHECK(f.store->buffers() == 2);
    f.store->check();
}

}  // namespace
}  // namespace tidemark
