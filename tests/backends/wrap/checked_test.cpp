// The checker: every hazard is provoked by a little allocator that is wrong in one way, and found
// with the two events that clash; the same allocator without the fault is silent.
#include "backends/wrap/checked.h"

#include <map>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/faulty.h"
#include "core/base/random.h"
#include "tests/backends/wrap/only_hazard.h"
#include "tests/support/device.h"

using namespace tidemark;
using support::kA;
using support::kB;

namespace {

enum class Fault {
    none,
    overlap,           // grants the same slot again
    no_wait,           // another stream's slot at once
    forgets_use,       // waits for the allocation's stream, not for those of record_use
    waits_too_early,   // waits for an event from before the deallocation
    free_under_live,   // trim gives the segment back, whatever lives in it
    free_twice,        // destructor
    free_unknown,      // destructor
    leak,              // destructor forgets
    beyond_end,        // grants behind its segment
    too_small,         // grants less than was asked
    misaligned,        // grants 8 bytes beside
    waits_in_capture,  // synchronizes in every allocate
};

// Slots of 4 KiB in one segment, the last let go is the first to be granted again.
class Slots final : public Allocator {
  public:
    static constexpr Bytes kSlot = 4_KiB;
    static constexpr Bytes kSegment = 1_MiB;

    Slots(Device& device, Fault fault) : device_(device), fault_(fault) {
        segment_ = device.malloc(kSegment).value();
        for (std::uint32_t slot = kSegment / kSlot; slot-- > 0;)
            free_.push_back(slot);
        usage_.reserved = usage_.mapped = kSegment;
    }

    ~Slots() override {
        if (fault_ == Fault::leak)
            return;
        if (fault_ == Fault::free_unknown)
            (void)device_.free(segment_ + 512);
        (void)device_.free(segment_);
        if (fault_ == Fault::free_twice)
            (void)device_.free(segment_);
    }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (fault_ == Fault::waits_in_capture)
            (void)device_.synchronize(request.stream);
        if (free_.empty())
            return tl::make_unexpected(OutOfMemory{});
        const std::uint32_t slot = free_.back();
        if (fault_ != Fault::overlap)
            free_.pop_back();
        wait_for_users(slot, request.stream);
        streams_[slot] = {request.stream};
        if (fault_ == Fault::waits_too_early)
            events_[slot] = device_.record(request.stream).value();
        Allocation allocation{.address = segment_ + slot * kSlot, .size = kSlot, .node = slot};
        if (fault_ == Fault::beyond_end)
            allocation.address = segment_ + (kSegment - 512);
        if (fault_ == Fault::misaligned)
            allocation = {.address = allocation.address + 8, .size = kSlot - 8, .node = slot};
        if (fault_ == Fault::too_small)
            allocation.size = 512;
        count_allocated(allocation.size);
        return allocation;
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        count_deallocated(allocation);
        free_.push_back(allocation.node);
        if (allocation.retired)
            streams_[allocation.node].clear();
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        if (fault_ != Fault::forgets_use)
            streams_[allocation.node].push_back(stream);
    }

    void trim(TrimLevel /*level*/) override {
        if (fault_ == Fault::free_under_live)
            (void)device_.free(segment_);
    }

    Bytes largest_free() const override { return free_.empty() ? 0 : kSlot; }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        visit({.range = {segment_, kSegment}, .segment = {segment_, kSegment}});
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        auto copy = std::make_unique<Slots>(device, fault_);
        copy->usage_ = usage_;
        return copy;
    }

    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override {
        std::vector<Allocation> allocations;
        for (const SeedSegment& segment : segments) {
            for (std::size_t i = 0; i < segment.blocks.size(); ++i)
                allocations.push_back(allocate({.stream = segment.stream}).value());
        }
        return allocations;
    }

  private:
    void wait_for_users(std::uint32_t slot, StreamId stream) {
        if (fault_ == Fault::no_wait)
            return;
        for (const StreamId user : streams_[slot]) {
            if (user == stream)
                continue;
            const EventId event =
                fault_ == Fault::waits_too_early ? events_[slot] : device_.record(user).value();
            (void)device_.wait(stream, event);
        }
    }

    Device& device_;
    Fault fault_;
    Address segment_ = Address::null;
    std::vector<std::uint32_t> free_;
    std::map<std::uint32_t, std::vector<StreamId>> streams_;  // that used the slot last
    std::map<std::uint32_t, EventId> events_;
};

