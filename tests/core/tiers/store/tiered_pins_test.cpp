// Pins: buffers at addresses of their own, used without the store while they are there.
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/store/pin_desk.h"
#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;

struct Pinnable {
    BufferRef buffer;
    std::shared_ptr<Gate> gate;
    std::shared_ptr<const AddressRange> range;

    PinUse use(bool write = true) const { return {buffer, gate.get(), write}; }

    std::span<std::byte> bytes() const {
        return {reinterpret_cast<std::byte*>(to_integer(range->range().begin)),
                range->range().size};
    }
};

constexpr StreamId kPinStream{3};
constexpr StreamId kOtherStream{4};

struct PinFixture : TieredFixture {
    using TieredFixture::TieredFixture;

    Pinnable pinnable(Bytes size) {
        Pinnable made{{}, std::make_shared<Gate>(), transfers.reserve(size)};
        BufferSpec spec;
        spec.size = size;
        spec.space = kGpu;
        spec.gate = made.gate;
        spec.range = made.range;
        made.buffer = *settle(store->create(spec));
        return made;
    }

    PendingPins ask(const Pinnable& one, bool write = true) {
        const PinUse use = one.use(write);
        return PinDesk(*store).pin_all({&use, 1}, kGpu, false);
    }

    BufferPin pin(const Pinnable& one, bool write = true) {
        auto pins = settle(ask(one, write).pins);
        REQUIRE(pins);
        return std::move(pins->front());
    }

    void send_away(const Pinnable& one) {
        const FreeReport report = settle(PinDesk(*store).defer(one.buffer, kGpu));
        REQUIRE(report.end == FreeEnd::enough);
        REQUIRE(store->where(one.buffer).at(0) != kGpu);
    }
};

TEST_CASE("a buffer that is there is pinned without the store, and stays", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    CHECK(!PinDesk(*f.store).try_pin(one.use()));  // nobody has opened its gate
    BufferPin first = f.pin(one);
    BufferPin second = PinDesk(*f.store).try_pin(one.use());
    REQUIRE(second);
    CHECK(one.gate->state().pins == 2);
    first.release();
    CHECK(f.settle(PinDesk(*f.store).defer(one.buffer, kGpu)).freed == 0);
    CHECK(!f.store->evict(one.buffer, kGpu));
    CHECK(f.store->destroy(one.buffer).error().code == ErrorCode::bad_input);
    second.release();
    f.send_away(one);
    CHECK(!PinDesk(*f.store).try_pin(one.use()));
    f.store->check();
}

TEST_CASE("a buffer has its address and its bytes back", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    BufferPin writing = f.pin(one);
    fill_content(one.bytes(), 7);
    writing.release();
    f.send_away(one);
    CHECK(one.bytes()[0] == std::byte{0xdd});  // no memory is there
    const BufferPin back = f.pin(one);
    CHECK(has_content(one.bytes(), 7));
}

TEST_CASE("all who wait for a buffer wait for one retrieval", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    f.pin(one).release();
    f.send_away(one);
    const std::uint64_t before = f.transfers.copies();
    std::vector<PendingPins> all;
    for (int i = 0; i < 5; ++i)
        all.push_back(f.ask(one, i % 2 == 0));
    std::vector<BufferPin> pins;
    for (PendingPins& pending : all)
        pins.push_back(std::move(f.settle(pending.pins)->front()));
    CHECK(f.transfers.copies() == before + 1);
    CHECK(one.gate->state().pins == 5);
    pins.clear();
    CHECK(one.gate->state().pins == 0);
    f.store->check();
}

TEST_CASE("what is queued on a stream is done before the bytes leave", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    BufferPin first = f.pin(one);
    BufferPin second = f.pin(one);
    BufferPin third = f.pin(one);
    first.release(kPinStream);
    second.release(kOtherStream);
    third.release(StreamId{5});
    CHECK(f.transfers.points() == 0);  // no event for letting go
    CHECK(!PinDesk(*f.store).quiet(one.buffer));
    auto deferred = PinDesk(*f.store).defer(one.buffer, kGpu);
    f.store->pump();
    CHECK(f.transfers.points() == 3);
    CHECK(f.transfers.awaited() == 3);
    CHECK(f.settle(deferred).end == FreeEnd::enough);
}

