// plan: addresses that were planned beforehand, for a program that repeats itself.
//
// Model: profile-guided allocation (STAlloc; XLA and others do it when they compile). In a known
// run, each allocation has an interval of requests and a size, and a packing gives each an offset
// in one segment. The next run is served from the packing: a request is recognized by its position
// and its size (plan_rows.h). `file` is a packing that `tidemark bound TRACE -o FILE` has made.
// Without it the policy makes one from the requests that it is told of before the run starts
// (Allocator::plan_pool), which a replay reads from the trace. Requests that deviate from the plan
// go to a best fit of their own, which grows by `segment`, and are counted
// (AllocatorStats::plan_deviations). What differs from STAlloc: a plan may be followed again after
// it was left; memory that another stream used is ordered before it is reused; the plan does not
// start over after its last request.
//
// Promises: the segment is as large as the packing is high, and is reserved with the first request
// that has a row in it; no address is granted twice at once, whatever the plan says; no wait as
// long as one stream is used.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/capture/packing_csv.h"
#include "core/capture/planner.h"
#include "core/policies/coalescing_allocator.h"
#include "core/policies/plan_rows.h"

namespace tidemark::policies {
namespace {

class PlanAllocator final : public CoalescingAllocator<SizeIndex> {
  public:
    PlanAllocator(Device& device, Bytes segment, std::optional<PlanRows> rows)
        : CoalescingAllocator(device), segment_(segment), from_file_(rows.has_value()) {
        if (rows)
            rows_ = *std::move(rows);
    }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (planned() && request.size != 0 && request.size < kLargestRequest) [[likely]] {
            const auto found = rows_.find(request.size, request.alignment);
            if (found && has_memory() && is_aligned(found->row, request.alignment))
                return grant(*found, request.stream);
            ++stats_.plan_deviations;
        }
        const auto grow = [this](Bytes size) {
            const Bytes needed = align_up(size, device_->granularity());
            return take_segment(std::max(needed, segment_), needed);
        };
        return cut_for(request, SizeIndex::kUnit, grow, [](Bytes, Bytes) { return true; });
    }

    void deallocate(const Allocation& allocation, StreamId stream) override {
        if ((allocation.node & kPlanned) == 0)
            return CoalescingAllocator::deallocate(allocation, stream);
        count_deallocated(allocation);
        rows_.let_go(allocation.node & ~kPlanned);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        if ((allocation.node & kPlanned) == 0)
            return CoalescingAllocator::record_use(allocation, stream);
        rows_.use(allocation.node & ~kPlanned, stream);
    }

    void trim(TrimLevel level) override {
        CoalescingAllocator::trim(level);
        refused_ = false;
        if (memory_.size == 0 || rows_.live() != 0 || !device_->free(memory_.begin))
            return;
        count_given_back(memory_.size);
        memory_ = {};
        rows_.forget_users();  // Device::free has waited for them
    }

