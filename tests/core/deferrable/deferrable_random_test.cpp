// Random programs on deferrable buffers, at the level of handles: a model knows what each buffer
// holds, who has it pinned and whether it lives. Whatever is deferred, retrieved, freed and fails
// meanwhile, its address and its bytes are as the model says.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/deferrable/launch.h"
#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;

constexpr Bytes kGpuSize = 900;
constexpr Nanoseconds kForever = 600'000'000'000;
constexpr StreamId kStreams[] = {StreamId{0}, StreamId{3}, StreamId{4}};

struct Program {
    explicit Program(const TieredSizes& sizes)
        : tiers(sizes, listening(moves)),
          memory(*tiers.store, tiers.space(kGpu),
                 [this](Bytes size) -> Result<std::shared_ptr<const AddressRange>> {
                     return tiers.transfers.reserve(size);
                 },
                 moves, {}) {
        tiers.transfers.set_automatic(true);
    }

    static StoreOptions listening(const std::shared_ptr<DeferrableMoves>& moves) {
        StoreOptions options;
        options.on_moves = DeferrableStore::listen(moves);
        return options;
    }

    static std::span<std::byte> bytes(const DeferrablePin& pin) {
        return {reinterpret_cast<std::byte*>(to_integer(pin.address())), pin.buffer().size()};
    }

    std::shared_ptr<DeferrableMoves> moves = std::make_shared<DeferrableMoves>();
    TieredFixture tiers;
    DeferrableStore memory;
};

// One thread, every order of its own calls with the copies of others: the model is exact.
class Sequence {
  public:
    explicit Sequence(std::uint64_t seed)
        : random_(seed), program_({.gpu = kGpuSize, .host = 700}) {}

    void run(int operations) {
        for (int i = 0; i < operations; ++i) {
            // Copies that nobody waits for may stand still meanwhile.
            program_.tiers.transfers.set_automatic(random_.below(3) != 0);
            operate();
            check();
        }
        program_.tiers.transfers.set_automatic(true);
        end();
    }

    std::uint64_t away() const { return away_; }

    std::uint64_t refused() const { return refused_; }

  private:
    struct Known {
        Deferrable buffer;
        Address address = Address::null;
        std::uint64_t content = 0;
        std::vector<DeferrablePin> pins;
    };

    void operate() {
        const std::uint64_t dice = random_.below(100);
        if (known_.size() < 3 || dice < 8)
            create();
        else if (dice < 40)
            pin();
        else if (dice < 60)
            unpin();
        else if (dice < 72)
            try_defer();
        else if (dice < 80)
            (void)program_.memory.defer(any().buffer);
        else if (dice < 86)
            (void)program_.memory.retrieve(any().buffer, random_.below(2) == 0);
        else if (dice < 90)
            free();
        else if (dice < 94)
            program_.tiers.transfers.fail_next_copy();
        else
            (void)program_.tiers.transfers.step();
    }

    Known& any() { return known_[random_.below(known_.size())]; }

    // Waits, so that copies have to go on.
    void create() {
        program_.tiers.transfers.set_automatic(true);
        auto made = program_.memory.create(50 + random_.below(200), 0);
        if (!made)
            return;  // all that is there may be pinned
        Known known;
        known.buffer = *made;
        known.address = program_.memory.info(*made).address;
        known.content = ++contents_;
        if (auto pin = program_.memory.pin(*made)) {
            fill_content(Program::bytes(*pin), known.content);
            pin->release(any_stream());
            known_.push_back(std::move(known));
        }
    }

    StreamId any_stream() { return kStreams[random_.below(std::size(kStreams))]; }