TEST_CASE("a stream that ends leaves no note behind", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    f.pin(one).release(kPinStream);
    PinDesk(*f.store).stream_ended(kPinStream);
    CHECK(f.transfers.points() == 1);
    f.transfers.pass_all();
    // Another stream of the same name has nothing to do with it.
    CHECK(PinDesk(*f.store).quiet(one.buffer));
    f.send_away(one);
    CHECK(f.transfers.points() == 0);
}

TEST_CASE("who only reads leaves the other copy valid", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    BufferPin writing = f.pin(one);
    fill_content(one.bytes(), 3);
    writing.release();
    f.send_away(one);
    f.pin(one, false).release();
    const std::uint64_t before = f.transfers.copies();
    f.send_away(one);
    CHECK(f.transfers.copies() == before);
    const BufferPin reading = f.pin(one, false);
    CHECK(has_content(one.bytes(), 3));
    CHECK(!PinDesk(*f.store).try_pin(one.use(true)));
    const BufferPin both = f.pin(one, true);  // beside the reader
    CHECK(f.store->where(one.buffer) == Spaces{kGpu});
    f.store->check();
}

TEST_CASE("addresses are given memory again when the last there is gone", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    f.pin(one).release();
    f.send_away(one);
    f.pin(one, false).release(kPinStream);
    auto deferred = PinDesk(*f.store).defer(one.buffer, kGpu);  // no copy: the host has the bytes
    f.store->pump();
    PendingPins pending = f.ask(one);
    f.store->pump();
    f.transfers.finish_all();
    f.store->pump();
    CHECK(!pending.pins.ready());  // the stream still reads
    f.transfers.pass_all();
    CHECK(f.settle(pending.pins));
    CHECK(deferred.ready());
    f.store->check();
}

TEST_CASE("others wait for those who pin, and pins join pins", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    BufferPin first = f.pin(one);
    fill_content(one.bytes(), 9);
    auto reading = f.store->acquire(one.buffer, access_spec(kHost, AccessMode::read));
    f.store->pump();
    f.transfers.finish_all();
    f.store->pump();
    CHECK(!reading.ready());
    BufferPin second = PinDesk(*f.store).try_pin(one.use());
    REQUIRE(second);
    first.release();
    f.store->pump();
    CHECK(!reading.ready());
    second.release();
    const auto access = f.settle(reading);
    REQUIRE(access);
    CHECK(has_content(f.transfers.bytes(access->location()), 9));
    f.store->check();
}

TEST_CASE("a pin stops its buffer from leaving", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    BufferPin first = f.pin(one);
    fill_content(one.bytes(), 2);
    first.release();
    auto deferred = PinDesk(*f.store).defer(one.buffer, kGpu);
    f.store->pump();
    CHECK(f.transfers.in_flight() == 1);
    PendingPins reader = f.ask(one, false);  // the copy goes on beside it
    REQUIRE(reader.pins.ready());
    PendingPins writer = f.ask(one, true);
    CHECK(!writer.pins.ready());
    auto pins = f.settle(writer.pins);
    REQUIRE(pins);
    CHECK(f.settle(deferred).freed == 0);
    fill_content(one.bytes(), 4);
    pins->clear();
    (void)reader.pins.take();
    CHECK(f.reads(one.buffer, kHost, 4));
    f.store->check();
}

TEST_CASE("what is pinned again and again is no victim", "[tiers][pins]") {
    PinFixture f({.gpu = 1000});
    const Pinnable hot = f.pinnable(400);
    f.pin(hot).release();
    const Pinnable cold = f.pinnable(400);
    f.pin(cold).release();
    for (int i = 0; i < 3; ++i) {
        PinDesk(*f.store).try_pin(hot.use()).release();
        const BufferRef other = f.create(400, kGpu);
        CHECK(f.store->where(hot.buffer).at(0) == kGpu);
        CHECK(f.store->where(cold.buffer).at(0) == kHost);
        REQUIRE(f.store->destroy(other));
        f.calm();
    }
}