// A page per allocation, mapped at one address and unmapped at the end; `waits` or not.
class Pages final : public Allocator {
  public:
    Pages(Device& device, bool waits) : device_(device), waits_(waits) {
        range_ = device.reserve(64_MiB).value();
    }

    ~Pages() override { (void)device_.unreserve(range_); }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& /*request*/) override {
        const PhysicalId page = device_.create({}, 2_MiB).value();
        const Range range{range_.begin + 2_MiB * pages_, 2_MiB};
        (void)device_.map(range, page);
        (void)device_.set_access(range, true);
        (void)device_.release(page);
        count_allocated(2_MiB);
        return Allocation{.address = range.begin, .size = 2_MiB, .node = pages_++};
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        if (waits_ && !allocation.retired)
            (void)device_.synchronize_device();
        (void)device_.unmap({allocation.address, allocation.size});
        count_deallocated(allocation);
    }

    void record_use(const Allocation& /*allocation*/, StreamId /*stream*/) override {}

    void trim(TrimLevel /*level*/) override {}

    Bytes largest_free() const override { return 0; }

    void for_each_region(const std::function<void(const Region&)>& /*visit*/) const override {}

  private:
    Device& device_;
    bool waits_;
    Range range_;
    std::uint32_t pages_ = 0;
};

// A checked allocator on a checked simulator. Each call is an event, numbered from 1.
template <class Inner, class Option>
class Run {
  public:
    explicit Run(Option option)
        : allocator_(std::make_unique<CheckedAllocator>(std::make_unique<Inner>(device_, option),
                                                        checker_)) {}

    Allocation allocate(StreamId stream = kA, Bytes size = 1000, Bytes alignment = 512) {
        next_event();
        return allocator_->allocate({.size = size, .alignment = alignment, .stream = stream})
            .value();
    }

    void deallocate(const Allocation& allocation, StreamId stream = kA) {
        next_event();
        allocator_->deallocate(allocation, stream);
    }

    void record_use(const Allocation& allocation, StreamId stream) {
        next_event();
        allocator_->record_use(allocation, stream);
    }

    void trim() {
        next_event();
        allocator_->trim(TrimLevel::all);
    }

    void finish() {
        next_event();
        allocator_.reset();
        checker_.finish();
    }

    void must_find(HazardKind kind, std::uint64_t first, std::uint64_t second) const {
        support::check_only_hazard(checker_, kind, first, second);
    }

    void next_event() { checker_.set_event(++event_); }

    SimDevice sim_{SimConfig{.capacity = 1_GiB}};
    Checker checker_;
    CheckedDevice device_{sim_, checker_};
    std::unique_ptr<CheckedAllocator> allocator_;
    std::uint64_t event_ = 0;
};

using SlotsRun = Run<Slots, Fault>;
using PagesRun = Run<Pages, bool>;

