// VpmmPool: an allocator of policy vpmm on a checked simulated device, as its tests see it: they
// count in pages and look at layouts. At its end all is given back, and the checker must have found
// nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/checked.h"
#include "backends/wrap/faulty.h"
#include "core/allocator/address_spans.h"
#include "core/policies/vpmm_allocator.h"
#include "tests/support/policy.h"

namespace tidemark::support {

class VpmmPool {
  public:
    static constexpr Bytes kPage = 2_MiB;

    // `options` as after "vpmm:".
    explicit VpmmPool(const std::string& options = {}, SimConfig config = small_device(1_GiB))
        : sim_(config), checked_(sim_, checker_), faulty_(checked_, {}) {
        auto inner = make_policy("vpmm:" + options, faulty_);
        vpmm_ = inner.get();
        allocator_ = std::make_unique<CheckedAllocator>(std::move(inner), checker_);
    }

    ~VpmmPool() {
        faulty_.set_plan({});
        for (const Allocation& allocation : live_)
            allocator_->deallocate(allocation, StreamId::default_stream);
        allocator_->trim(TrimLevel::all);
        CHECK(allocator_->usage().reserved == 0);
        CHECK(sim_.memory().free == sim_.memory().total);
        allocator_.reset();
        checker_.finish();
        for (const Hazard& hazard : checker_.hazards())
            FAIL_CHECK(to_text(hazard.kind) << ": " << hazard.what);
    }

    // Grants of whole pages, and of bytes; they must succeed.
    Allocation take(Bytes pages, std::uint32_t stream = 0) {
        return take_bytes(pages * kPage, stream);
    }

    Allocation take_bytes(Bytes size, std::uint32_t stream = 0) {
        live_.push_back(must_allocate(*allocator_, size, StreamId{stream}));
        newest_ = live_.back().address;
        return live_.back();
    }

    // A request that must be refused; why it is.
    OutOfMemory refuse(Bytes pages, std::uint32_t stream = 0) {
        const auto granted =
            allocator_->allocate({.size = pages * kPage, .stream = StreamId{stream}});
        REQUIRE_FALSE(granted);
        return granted.error();
    }

    void give(const Allocation& allocation) {
        std::erase_if(live_, [&](const Allocation& one) { return one.node == allocation.node; });
        newest_ = Address::null;
        allocator_->deallocate(allocation, StreamId::default_stream);
    }

    // Lets go in two steps, as a trace that knows when the device was done.
    void retire(Allocation allocation) {
        std::erase_if(live_, [&](const Allocation& one) { return one.node == allocation.node; });
        allocator_->retire(allocation);
        allocator_->deallocate(allocation, StreamId::default_stream);
    }

    // Keeps a stream busy with the allocation: a nanosecond a byte.
    void work(const Allocation& allocation, std::uint32_t stream = 0) {
        REQUIRE(checked_.fill(allocation.address, 1, allocation.size, StreamId{stream}));
    }

    // Another stream uses it too: in order, and says so.
    void use(const Allocation& allocation, std::uint32_t stream) {
        allocator_->record_use(allocation, StreamId{stream});
        work(allocation, stream);
    }

    // All work that was queued is over.
    void pass_time() { sim_.replay_clock()->recorded += 1'000'000'000'000; }

    // "[10][+1][-4][*6][.2]": allocated, the newest one, free, zombie and hole, in pages; waiting
    // is
    // "[?2]", stuck "[!2]". The hole at a root's end is left out; roots are parted by " | ".
    std::string layout() const {
        const Bytes page = dynamic_cast<const policies::Vpmm&>(*vpmm_).page();
        std::string text;
        std::string hole;  // not yet written: it may be the last of its root
        std::uint32_t root = 0;
        bool is_first = true;
        vpmm_->for_each_address([&](const AddressSpan& span) {
            constexpr std::string_view kMarks[] = {"", "-", "?", "*", ".", "!"};
            if (!std::exchange(is_first, false) && span.root != root) {
                text += " | ";
                hole.clear();
            }
            root = span.root;
            const bool is_newest =
                span.state == AddressSpan::State::allocated && span.range.begin == newest_;
            const std::string_view mark =
                is_newest ? "+" : kMarks[static_cast<std::size_t>(span.state)];
            const std::string piece =
                "[" + std::string(mark) + std::to_string(span.range.size / page) + "]";
            if (span.state == AddressSpan::State::hole) {
                hole = piece;
                return;
            }
            text += std::exchange(hole, {}) + piece;
        });
        return text;
    }

    AddressTotals totals() const { return address_totals(*vpmm_); }

    std::vector<AddressSpan> spans(AddressSpan::State state) const {
        std::vector<AddressSpan> found;
        vpmm_->for_each_address([&](const AddressSpan& span) {
            if (span.state == state)
                found.push_back(span);
        });
        return found;
    }

    Bytes mapped_pages() const { return allocator_->usage().mapped / kPage; }

    // Of the program's and the allocator's calls.
    std::uint64_t calls(DeviceCall call) const { return support::calls(sim_, call); }

    Allocator& allocator() { return *allocator_; }

    SimDevice& sim() { return sim_; }

    Device& device() { return checked_; }  // for the program: it does not fail

    FaultyDevice& faulty() { return faulty_; }

    Checker& checker() { return checker_; }

  private:
    SimDevice sim_;
    Checker checker_;
    CheckedDevice checked_;
    FaultyDevice faulty_;
    std::unique_ptr<Allocator> allocator_;
    Allocator* vpmm_ = nullptr;
    std::vector<Allocation> live_;
    Address newest_ = Address::null;
};

// One way to harvest after the other, as options: the test runs once for each.
inline std::string each_harvest() {
    return GENERATE(as<std::string>{}, "harvest=source", "harvest=document");
}

// The address so many pages further on.
inline Address pages_after(Address address, Bytes pages) {
    return address + pages * VpmmPool::kPage;
}

}  // namespace tidemark::support