TEST_CASE("a request for pins waits for room, and can be withdrawn", "[tiers][pins]") {
    PinFixture f({.gpu = 1000});
    const Pinnable first = f.pinnable(600);
    BufferPin held = f.pin(first);
    const auto made = [&] {
        Pinnable away{{}, std::make_shared<Gate>(), f.transfers.reserve(600)};
        BufferSpec spec;
        spec.size = 600;
        spec.space = kGpu;
        spec.otherwise = {kHost};
        spec.gate = away.gate;
        spec.range = away.range;
        away.buffer = *f.settle(f.store->create(spec));
        return away;
    }();
    const PinUse use = made.use();
    CHECK(f.settle(f.ask(made).pins).error().code == ErrorCode::no_space);
    PendingPins withdrawn = PinDesk(*f.store).pin_all({&use, 1}, kGpu, true);
    PendingPins patient = PinDesk(*f.store).pin_all({&use, 1}, kGpu, true);
    f.calm();
    CHECK(!patient.pins.ready());
    CHECK(PinDesk(*f.store).withdraw(*withdrawn.request));
    CHECK(f.settle(withdrawn.pins).error().code == ErrorCode::cancelled);
    held.release(kPinStream);
    CHECK(f.settle(patient.pins));
    CHECK(!PinDesk(*f.store).withdraw(*patient.request));
    f.store->check();
}

TEST_CASE("a failed retrieval leaves the bytes where they are", "[tiers][pins]") {
    PinFixture f;
    const Pinnable one = f.pinnable(300);
    BufferPin writing = f.pin(one);
    fill_content(one.bytes(), 5);
    writing.release();
    f.send_away(one);
    f.transfers.fail_next_copy();
    CHECK(f.settle(f.ask(one).pins).error().code == ErrorCode::io);
    CHECK(f.reads(one.buffer, kHost, 5));
    const BufferPin back = f.pin(one);
    CHECK(has_content(one.bytes(), 5));
}

// D-T1, D-T5: made for ThreadSanitizer.
TEST_CASE("threads pin while others send away", "[tiers][pins]") {
    PinFixture f({.gpu = 700});
    const Pinnable buffers[] = {f.pinnable(300), f.pinnable(300), f.pinnable(300)};
    for (std::size_t i = 0; i < 3; ++i) {
        const BufferPin pin = f.pin(buffers[i]);
        fill_content(buffers[i].bytes(), i);
    }
    f.transfers.set_automatic(true);
    REQUIRE(f.store->start_worker());
    std::atomic<int> wrong = 0;
    std::atomic<bool> over = false;
    // Two of the three fit.
    const auto use = [&](std::size_t seed) {
        for (std::size_t i = 0; i < 400; ++i) {
            const std::size_t which[] = {(seed + i / 4) % 3, (seed + i / 4 + 1 + i % 2) % 3};
            const PinUse uses[] = {buffers[which[0]].use(i % 3 == 0),
                                   buffers[which[1]].use(i % 5 == 0)};
            auto pins = PinDesk(*f.store).pin_all(uses, kGpu, true).pins.take();
            if (!pins) {
                ++wrong;
                continue;
            }
            for (const std::size_t one : which)
                wrong += has_content(buffers[one].bytes(), one) ? 0 : 1;
            for (BufferPin& pin : *pins)
                pin.release(StreamId{static_cast<std::uint32_t>(seed)});
        }
    };
    std::thread away([&] {
        while (!over)
            for (const Pinnable& one : buffers)
                (void)PinDesk(*f.store).defer(one.buffer, kGpu).take();
    });
    std::vector<std::thread> users;
    for (std::size_t seed = 0; seed < 3; ++seed)
        users.emplace_back(use, seed);
    for (std::thread& user : users)
        user.join();
    over = true;
    away.join();
    CHECK(wrong == 0);
    CHECK(f.store->counters(kGpu).fetches > 20);
    f.store->check();
    f.store->close();
}

}  // namespace
}  // namespace tidemark
