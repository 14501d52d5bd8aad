// Random programs on a TieredStore: every interleaving of requests, chunks of copies, points that
// pass and failures. Nothing is lost, and accounts are exact at every step.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/tiers/store/pin_desk.h"
#include "core/tiers/victims/learned_forecast.h"
#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;

struct Known {
    std::uint64_t content = 0;
    bool defined = false;
    std::uint32_t accesses = 0;  // held, as pins
    std::shared_ptr<Gate> gate = {};
    std::shared_ptr<const AddressRange> range = {};
};

// A program that knows what each of its buffers holds.
class RandomProgram {
  public:
    RandomProgram(std::uint64_t seed, const std::string& policy, const TieredSizes& sizes,
                  const StoreOptions& options)
        : random_(seed), fixture_(sizes, options, policy) {}

    void run(std::uint64_t operations, bool faults) {
        if (faults)
            fixture_.transfers.set_faults(
                {.no_memory = 60, .allocation_fails = 200, .copy_fails = 60, .order_fails = 100});
        for (std::uint64_t i = 0; i < operations; ++i) {
            operate();
            collect();
            if (i % 64 == 0)
                check();
        }
        fixture_.transfers.set_faults({});
        finish();
    }

    std::uint64_t granted() const { return granted_; }

    std::uint64_t refused() const { return refused_; }

    std::uint64_t copies() const { return fixture_.transfers.copies(); }

  private:
    using Key = std::uint64_t;

    static Key key(BufferRef buffer) {
        return (Key{to_integer(buffer.id)} << 32U) | buffer.generation;
    }

    static BufferRef ref(Key key) {
        return {BufferId{static_cast<std::uint32_t>(key >> 32U)}, static_cast<std::uint32_t>(key)};
    }