    void pin() {
        program_.tiers.transfers.set_automatic(true);
        program_.tiers.transfers.pass_all();
        std::vector<Known*> chosen = {&any()};
        if (random_.below(2) == 0)
            chosen.push_back(&any());
        std::vector<DeferrableUse> uses;
        const bool write = random_.below(2) == 0;
        for (const Known* one : chosen)
            uses.push_back({&one->buffer, write});
        Bytes together = 0;
        for (const Known& one : known_)
            if (!one.pins.empty() || std::ranges::find(chosen, &one) != chosen.end())
                together += one.buffer.size();
        const bool fits = together <= kGpuSize;
        auto pins = program_.memory.pin_all(uses, fits ? kForever : 0);
        if (!pins) {
            // Only an injected failure keeps what fits from being pinned.
            CHECK((!fits || pins.error().code == ErrorCode::io));
            ++refused_;
            return;
        }
        CHECK(fits);
        for (DeferrablePin& pin : *pins) {
            Known& one = *std::ranges::find_if(
                known_, [&](const Known& known) { return known.buffer == pin.buffer(); });
            CHECK(pin.address() == one.address);
            CHECK(has_content(Program::bytes(pin), one.content));
            if (write)
                fill_content(Program::bytes(pin), one.content = ++contents_);
            one.pins.push_back(std::move(pin));
        }
    }

    void try_defer() {
        program_.tiers.transfers.set_automatic(true);
        away_ += program_.memory.try_defer(any().buffer) == DeferAnswer::deferred ? 1U : 0U;
    }

    void unpin() {
        Known& one = any();
        if (one.pins.empty())
            return;
        if (random_.below(2) == 0)
            one.pins.back().release(any_stream());
        one.pins.pop_back();
    }

    // One that is pinned keeps its bytes until its last pin's end.
    void free() {
        const std::size_t index = random_.below(known_.size());
        Known one = std::move(known_[index]);
        known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(index));
        CHECK(program_.memory.free(one.buffer));
        CHECK(program_.memory.free(one.buffer).error().code == ErrorCode::not_found);
        CHECK(program_.memory.pin(one.buffer).error().code == ErrorCode::not_found);
        for (const DeferrablePin& pin : one.pins)
            CHECK(has_content(Program::bytes(pin), one.content));
    }

    void check() {
        std::uint64_t pins = 0;
        for (const Known& one : known_) {
            const DeferrableInfo info = program_.memory.info(one.buffer);
            pins += one.pins.size();
            CHECK(info.pins == one.pins.size());
            CHECK(info.address == one.address);
            CHECK((info.state == DeferrableState::pinned) == !one.pins.empty());
            CHECK((one.pins.empty() || info.residence == kGpu));
            CHECK(program_.memory.find(one.address + (one.buffer.size() - 1)) == one.buffer);
            CHECK(program_.memory.find(one.buffer.id()) == one.buffer);
        }
        CHECK(program_.memory.statistics().pins == pins);
        CHECK(program_.memory.statistics().buffers == known_.size());
        program_.tiers.store->check();
    }

    void end() {
        program_.tiers.transfers.fail_next_copy(0);
        for (Known& one : known_)
            one.pins.clear();
        for (const Known& one : known_) {
            const Result<DeferrablePin> pin = program_.memory.pin(one.buffer, false);
            REQUIRE(pin);
            CHECK(has_content(Program::bytes(*pin), one.content));
        }
        known_.clear();
        program_.tiers.store->drain();
        CHECK(program_.tiers.store->buffers() == 0);
        CHECK(program_.tiers.transfers.blocks() == 0);
    }

    Random random_;
    Program program_;
    std::vector<Known> known_;
    std::uint64_t contents_ = 0;
    std::uint64_t away_ = 0;
    std::uint64_t refused_ = 0;
};

TEST_CASE("random sequences: addresses, bytes and pins are as the model says", "[deferrable]") {
    std::uint64_t away = 0;
    std::uint64_t refused = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Sequence sequence(seed);
        sequence.run(250);
        away += sequence.away();
        refused += sequence.refused();
    }
    CHECK(away > 60);
    CHECK(refused > 20);
}

// Threads: each buffer's bytes are written by one at a time, as a program has to see to.
class Threads {
  public:
    explicit Threads(bool worker) : program_({.gpu = 1000, .host = 1500}) {
        for (std::uint64_t i = 0; i < kBuffers; ++i) {
            auto slot = std::make_unique<Slot>();
            slot->buffer = *program_.memory.create(250, i);
            fill_content(Program::bytes(*program_.memory.pin(slot->buffer)), slot->content = i);
            slots_.push_back(std::move(slot));
        }
        if (worker)
            REQUIRE(program_.tiers.store->start_worker());
    }