// A load that meets every correct and most wrong decisions. Returns what was granted.
template <class AnyAllocator>
std::vector<Address> load(AnyAllocator& allocator, Checker* checker) {
    std::vector<Address> granted;
    std::vector<Allocation> live;
    Random random(11);
    for (std::uint64_t event = 1; event <= 3000; ++event) {
        if (checker)
            checker->set_event(event);
        const StreamId stream{static_cast<std::uint32_t>(random.below(4))};
        const std::uint64_t what = random.below(10);
        if (what < 5) {
            const auto allocation = allocator.allocate({.size = 100, .stream = stream});
            granted.push_back(allocation ? allocation->address : Address::null);
            if (allocation)
                live.push_back(*allocation);
        } else if (!live.empty()) {
            std::swap(live[random.below(live.size())], live.back());
            if (what < 6) {
                allocator.record_use(live.back(), stream);
                continue;
            }
            if (what == 7)
                allocator.retire(live.back());
            allocator.deallocate(live.back(), stream);
            live.pop_back();
        }
        granted.push_back(Address{allocator.usage().active});
        granted.push_back(Address{allocator.usage().allocated});
    }
    return granted;
}

}  // namespace

TEST_CASE("a correct allocator is silent under a load on many streams") {
    SlotsRun run(Fault::none);
    load(*run.allocator_, &run.checker_);
    run.finish();
    CHECK(run.checker_.count() == 0);
    CHECK(run.checker_.hazards().empty());
    CHECK(run.checker_.live_at_end() > 0);
}

TEST_CASE("checked and unchecked runs give the same grants, counters and times") {
    for (const Fault fault : {Fault::none, Fault::no_wait}) {
        SlotsRun checked(fault);
        SimDevice sim({.capacity = 1_GiB});
        Slots unchecked(sim, fault);
        CHECK(load(*checked.allocator_, &checked.checker_) == load(unchecked, nullptr));
        CHECK(checked.sim_.counters().total_calls() == sim.counters().total_calls());
        CHECK(checked.sim_.now() == sim.now());
    }
}

TEST_CASE("a load on many streams finds an allocator that does not wait") {
    SlotsRun run(Fault::no_wait);
    load(*run.allocator_, &run.checker_);
    CHECK(run.checker_.count(HazardKind::reuse_before_completion) > 100);
    CHECK(run.checker_.count() == run.checker_.count(HazardKind::reuse_before_completion));
    CHECK(run.checker_.hazards().size() == Checker::kMostKept);
}

TEST_CASE("each wrong decision is found, with the two events that clash") {
    struct Case {
        std::string_view what;
        Fault fault;
        HazardKind kind;
        std::uint64_t first;
        std::uint64_t second;
        void (*run)(SlotsRun& run);
    };

    const auto its_end = [](SlotsRun& run) { run.finish(); };
    const auto one_grant = [](SlotsRun& run) { run.allocate(); };
    const auto another_streams_slot = [](SlotsRun& run) {
        run.deallocate(run.allocate(kA));
        run.allocate(kB);
    };
    const Case cases[] = {
        {"a live allocation's bytes are granted again", Fault::overlap, HazardKind::overlap, 1, 2,
         [](SlotsRun& run) {
             run.allocate();
             run.allocate();
         }},
        {"so are those of one that was retired only", Fault::overlap, HazardKind::overlap, 1, 2,
         [](SlotsRun& run) {
             Allocation a = run.allocate(kA);
             run.allocator_->retire(a);
             run.allocate(kA);
         }},
        {"another stream gets bytes whose work isn't awaited", Fault::no_wait,
         HazardKind::reuse_before_completion, 2, 3, another_streams_slot},
        {"the event awaited is older than the deallocation", Fault::waits_too_early,
         HazardKind::reuse_before_completion, 2, 3, another_streams_slot},
        {"a stream of record_use is forgotten", Fault::forgets_use,
         HazardKind::reuse_before_completion, 3, 4,
         [](SlotsRun& run) {
             const Allocation a = run.allocate(kA);
             run.record_use(a, kB);
             run.deallocate(a);
             run.allocate(kA);
         }},
        {"memory is freed under a live allocation", Fault::free_under_live,
         HazardKind::unmap_in_flight, 1, 2,
         [](SlotsRun& run) {
             run.allocate();
             run.trim();
         }},
        {"the caller gives an allocation back twice", Fault::none, HazardKind::double_free, 2, 3,
         [](SlotsRun& run) {
             const Allocation a = run.allocate();
             run.deallocate(a);
             run.deallocate(a);
         }},
        {"the caller gives back what was never granted", Fault::none, HazardKind::unknown_free, 1,
         1,
         [](SlotsRun& run) {
             run.deallocate({.address = Address{0x1234}, .size = 512, .node = 3});
         }},
        {"the device's memory is freed twice", Fault::free_twice, HazardKind::double_free, 1, 1,
         its_end},
        {"what the device never gave is freed", Fault::free_unknown, HazardKind::unknown_free, 1, 1,
         its_end},
        {"a grant leaves the memory of the device", Fault::beyond_end, HazardKind::out_of_bounds, 1,
         1, one_grant},
        {"a grant is smaller than the request", Fault::too_small, HazardKind::out_of_bounds, 1, 1,
         one_grant},
        {"what is no longer live is used", Fault::none, HazardKind::out_of_bounds, 2, 3,
         [](SlotsRun& run) {
             const Allocation a = run.allocate();
             run.deallocate(a);
             run.record_use(a, kB);
         }},
    };
    for (const Case& one : cases) {
        INFO(one.what);
        SlotsRun run(one.fault);
        one.run(run);
        run.must_find(one.kind, one.first, one.second);
    }
}

