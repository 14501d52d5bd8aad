// DeviceTransfers on a simulated GPU: bytes arrive whole between all tiers, directions overlap,
// and whatever call fails, they are still where they were.
#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/backends/tiers/device_fixture.h"

namespace tidemark {
namespace {

using namespace support;

using Spaces = std::vector<SpaceId>;

TEST_CASE("bytes of every size go round all tiers", "[tiers][transfers]") {
    DeviceFixture f;
    std::uint64_t seed = 1;
    for (const Bytes size :
         {Bytes{1}, 4096 * Bytes{3}, 64_KiB - 1, 64_KiB, 64_KiB + 1, 128_KiB, 300_KiB + 7, 1_MiB}) {
        INFO(size);
        const BufferRef buffer = f.filled(size, kGpu, ++seed);
        for (const SpaceId where : {kHost, kGpu, kHost})
            CHECK(f.reads(buffer, where, seed));
        // To disk and back, from the GPU and from the host.
        CHECK(f.reads(buffer, kGpu, seed));
        CHECK(f.wait(f.store->prefetch(buffer, kDisk)));
        f.fill(*f.acquire(buffer, kHost, AccessMode::write), ++seed);
        CHECK(f.store->where(buffer) == Spaces{kHost});
        CHECK(f.wait(f.store->prefetch(buffer, kDisk)));
        f.store->drain();
        CHECK(f.store->where(buffer) == Spaces{kHost, kDisk});
        CHECK(f.wait(f.store->free_bytes(kHost, size)).end == FreeEnd::enough);
        CHECK(f.store->where(buffer) == Spaces{kDisk});
        CHECK(f.reads(buffer, kGpu, seed));
        CHECK(f.store->where(buffer) == Spaces{kGpu, kDisk});
        f.fill(*f.acquire(buffer, kGpu, AccessMode::write), ++seed);
        CHECK(f.wait(f.store->prefetch(buffer, kDisk)));
        CHECK(f.wait(f.store->free_bytes(kGpu, size)).end == FreeEnd::enough);
        CHECK(f.store->where(buffer) == Spaces{kDisk});
        CHECK(f.reads(buffer, kHost, seed));
        REQUIRE(f.store->destroy(buffer));
        f.store->drain();
    }
    f.store->close();
    for (const auto& space : f.spaces)
        CHECK(space->counters().used == 0);
    CHECK(f.blocks->usage().used == 0);
    CHECK(f.staging->usage().used == 0);
    CHECK(f.disk->usage().used == 0);
    CHECK(f.sim.memory().free == f.sim.memory().total);
    CHECK(f.transfers->given_up() == 0);
}

// Gives pieces that lie side by side, as a driver may.
class SideBySide final : public PinnedSource {
  public:
    Result<Range> allocate(Bytes size) override {
        const Range given{address_of(memory_.data()) + used_, size};
        used_ += size;
        return given;
    }

    void free(Range /*range*/) override {}