    Key any() {
        auto chosen = known_.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(known_.size())));
        return chosen->first;
    }

    SpaceId any_space() {
        return fixture_.machine.spaces[random_.below(fixture_.machine.spaces.size())].id;
    }

    void operate() {
        const std::uint64_t dice = random_.below(100);
        if (dice < 10 || known_.empty())
            create();
        else if (dice < 32)
            ask();
        else if (dice < 54)
            release();
        else if (dice < 57)
            destroy();
        else if (dice < 59)
            prefetches_.push_back(
                fixture_.store->prefetch(ref(any()), any_space(), random_.below(2) == 0));
        else if (dice < 61)
            frees_.push_back(fixture_.store->free_bytes(any_space(), random_.below(800)));
        else if (dice < 63)
            advise();
        else if (dice < 65)
            ask_all();
        else if (dice < 66)
            reserve();
        else if (dice < 68)
            pin();
        else if (dice < 69)
            revoke();
        else if (dice < 72)
            fixture_.store->pump();
        else if (dice < 76)
            fixture_.transfers.pass_one();
        else
            fixture_.transfers.step();
    }

    void create() {
        if (known_.size() + creations_.size() >= 40)
            return;
        BufferSpec spec;
        spec.size = 1 + random_.below(300);
        spec.space = any_space();
        if (random_.below(3) == 0)
            spec.otherwise.push_back(any_space());
        spec.hint = static_cast<std::int32_t>(random_.below(3)) - 1;
        spec.may_spill = random_.below(20) != 0;
        spec.blank = random_.below(3) == 0;
        if (random_.below(2) == 0) {
            spec.space = kGpu;
            spec.gate = std::make_shared<Gate>();
            spec.range = fixture_.transfers.reserve(spec.size);
        }
        Known known;
        known.gate = spec.gate;
        known.range = spec.range;
        creations_.emplace_back(std::move(known), fixture_.store->create(spec));
    }

    // Some of the buffers that can be.
    void pin() {
        std::vector<PinUse> uses;
        for (auto& [buffer, known] : known_)
            if (known.gate && uses.size() < 3 && random_.below(6) == 0)
                uses.push_back({ref(buffer), known.gate.get(), random_.below(2) == 0});
        if (uses.empty())
            return;
        PendingPins pending = PinDesk(*fixture_.store).pin_all(uses, kGpu, random_.below(3) == 0);
        if (pending.request && random_.below(8) == 0)
            (void)PinDesk(*fixture_.store).withdraw(*pending.request);
        pinning_.emplace_back(std::move(uses), std::move(pending.pins));
    }

    void revoke() {
        const Key buffer = any();
        if (random_.below(4) == 0)
            PinDesk(*fixture_.store)
                .stream_ended(StreamId{static_cast<std::uint32_t>(random_.below(3))});
        else if (random_.below(3) == 0)
            (void)PinDesk(*fixture_.store).quiet(ref(buffer));
        else
            frees_.push_back(PinDesk(*fixture_.store).defer(ref(buffer), any_space()));
    }

    // Nothing has happened to what is pinned.
    void unpin() {
        const std::size_t which = random_.below(pinned_.size());
        Known& known = known_.at(pinned_[which].first);
        if (known.defined)
            REQUIRE(has_content(bytes_of(known), known.content));
        --known.accesses;
        if (random_.below(2) == 0)
            pinned_[which].second.set_stream(
                StreamId{static_cast<std::uint32_t>(random_.below(3))});
        pinned_.erase(pinned_.begin() + static_cast<std::ptrdiff_t>(which));
    }

    static std::span<std::byte> bytes_of(const Known& known) {
        const Range range = known.range->range();
        return {reinterpret_cast<std::byte*>(to_integer(range.begin)), range.size};
    }

    void use_pin(const PinUse& use, BufferPin pin) {
        ++granted_;
        Known& known = known_.at(key(use.buffer));
        if (known.defined)
            REQUIRE(has_content(bytes_of(known), known.content));
        if (use.write) {
            known.content = random_.next();
            known.defined = true;
            fill_content(bytes_of(known), known.content);
        }
        ++known.accesses;
        pinned_.emplace_back(key(use.buffer), std::move(pin));
    }

    void ask() {
        const Key buffer = any();
        AccessSpec spec;
        spec.space = any_space();
        const AccessMode modes[] = {AccessMode::read, AccessMode::read, AccessMode::write,
                                    AccessMode::overwrite, AccessMode::pin};
        spec.mode = modes[random_.below(5)];
        spec.stream = StreamId{static_cast<std::uint32_t>(random_.below(3))};
        spec.patient = random_.below(8) == 0;
        requests_.emplace_back(buffer, fixture_.store->acquire(ref(buffer), spec));
    }

    // Some buffers at once.
    void ask_all() {
        std::vector<BufferUse> uses;
        const std::uint64_t count = 1 + random_.below(4);
        for (std::uint64_t i = 0; i < count; ++i) {
            const BufferRef buffer = ref(any());
            const AccessMode modes[] = {AccessMode::read, AccessMode::write, AccessMode::overwrite,
                                        AccessMode::pin};
            const bool twice = std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
                return use.buffer == buffer;
            });
            if (!twice)
                uses.push_back({buffer, modes[random_.below(4)], 0});
        }
        AccessSpec spec;
        spec.space = any_space();
        spec.stream = StreamId{static_cast<std::uint32_t>(random_.below(3))};
        spec.patient = random_.below(3) == 0;
        auto pending = fixture_.store->acquire_all(uses, spec);
        groups_.emplace_back(std::move(uses), std::move(pending));
    }

    void reserve() {
        if (!reservations_.empty() && random_.below(2) == 0)
            return reservations_.pop_back();
        ReservationSpec access_spec;
        access_spec.spaces = {any_space(), any_space()};
        access_spec.size = random_.below(400);
        access_spec.up_to = random_.below(4) == 0;
        access_spec.patient = random_.below(3) == 0;
        reserving_.push_back(fixture_.store->reserve(access_spec));
    }

    void destroy() {
        const Key buffer = any();
        const bool used = known_.at(buffer).accesses != 0;
        // An access may have been granted that this program has not looked at yet.
        const Result<void> outcome = fixture_.store->destroy(ref(buffer));
        if (used)
            REQUIRE(outcome.error().code == ErrorCode::bad_input);
        if (outcome)
            known_.erase(buffer);
    }

    void advise() {
        const Key buffer = any();
        REQUIRE(
            fixture_.store->set_hint(ref(buffer), static_cast<std::int32_t>(random_.below(5)) - 2));
        if (random_.below(2) == 0)
            REQUIRE(fixture_.store->set_may_spill(ref(buffer), random_.below(8) != 0));
    }

    void release() {
        if (!pinned_.empty() && (held_.empty() || random_.below(2) == 0))
            return unpin();
        if (held_.empty())
            return;
        const std::size_t which = random_.below(held_.size());
        --known_.at(held_[which].first).accesses;
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
    }

    template <class T, class Take>
    static void take_ready(std::vector<T>& list, Take take) {
        for (std::size_t i = 0; i < list.size();) {
            if (!list[i].second.ready()) {
                ++i;
                continue;
            }
            T entry = std::move(list[i]);
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
            take(entry);
        }
    }

    void collect() {
        take_ready(creations_, [&](auto& entry) {
            const Result<BufferRef> made = entry.second.take();
            if (made)
                known_[key(*made)] = std::move(entry.first);
        });
        take_ready(requests_, [&](auto& entry) { use(entry.first, entry.second.take()); });
        take_ready(groups_, [&](auto& entry) {
            Result<std::vector<Access>> accesses = entry.second.take();
            if (!accesses) {
                ++refused_;
                return;
            }
            REQUIRE(accesses->size() == entry.first.size());
            for (std::size_t i = 0; i < accesses->size(); ++i)
                use(key(entry.first[i].buffer), std::move((*accesses)[i]));
        });
        // After the writers that were granted before, who change what is pinned beside them.
        take_ready(pinning_, [&](auto& entry) {
            Result<std::vector<BufferPin>> pins = entry.second.take();
            refused_ += pins ? 0U : 1U;
            for (std::size_t i = 0; pins && i < pins->size(); ++i)
                use_pin(entry.first[i], std::move((*pins)[i]));
        });
        std::erase_if(reserving_, [&](auto& pending) {
            if (!pending.ready())
                return false;
            Result<MemoryReservation> made = pending.take();
            if (made)
                reservations_.push_back(std::move(*made));
            return true;
        });
        std::erase_if(prefetches_, [](auto& pending) { return pending.ready(); });
        std::erase_if(frees_, [](auto& pending) {
            if (!pending.ready())
                return false;
            const FreeReport report = pending.take();
            REQUIRE((report.end != FreeEnd::enough || report.freed >= report.requested));
            return true;
        });
    }

    void use(Key buffer, Result<Access> access) {
        if (!access) {
            ++refused_;
            return;
        }
        ++granted_;
        Known& known = known_.at(buffer);
        const AccessMode mode = access->mode();
        const std::span<std::byte> bytes = fixture_.transfers.bytes(access->location());
        if (known.defined && mode != AccessMode::overwrite && mode != AccessMode::pin)
            REQUIRE(has_content(bytes, known.content));
        if (mode == AccessMode::write || mode == AccessMode::overwrite) {
            known.content = random_.next();
            known.defined = true;
            fill_content(bytes, known.content);
        }
        ++known.accesses;
        held_.emplace_back(buffer, std::move(*access));
    }

    void check() {
        fixture_.store->check();
        for (const auto& space : fixture_.spaces) {
            const SpaceCounters counters = space->counters();
            REQUIRE(counters.used <= space->spec().capacity);
            REQUIRE(fixture_.transfers.held(space->id()) <= counters.allocated);
        }
    }

    bool waited_for(Key buffer) const {
        return std::any_of(requests_.begin(), requests_.end(),
                           [&](const auto& request) { return request.first == buffer; }) ||
               std::any_of(pinning_.begin(), pinning_.end(),
                           [&](const auto& pinning) {
                               return std::any_of(
                                   pinning.first.begin(), pinning.first.end(),
                                   [&](const PinUse& use) { return key(use.buffer) == buffer; });
                           }) ||
               std::any_of(groups_.begin(), groups_.end(), [&](const auto& group) {
                   return std::any_of(
                       group.first.begin(), group.first.end(),
                       [&](const BufferUse& use) { return key(use.buffer) == buffer; });
               });
    }

    // Lets everything end, then reads every buffer.
    void finish() {
        for (const auto& [buffer, known] : known_)
            REQUIRE(fixture_.store->set_may_spill(ref(buffer), true));
        let_go();
        REQUIRE(frees_.empty());
        fixture_.store->drain();
        check();
        while (!known_.empty()) {
            // Those that wait for room get it when others have ended.
            const auto next = std::find_if(known_.begin(), known_.end(), [&](const auto& entry) {
                return !waited_for(entry.first);
            });
            REQUIRE(next != known_.end());
            read_and_end(next->first, next->second);
            known_.erase(next);
            let_go();
        }
        REQUIRE(requests_.empty());
        REQUIRE(creations_.empty());
        REQUIRE(groups_.empty());
        REQUIRE(pinning_.empty());
        REQUIRE(reserving_.empty());
        REQUIRE(prefetches_.empty());
        fixture_.store->close();
        for (const auto& space : fixture_.spaces) {
            REQUIRE(space->counters().used == 0);
            REQUIRE(fixture_.transfers.held(space->id()) == 0);
        }
    }

    // Until nothing more happens without anybody letting go.
    void let_go() {
        const auto unanswered = [&] {
            return requests_.size() + creations_.size() + frees_.size() + prefetches_.size() +
                   groups_.size() + reserving_.size() + pinning_.size();
        };
        for (std::size_t before = unanswered() + 1;
             before != unanswered() || !held_.empty() || !pinned_.empty();) {
            before = unanswered();
            fixture_.calm();
            collect();
            while (!held_.empty() || !pinned_.empty())
                release();
            reservations_.clear();
        }
        fixture_.calm();
    }

    // Reads it where it is.
    void read_and_end(Key buffer, const Known& known) {
        if (known.defined) {
            AccessSpec spec;
            spec.space = fixture_.store->where(ref(buffer)).at(0);
            const Result<Access> access =
                fixture_.settle(fixture_.store->acquire(ref(buffer), spec));
            REQUIRE(access);
            REQUIRE(has_content(fixture_.transfers.bytes(access->location()), known.content));
        }
        REQUIRE(fixture_.store->destroy(ref(buffer)));
    }

    Random random_;
    TieredFixture fixture_;
    std::map<Key, Known> known_;
    std::vector<std::pair<Known, Pending<Result<BufferRef>>>> creations_;
    std::vector<std::pair<std::vector<PinUse>, Pending<Result<std::vector<BufferPin>>>>> pinning_;
    std::vector<std::pair<Key, BufferPin>> pinned_;
    std::vector<std::pair<Key, Pending<Result<Access>>>> requests_;
    std::vector<Pending<Result<void>>> prefetches_;
    std::vector<Pending<FreeReport>> frees_;
    std::vector<std::pair<Key, Access>> held_;
    std::vector<std::pair<std::vector<BufferUse>, Pending<Result<std::vector<Access>>>>> groups_;
    std::vector<Pending<Result<MemoryReservation>>> reserving_;
    std::vector<MemoryReservation> reservations_;
    std::uint64_t granted_ = 0;
    std::uint64_t refused_ = 0;
};