TEST_CASE("reuse on the same stream needs no waiting") {
    SlotsRun run(Fault::no_wait);
    run.deallocate(run.allocate(kA), kB);
    run.allocate(kA);
    CHECK(run.checker_.count() == 0);
}

TEST_CASE("waiting, asking and synchronizing each make reuse safe") {
    const int how = GENERATE(0, 1, 2, 3, 4, 5);
    SlotsRun run(Fault::no_wait);
    const Allocation a = run.allocate(kA);
    const Address other = run.device_.malloc(512).value();
    run.deallocate(a);
    const EventId event = run.device_.record(kA).value();
    if (how == 0)
        REQUIRE(run.device_.wait(kB, event));
    if (how == 1)
        REQUIRE(run.device_.complete(event).value());
    if (how == 2)
        REQUIRE(run.device_.synchronize(kA));
    if (how == 3)
        REQUIRE(run.device_.synchronize_device());
    if (how == 4)
        REQUIRE(run.device_.free(other));
    run.allocate(kB);
    CHECK(run.checker_.count() == (how == 5 ? 1 : 0));
}

TEST_CASE("an event that isn't complete makes nothing safe") {
    const CostProfile profile = load_profile("h200").value();
    SimDevice sim({.profile = &profile});
    Checker checker;
    CheckedDevice device(sim, checker);
    CheckedAllocator allocator(std::make_unique<Slots>(device, Fault::no_wait), checker);
    const Allocation a = allocator.allocate({.size = 512, .stream = kA}).value();
    REQUIRE(device.fill(a.address, 0, 4096, kA));
    allocator.deallocate(a, kA);
    REQUIRE_FALSE(device.complete(device.record(kA).value()).value());
    REQUIRE(allocator.allocate({.size = 512, .stream = kB}));
    CHECK(checker.count(HazardKind::reuse_before_completion) == 1);
}

TEST_CASE("a retired allocation has been seen to be done with when it is deallocated") {
    SlotsRun run(Fault::no_wait);
    Allocation a = run.allocate(kA);
    run.allocator_->retire(a);
    run.deallocate(a);
    run.allocate(kB);
    CHECK(run.checker_.count() == 0);
}