  private:
    alignas(64) std::array<std::byte, 4096> memory_{};
    Bytes used_ = 0;
};

TEST_CASE("a copy never goes over two pinned pieces, though they lie side by side",
          "[tiers][transfers]") {
    SideBySide source;
    HostBlocksSpec spec;
    spec.block = 64;
    spec.blocks_per_pool = 2;
    spec.initial_pools = 2;
    spec.capacity = 4096;
    auto blocks = HostBlocks::create(source, spec);
    REQUIRE(blocks);
    const auto run = (*blocks)->allocate(256);
    REQUIRE(run);
    Bytes whole = 0;
    for (const Range& piece : pieces_of(*run, 0, 256)) {
        CHECK(piece.size <= 128);
        whole += piece.size;
    }
    CHECK(whole == 256);
}

// How long `work` takes on the device's clock.
template <class Work>
Nanoseconds time_of(DeviceFixture& f, Work work) {
    const Nanoseconds begin = f.sim.now();
    work();
    return f.sim.now() - begin;
}

TEST_CASE("spilling in chunks takes at most a tenth longer than one plain copy",
          "[tiers][transfers]") {
    DeviceFixture f(
        {.gpu = 80_MiB, .host = 80_MiB, .chunk = 8_MiB, .block = 1_MiB, .pinned_pools = 8});
    const BufferRef buffer = *f.wait(f.store->create({.size = 64_MiB, .space = kGpu}));
    const Address host = *f.sim.host_malloc(64_MiB);
    const Address gpu = f.acquire(buffer, kGpu, AccessMode::pin)->address();
    f.store->drain();
    const Nanoseconds out = time_of(f, [&] {
        REQUIRE(f.sim.copy(host, gpu, 64_MiB, StreamId{5}));
        REQUIRE(f.sim.synchronize(StreamId{5}));
    });
    const Nanoseconds in = time_of(f, [&] {
        REQUIRE(f.sim.copy(gpu, host, 64_MiB, StreamId{5}));
        REQUIRE(f.sim.synchronize(StreamId{5}));
    });
    f.acquire(buffer, kGpu, AccessMode::write)->release();  // dirty
    f.store->drain();
    const Nanoseconds spilled =
        time_of(f, [&] { CHECK(f.wait(f.store->free_bytes(kGpu, 64_MiB)).freed == 64_MiB); });
    const Nanoseconds fetched =
        time_of(f, [&] { CHECK(f.acquire(buffer, kGpu, AccessMode::pin)); });
    CHECK(10 * out >= 9 * spilled);
    CHECK(10 * in >= 9 * fetched);
}

TEST_CASE("both directions of a GPU go at the same time", "[tiers][transfers]") {
    DeviceFixture f(
        {.gpu = 32_MiB, .host = 32_MiB, .chunk = 4_MiB, .block = 1_MiB, .pinned_pools = 4});
    const BufferRef leaving = f.filled(12_MiB, kGpu, 1);
    const BufferRef coming = f.filled(12_MiB, kHost, 2);
    f.store->drain();
    const Nanoseconds both = time_of(f, [&] {
        auto out = f.store->free_bytes(kGpu, 12_MiB);
        auto in = f.store->acquire(coming, {.space = kGpu, .mode = AccessMode::read});
        CHECK(f.wait(out).freed == 12_MiB);
        CHECK(f.holds(*f.wait(in), 2));
    });
    const BufferRef more = f.filled(12_MiB, kGpu, 3);
    f.store->drain();
    REQUIRE(f.store->set_may_spill(coming, false));
    const Nanoseconds one =
        time_of(f, [&] { CHECK(f.wait(f.store->free_bytes(kGpu, 12_MiB)).freed == 12_MiB); });
    CHECK(2 * both < 3 * one);
    CHECK(f.reads(leaving, kHost, 1));
    CHECK(f.reads(more, kHost, 3));
}

TEST_CASE("a place waits for the program's work before it is copied and freed (A-T20)",
          "[tiers][transfers]") {
    DeviceFixture f;
    const BufferRef buffer = f.filled(1_MiB, kGpu, 1);
    {
        // A kernel of a second's length, as a long fill elsewhere on the stream.
        const Access access = *f.wait(f.store->acquire(
            buffer, {.space = kGpu, .mode = AccessMode::write, .stream = StreamId{3}}));
        f.fill(access, 2);
        for (int i = 0; i < 100; ++i)
            REQUIRE(f.sim.copy(access.address(), access.address(), 512_KiB, StreamId{3}));
    }
    auto freeing = f.store->free_bytes(kGpu, 1_MiB);
    CHECK_FALSE(freeing.ready());
    const DeviceResult<EventId> end = f.sim.record(StreamId{3});
    CHECK_FALSE(*f.sim.complete(*end));
    CHECK(f.wait(freeing).freed == 1_MiB);
    CHECK(*f.sim.complete(*end));
    CHECK(f.reads(buffer, kHost, 2));
}

TEST_CASE("a cancelled copy leaves nothing behind", "[tiers][transfers]") {
    for (const Bytes host : {4_MiB, 64_KiB}) {  // to the host, and past it to the disk
        DeviceFixture f({.host = host, .chunk = 64_KiB, .in_flight = 2});
        const BufferRef buffer = f.filled(2_MiB, kGpu, 1);
        auto freeing = f.store->free_bytes(kGpu, 2_MiB);
        f.store->pump();
        CHECK(f.store->in_flight() == 1);
        Result<Access> writing = f.acquire(buffer, kGpu, AccessMode::write);
        REQUIRE(writing);
        CHECK(f.holds(*writing, 1));
        writing->release();
        CHECK(f.wait(freeing).freed == 0);
        f.store->drain();
        CHECK(f.store->where(buffer) == Spaces{kGpu});
        CHECK(f.blocks->usage().used == 0);
        CHECK(f.staging->usage().used == 0);
        CHECK(f.disk->usage().used == 0);
        CHECK(f.space(kHost).used() + f.space(kDisk).used() == 0);
    }
}

TEST_CASE("the program's own memory is copied, and stays its own", "[tiers][transfers]") {
    DeviceFixture f;
    const Address memory = *f.device.malloc(200_KiB);
    std::vector<std::byte> bytes(200_KiB);
    fill_content(bytes, 5);
    REQUIRE(f.sim.write(memory, bytes));
    const BlockLocation location = f.transfers->adopt(kGpu, {memory, 200_KiB});
    const BufferRef view = f.store->adopt({.size = 200_KiB, .space = kGpu}, location);
    CHECK(f.wait(f.store->free_bytes(kGpu, 1)).freed == 0);
    CHECK(f.reads(view, kHost, 5));
    f.store->close();
    f.transfers->free(location);
    CHECK(f.device.free(memory));
}

TEST_CASE("while a graph is captured copies wait, and nothing is lost", "[tiers][transfers]") {
    DeviceFixture f;
    const BufferRef buffer = f.filled(1_MiB, kGpu, 1);
    f.store->drain();
    auto freeing = f.store->free_bytes(kGpu, 1_MiB);
    f.store->pump();
    REQUIRE(f.sim.begin_capture(StreamId{9}));
    for (int i = 0; i < 100; ++i)
        f.store->pump();
    CHECK_FALSE(freeing.ready());
    REQUIRE(f.sim.destroy_graph(*f.sim.end_capture(StreamId{9})));
    CHECK(f.wait(freeing).freed == 1_MiB);
    CHECK(f.reads(buffer, kHost, 1));
}

TEST_CASE("bytes pass from GPU to GPU through pinned blocks (defect 24)", "[tiers][transfers]") {
    DeviceFixture f;
    // Two spaces, as of two GPUs, of which neither reaches the other.
    DeviceTransfersConfig config;
    config.gpus = {{.space = kGpu, .device = &f.device},
                   {.space = kGpu1,
                    .device = &f.device,
                    .out = StreamId{0x7fff'0003},
                    .in = StreamId{0x7fff'0004}}};
    config.staging = f.staging.get();
    config.chunk = 128_KiB;
    DeviceTransfers transfers(config);
    const BlockLocation source = *transfers.allocate(kGpu, 700_KiB + 1);
    const BlockLocation target = *transfers.allocate(kGpu1, 700_KiB + 1);
    std::vector<std::byte> bytes(700_KiB + 1);
    fill_content(bytes, 6);
    REQUIRE(f.sim.write(transfers.pieces(source).front().begin, bytes));
    (void)transfers.start({.source = source, .target = target, .size = source.size});
    std::vector<CopyDone> ended;
    while (ended.empty())
        transfers.poll(ended);
    CHECK(ended.front().end == CopyEnd::done);
    std::vector<std::byte> arrived(bytes.size());
    REQUIRE(f.sim.read(transfers.pieces(target).front().begin, arrived));
    CHECK(arrived == bytes);
    CHECK(f.staging->usage().used == 0);
    transfers.free(source);
    transfers.free(target);
}

// Spills a buffer to the host and another to the disk, and fetches them.
void go_round(DeviceFixture& f, BufferRef first, BufferRef second) {
    (void)f.wait(f.store->prefetch(first, kHost, true));
    (void)f.wait(f.store->prefetch(second, kDisk, true));
    (void)f.wait(f.store->free_bytes(kGpu, 2_MiB));
    (void)f.acquire(first, kGpu, AccessMode::read);
    (void)f.acquire(second, kGpu, AccessMode::read);
    f.store->drain();
}

// With the n-th call of that kind failing. Whether one did.
bool survives_failure(DeviceCall call, std::uint64_t nth, bool and_all_after) {
    INFO(to_text(call) << " " << nth);
    DeviceFixture f;
    const BufferRef first = f.filled(300_KiB, kGpu, 1);
    const BufferRef second = f.filled(200_KiB, kGpu, 2);
    f.store->drain();
    f.device.set_plan(
        {.nth = nth, .call = call, .status = DeviceStatus::fault, .and_all_after = and_all_after});
    go_round(f, first, second);
    const bool failed = f.device.failures() != 0;
    f.device.set_plan({});
    CHECK(f.reads(first, kGpu, 1));
    CHECK(f.reads(second, kGpu, 2));
    f.store->check();
    f.store->close();
    for (const auto& space : f.spaces)
        CHECK(space->counters().used == 0);
    CHECK(f.sim.memory().free + f.transfers->given_up() >= f.sim.memory().total);
    CHECK(f.staging->usage().used == 0);
    CHECK(f.disk->usage().used == 0);
    return failed;
}

TEST_CASE("whichever call of the device fails, the bytes stay (defect 23)", "[tiers][transfers]") {
    for (const DeviceCall call : {DeviceCall::malloc, DeviceCall::free, DeviceCall::record,
                                  DeviceCall::complete, DeviceCall::copy}) {
        std::uint64_t failures = 0;
        for (std::uint64_t nth = 1; nth <= 12 && survives_failure(call, nth, false); ++nth)
            ++failures;
        CHECK(failures >= 2);
        CHECK(survives_failure(call, 1, true));
    }
}

TEST_CASE("whichever call of the disk fails, the bytes stay (defect 18)", "[tiers][transfers]") {
    for (const int error : {ENOSPC, EIO}) {
        std::uint64_t nth = 1;
        for (bool failed = true; failed; ++nth) {
            INFO("call " << nth << ", errno " << error);
            DeviceFixture f;
            const BufferRef first = f.filled(300_KiB, kGpu, 1);
            const BufferRef second = f.filled(200_KiB, kGpu, 2);
            f.store->drain();
            failed = false;
            const std::uint64_t before = f.files.calls();
            f.files.set_script([&](FileCall, const std::string&, std::uint64_t number) {
                const bool fails = number == before + nth;
                failed = failed || fails;
                return fails ? error : 0;
            });
            go_round(f, first, second);
            f.files.set_script({});
            CHECK(f.reads(first, kGpu, 1));
            CHECK(f.reads(second, kGpu, 2));
            f.store->check();
            f.store->close();
            for (const auto& space : f.spaces)
                CHECK(space->counters().used == 0);
            CHECK(f.staging->usage().used == 0);
        }
        CHECK(nth > 5);
    }
}

void random_walk(std::uint64_t seed, int operations) {
    DeviceFixture f({.gpu = 1_MiB, .host = 1_MiB});
    Random random(seed);
    std::vector<std::pair<BufferRef, std::uint64_t>> known;
    f.files.set_short(5);
    for (int i = 0; i < operations; ++i) {
        f.device.set_plan({.nth = 1 + random.below(40), .status = DeviceStatus::fault});
        const SpaceId where = random.below(2) == 0 ? kGpu : kHost;
        if (known.size() < 12) {
            const Result<BufferRef> made =
                f.wait(f.store->create({.size = 1 + random.below(300_KiB), .space = where}));
            if (!made)
                continue;
            const Result<Access> access = f.acquire(*made, where, AccessMode::write);
            if (access)
                f.fill(*access, seed + static_cast<std::uint64_t>(i));
            if (access)
                known.emplace_back(*made, seed + static_cast<std::uint64_t>(i));
            continue;
        }
        const std::size_t which = random.below(known.size());
        auto& [buffer, content] = known[which];
        const std::uint64_t dice = random.below(10);
        if (dice < 4) {
            const Result<Access> access = f.acquire(buffer, where, AccessMode::read);
            if (access)
                REQUIRE(f.holds(*access, content));
        } else if (dice < 7) {
            const Result<Access> access = f.acquire(buffer, where, AccessMode::write);
            if (access)
                f.fill(*access, content = random.next());
        } else if (dice < 8) {
            (void)f.wait(f.store->free_bytes(where, random.below(600_KiB)));
        } else if (dice < 9) {
            (void)f.store->prefetch(buffer, random.below(2) == 0 ? kDisk : where, true);
        } else {
            REQUIRE(f.store->destroy(buffer));
            known.erase(known.begin() + static_cast<std::ptrdiff_t>(which));
        }
    }
    f.device.set_plan({});
    f.store->drain();
    f.store->check();
    for (const auto& [buffer, content] : known) {
        const SpaceId home = f.store->where(buffer).front();
        CHECK(f.reads(buffer, home == kDisk ? kHost : home, content));
    }
    f.store->close();
    for (const auto& space : f.spaces)
        CHECK(space->counters().used == 0);
}

TEST_CASE("a random walk with a failing device and short transfers loses nothing",
          "[tiers][transfers]") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        random_walk(seed, 150);
}

TEST_CASE("a long random walk with a failing device loses nothing", "[.long][tiers][transfers]") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed)
        random_walk(seed, 2000);
}

TEST_CASE("on a full disk who waits for room is refused, and nothing is lost", "[tiers][device]") {
    DeviceFixture f({.host = 1_MiB});
    f.files.set_script([](FileCall call, const std::string&, std::uint64_t) {
        return call == FileCall::write || call == FileCall::allocate ? ENOSPC : 0;
    });
    std::vector<BufferRef> buffers;
    for (std::uint64_t i = 0; i < 4; ++i)
        buffers.push_back(f.filled(256_KiB, kHost, i));
    BufferSpec spec;
    spec.size = 256_KiB;
    spec.space = kHost;
    spec.patient = true;
    const Result<BufferRef> refused = f.wait(f.store->create(spec));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::no_space);
    CHECK_THAT(refused.error().hint, Catch::Contains("No space left on device"));
    for (std::uint64_t i = 0; i < 4; ++i)
        CHECK(f.reads(buffers[i], kHost, i));
    f.files.set_script({});
    CHECK(f.wait(f.store->create(spec)));
}

}  // namespace
}  // namespace tidemark