    void plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<PlanAllocator> copy(new PlanAllocator(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    static constexpr std::uint32_t kPlanned = 0x80000000U;  // in a node: a row, else a block

    PlanAllocator(const PlanAllocator&) = default;

    bool planned() const { return rows_.height() != 0; }

    bool is_aligned(std::uint32_t row, Bytes alignment) const {
        return to_integer(memory_.begin + rows_.offset(row)) % alignment == 0;
    }

    // The segment of the plan. If the device refuses it, it isn't requested again until a trim.
    bool has_memory() {
        if (memory_.size != 0 || refused_) [[likely]]
            return !refused_;
        const Bytes size = align_up(rows_.height(), device_->granularity());
        const auto range =
            malloc_segment(*device_, size, size, [this] { return trim_for_retry(); });
        refused_ = !range;
        if (range) {
            memory_ = *range;
            count_taken(size);
        }
        return !refused_;
    }

    tl::expected<Allocation, OutOfMemory> grant(const PlanRows::Found& found, StreamId stream) {
        if (!found.before.only(stream)) [[unlikely]] {
            const auto ordered = found.before.order_before(stream, *device_);
            if (!ordered)
                return refuse({OutOfMemory::Cause::device_error, ordered.error().status});
        }
        rows_.take(found.row, stream);
        const Bytes size = rows_.size(found.row);
        count_allocated(size);
        return Allocation{memory_.begin + rows_.offset(found.row), size, found.row | kPlanned};
    }

    Bytes segment_;
    bool from_file_;
    PlanRows rows_;
    Range memory_{};        // the plan's segment; of size 0: none now
    bool refused_ = false;  // the device had no room for it
};

// One stream for everything: the order between streams is made when a row is granted.
void PlanAllocator::plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) {
    if (from_file_ || pool != PoolId::default_pool)
        return;
    std::vector<PlannedAllocation> known;
    std::vector<Interval> intervals;
    for (const PlannedAllocation& one : expected) {
        if (one.size == 0 || one.size >= kLargestRequest)
            continue;
        const Bytes size = align_up(one.size, SizeIndex::kUnit);
        known.push_back({.size = size, .begin = one.begin, .end = one.end});
        intervals.push_back({.begin = one.begin, .end = one.end, .size = size});
    }
    const Result<Plan> plan = plan_offsets(known, {}, {.unit = SizeIndex::kUnit});
    if (!plan)
        return;
    Result<PlanRows> rows = PlanRows::of(intervals, plan->offsets);
    TM_CHECK(rows);
    rows_ = *std::move(rows);
}

void PlanAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    CoalescingAllocator::for_each_region(visit);
    Bytes end = 0;
    const auto visit_free_to = [&](Bytes begin) {
        if (end < begin)
            visit({{memory_.begin + end, begin - end}, memory_, Region::State::free});
    };
    for (const std::uint32_t row : rows_.live_rows()) {
        visit_free_to(rows_.offset(row));
        visit({{memory_.begin + rows_.offset(row), rows_.size(row)},
               memory_,
               Region::State::allocated});
        end = rows_.offset(row) + rows_.size(row);
    }
    visit_free_to(memory_.size);
}

constexpr std::array<OptionInfo, 2> kPlanOptions{{
    {.name = "file",
     .type = OptionType::file,
     .summary = "the plan, as `tidemark bound TRACE -o FILE` writes it; without it, the replay "
                "plans its own trace first",
     .source = "id,lower,upper,size,offset: MiniMalloc's format"},
    {.name = "segment",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "32MiB",
     .minimum = "512",
     .maximum = "1TiB",
     .summary = "smallest segment that is reserved for requests that deviate from the plan",
     .source = "the growth step of the CUDA driver's own pool, measured"},
}};

Result<PlanRows> read_plan(const std::string& path) {
    TM_ASSIGN(const NamedIntervals packing, read_packing_file(path));
    if (packing.offsets.size() != packing.intervals.size())
        return fail(ErrorCode::bad_input, "there is no column `offset`", path,
                    "`tidemark bound TRACE -o FILE` writes one");
    return PlanRows::of(packing.intervals, packing.offsets).map_error([&](Error error) {
        error.where = path;
        return error;
    });
}

Result<std::unique_ptr<Allocator>> make_plan(Device& device, const Options& options) {
    std::optional<PlanRows> rows;
    if (const std::string path(options.text("file")); !path.empty()) {
        TM_ASSIGN(rows, read_plan(path));
    }
    return std::make_unique<PlanAllocator>(device, options.bytes("segment"), std::move(rows));
}

}  // namespace

PolicyInfo plan() {
    return {
        .name = "plan",
        .summary = "addresses planned beforehand from a run; best fit for requests that deviate",
        .source = "STAlloc, 2025; Sekiyama et al., Profile-guided memory optimization, 2018",
        .options = kPlanOptions,
        .make = make_plan,
        .plans = PlanScope::everything,
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