TEST_CASE("counters of both sides agree when allocations are retired between calls") {
    SlotsRun run(Fault::none);
    Allocation a = run.allocate();
    Allocation b = run.allocate();
    run.allocator_->retire(a);
    run.allocator_->retire(b);
    CHECK(run.allocator_->usage().allocated == 0);
    SimDevice other({.capacity = 1_GiB});
    CHECK(run.allocator_->clone(other)->usage().allocated == 0);
    const Allocation c = run.allocate();
    CHECK(run.allocator_->usage().allocated == Slots::kSlot);
    CHECK(run.allocator_->usage().active == 3 * Slots::kSlot);
    run.deallocate(a);
    run.deallocate(b);
    run.deallocate(c);
    CHECK(run.allocator_->usage().allocated == 0);
    CHECK(run.allocator_->usage().active == 0);
    CHECK(run.allocator_->usage().reserved == Slots::kSegment);
}

TEST_CASE("unmap in flight: work may still use the page that is unmapped") {
    PagesRun run(false);
    const Allocation a = run.allocate();
    run.deallocate(a);
    run.must_find(HazardKind::unmap_in_flight, 2, 2);
}

TEST_CASE("unmapping after waiting for the device, or after retirement, is fine") {
    PagesRun run(true);
    const Allocation a = run.allocate();
    Allocation b = run.allocate();
    run.deallocate(a);
    run.allocator_->retire(b);
    run.deallocate(b);
    run.finish();
    CHECK(run.checker_.count() == 0);
}

TEST_CASE("free waits for the device, so that freeing behind queued work is fine") {
    SlotsRun run(Fault::free_under_live);
    run.deallocate(run.allocate());
    run.trim();
    CHECK(run.checker_.count() == 0);
}

TEST_CASE("misaligned: an address that the request forbids") {
    SlotsRun run(Fault::misaligned);
    run.allocate(kA, 1000, 8);
    CHECK(run.checker_.count() == 0);
    run.allocate(kA, 1000, 16);
    run.must_find(HazardKind::misaligned, 2, 2);
}

TEST_CASE("leak: memory that is still held when the allocator is gone") {
    SlotsRun run(Fault::leak);
    run.allocate();
    run.finish();
    run.must_find(HazardKind::leak, 0, 2);
    CHECK(run.checker_.live_at_end() == 1);
}

TEST_CASE("what the program never freed is no hazard but counted") {
    SlotsRun run(Fault::none);
    run.allocate();
    run.allocate();
    run.finish();
    CHECK(run.checker_.count() == 0);
    CHECK(run.checker_.live_at_end() == 2);
}

TEST_CASE("a call that waits is illegal while a graph is captured") {
    SlotsRun run(Fault::waits_in_capture);
    run.allocate();
    CHECK(run.checker_.count() == 0);
    run.next_event();
    REQUIRE(run.sim_.begin_capture(kB));
    REQUIRE(run.device_.record(kB));
    run.allocate();
    run.must_find(HazardKind::illegal_in_capture, 2, 3);
    REQUIRE(run.sim_.end_capture(kB));
    run.allocate();
    CHECK(run.checker_.count() == 1);
}

TEST_CASE("restored allocations are known to the checker") {
    SlotsRun run(Fault::none);
    SeedSegment segment;
    segment.stream = kA;
    segment.blocks = {{Address{1_MiB}, 512, 512}, {Address{1_MiB + 512}, 512, 100}};
    const auto allocations = run.allocator_->restore({{segment}}).value();
    REQUIRE(allocations.size() == 2);
    run.deallocate(allocations[0]);
    run.deallocate(allocations[0]);
    run.must_find(HazardKind::double_free, 1, 2);
}

TEST_CASE("what the inner allocator says is passed on") {
    SlotsRun run(Fault::none);
    CHECK(run.allocator_->largest_free() == Slots::kSlot);
    int regions = 0;
    run.allocator_->for_each_region([&](const Region&) { ++regions; });
    CHECK(regions == 1);
    for (int i = 0; i < 256; ++i)
        run.allocate();
    CHECK_FALSE(run.allocator_->allocate({.size = 1}));
    CHECK(run.allocator_->usage().allocated == Slots::kSegment);
    CHECK(run.checker_.count() == 0);
}