struct Setting {
    const char* policy;
    TieredSizes sizes;
    bool keep_clean;
    bool pump_in_calls;
    bool prefetch = false;  // by what is learned
};

const Setting kSettings[] = {
    {"lru", {}, true, true},
    {"lru", {.gpu = 1000, .host = 700, .disk = 3000}, true, false},
    {"s3fifo", {.spill_start = 0.8, .spill_stop = 0.5}, true, true},
    {"cost", {.gpu = 800, .host = 800, .disk = 0}, false, true},
    {"hint", {.gpu1 = 600, .spill_start = 0.9, .spill_stop = 0.6}, true, false},
    {"gdsf", {.host = 400, .disk = 2000, .gpu1 = 500}, false, false},
    {"sieve", {.host = 900, .gpu1 = 700, .peers = false}, true, true},
    {"learned", {}, true, true, true},
    {"lru", {.gpu = 600, .host = 600, .disk = 3000}, true, false, true},
};

// Runs `operations` in programs of a few thousand.
void run_programs(std::uint64_t operations, bool faults) {
    std::uint64_t granted = 0;
    std::uint64_t refused = 0;
    std::uint64_t copies = 0;
    const std::uint64_t each = 2500;
    for (std::uint64_t seed = 0; seed * each < operations; ++seed) {
        const Setting& setting = kSettings[seed % std::size(kSettings)];
        StoreOptions options;
        options.spill.keep_clean = setting.keep_clean;
        options.spill.background_in_flight = 400;
        options.pump_in_calls = setting.pump_in_calls;
        if (setting.prefetch) {
            options.spill.forecast = std::make_shared<LearnedForecast>();
            options.spill.prefetch = true;
        }
        INFO("seed " << seed << ", " << setting.policy);
        RandomProgram program(seed, setting.policy, setting.sizes, options);
        program.run(each, faults);
        granted += program.granted();
        refused += program.refused();
        copies += program.copies();
    }
    CHECK(granted > operations / 20);
    CHECK(refused > 0);
    CHECK(copies > operations / 50);
    if (operations > 1'000'000)
        WARN(operations << " operations: " << granted << " accesses granted, " << refused
                        << " refused, " << copies << " copies");
}

TEST_CASE("a random program finds every byte where it left it", "[tiers][spill]") {
    run_programs(100'000, false);
}

TEST_CASE("a random program finds every byte when copies and places fail", "[tiers][spill]") {
    run_programs(100'000, true);
}

// More than a million copies, of which one in about sixty chunks fails.
TEST_CASE("twenty million random operations with failures lose nothing", "[.long][tiers][spill]") {
    run_programs(20'000'000, true);
}

}  // namespace
}  // namespace tidemark