    void run() {
        std::vector<std::thread> threads;
        for (std::uint64_t i = 0; i < 4; ++i)
            threads.emplace_back([this, i] { work(Random(i + 1)); });
        for (std::thread& thread : threads)
            thread.join();
        CHECK(wrong_ == 0);
        CHECK(refused_ == 0);
        program_.tiers.store->check();
        CHECK(program_.memory.statistics().pins == 0);
        CHECK(program_.memory.statistics().deferrals > 50);
        for (const auto& slot : slots_) {
            const DeferrablePin pin = *program_.memory.pin(slot->buffer, false);
            CHECK(has_content(Program::bytes(pin), slot->content));
        }
    }

  private:
    static constexpr std::uint64_t kBuffers = 8;  // 4 are in the GPU at a time

    struct Slot {
        std::shared_mutex using_it;
        Deferrable buffer;
        std::uint64_t content = 0;
    };

    void work(Random random) {
        for (int i = 0; i < 250; ++i) {
            const std::uint64_t first = random.below(kBuffers);
            const std::uint64_t second = random.below(kBuffers);
            switch (random.below(5)) {
                case 0:
                    (void)program_.memory.try_defer(slots_[first]->buffer);
                    break;
                case 1:
                    (void)program_.memory.retrieve(slots_[first]->buffer, random.below(2) == 0);
                    break;
                case 2:
                    read(*slots_[first], *slots_[second]);
                    break;
                case 3:
                    launch(*slots_[first], random);
                    break;
                default:
                    write(*slots_[first], random.next());
            }
        }
    }

    // A pair in either order.
    void read(Slot& first, Slot& second) {
        const DeferrableUse uses[] = {{&first.buffer, false}, {&second.buffer, false}};
        const auto pins = program_.memory.pin_all(uses);
        refused_ += pins ? 0 : 1;
        if (!pins)
            return;
        for (const DeferrablePin& pin : *pins) {
            Slot& slot = pin.buffer() == first.buffer ? first : second;
            const std::shared_lock lock(slot.using_it);
            wrong_ += has_content(Program::bytes(pin), slot.content) ? 0 : 1;
        }
    }

    void write(Slot& slot, std::uint64_t content) {
        const auto pin = program_.memory.pin(slot.buffer);
        refused_ += pin ? 0 : 1;
        if (!pin)
            return;
        const std::lock_guard lock(slot.using_it);
        wrong_ += has_content(Program::bytes(*pin), slot.content) ? 0 : 1;
        fill_content(Program::bytes(*pin), slot.content = content);
    }

    void launch(Slot& slot, Random& random) {
        const StreamId stream = kStreams[random.below(std::size(kStreams))];
        const auto pinned = tidemark::launch(
            program_.memory, stream,
            [&](const Deferrable& buffer) { return program_.memory.info(buffer).pins != 0; },
            slot.buffer);
        refused_ += pinned.has_value() ? 0 : 1;
        wrong_ += pinned.value_or(true) ? 0 : 1;
    }

    Program program_;
    std::vector<std::unique_ptr<Slot>> slots_;
    std::atomic<int> wrong_ = 0;
    std::atomic<int> refused_ = 0;
};

TEST_CASE("threads share more buffers than fit, with a worker", "[deferrable]") {
    Threads(true).run();
}

// Who waits drives the engine itself, and needs nobody's next call.
TEST_CASE("threads share more buffers than fit, without a worker", "[deferrable]") {
    Threads(false).run();
}

TEST_CASE("a pin that waits is granted by the last pin's end alone", "[deferrable]") {
    Program program({.gpu = 700});
    const Deferrable a = *program.memory.create(400, 1);
    const Deferrable b = *program.memory.create(400, 2);
    for (int i = 0; i < 50; ++i) {
        const Deferrable& held = i % 2 == 0 ? a : b;
        const Deferrable& wanted = i % 2 == 0 ? b : a;
        DeferrablePin pin = *program.memory.pin(held);
        const std::uint64_t before = program.memory.statistics().waited;
        std::thread waiter([&] { CHECK(program.memory.pin(wanted)); });
        while (program.memory.statistics().waited == before)
            std::this_thread::yield();
        pin.release();  // nobody calls anything after it
        waiter.join();
    }
}

}  // namespace
}  // namespace tidemark
