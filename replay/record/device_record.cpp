// One pass over the trace, and the seeds put in order.
#include "replay/record/device_record.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "core/policies/torch_settings.h"

namespace tidemark {
namespace {

// Streams in the order of their handles, which is the order that PyTorch keeps them in.
std::vector<std::uint32_t> stream_ranks(const TraceInfo& info) {
    std::vector<std::uint32_t> order(info.streams.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::sort(order.begin(), order.end(), [&info](std::uint32_t a, std::uint32_t b) {
        return info.streams[a] < info.streams[b];
    });
    std::vector<std::uint32_t> ranks(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        ranks[order[i]] = i;
    return ranks;
}

// Pools of captured graphs have names "(n, 0)"; those that programs make have "(0, n)".
bool captures_graphs(const TraceInfo& info) {
    return std::any_of(info.pools.begin(), info.pools.end(), [](const std::string& name) {
        return name.size() > 3 && name.substr(name.size() - 3) == " 0)" && name[1] != '0';
    });
}

class RecordBuilder {
  public:
    explicit RecordBuilder(const TraceInfo& info)
        : records_(info.devices.size()), pending_(records_.size()), ranks_(stream_ranks(info)) {
        for (std::size_t i = 0; i < records_.size(); ++i) {
            records_[i].device = static_cast<std::uint16_t>(i);
            records_[i].slots = info.slot_count;
            records_[i].streams = info.streams.size();
            records_[i].captures = captures_graphs(info);
            records_[i].next_pool = static_cast<std::uint32_t>(info.pools.size());
        }
    }

    Result<void> add(TraceEvent event, std::uint64_t index) {
        if (event.device >= records_.size())
            return fail(ErrorCode::bad_input, "an event of a device that the trace doesn't have",
                        fmt::format("event {}", index));
        DeviceRecord& record = records_[event.device];
        const bool decided = is_truth(event.kind) && event.kind != EventKind::execution;
        record.truths += decided ? 1U : 0U;
        const std::uint32_t stream = to_integer(event.stream);
        event.stream = StreamId{stream < ranks_.size() ? ranks_[stream] : stream};
        if ((event.flags & kPreamble) != 0)
            return add_seed(record, event);
        switch (event.kind) {
            case EventKind::segment_alloc:
                record.has_plain = true;
                break;
            case EventKind::segment_map:
                record.has_pages = true;
                break;
            case EventKind::final_segment:
                record.final_segments.push_back(event);
                return {};
            case EventKind::final_block:
                record.final_blocks.push_back(event);
                return {};
            case EventKind::allocate:
            case EventKind::free:
            case EventKind::retire:
            case EventKind::finish:
            case EventKind::out_of_memory:
            case EventKind::segment_free:
            case EventKind::segment_unmap:
            case EventKind::synchronize:
            case EventKind::pool_held:
                break;
            default:
                return {};
        }
        record.steps.push_back({event, index});
        return {};
    }

    std::vector<DeviceRecord> take();

  private:
    struct PendingSeed {
        Bytes size = 0;  // of the preamble's `block` entry
        bool retired = false;
    };

    Result<void> add_seed(DeviceRecord& record, const TraceEvent& event) {
        PendingSeed& pending = pending_[event.device];
        switch (event.kind) {
            case EventKind::segment_alloc:
            case EventKind::segment_map:
                record.seeds.push_back({.range = {Address{event.address}, event.size},
                                        .stream = event.stream,
                                        .pool = PoolId{event.aux},
                                        .expandable = event.kind == EventKind::segment_map,
                                        .small = (event.flags & kSmallPool) != 0});
                return {};
            case EventKind::block:
                pending = {event.size, (event.flags & kPending) != 0};
                return {};
            case EventKind::allocate:
                // Recordings that were written for other programs have no segments.
                if (record.seeds.empty())
                    return fail(ErrorCode::unsupported,
                                "the trace has blocks from before its start, and doesn't say in "
                                "which segments they were",
                                "trace");
                if (event.slot >= record.slots)
                    return fail(ErrorCode::bad_input,
                                "the preamble has a block beyond the trace's slots", "trace");
                record.seeds.back().blocks.push_back({Address{event.address},
                                                      pending.size != 0 ? pending.size : event.size,
                                                      event.size, pending.retired});
                pending = {};
                record.seed_slots.push_back(event.slot);
                return {};
            default:
                return {};
        }
    }

    std::vector<DeviceRecord> records_;
    std::vector<PendingSeed> pending_;
    std::vector<std::uint32_t> ranks_;
};

// Puts the runs of pages of one reservation in a row and says where it begins: at its lowest run,
// or below, where pages are mapped later. (Reservations follow one another upwards, so pages below
// the first known run are of the same one.)
void order_seeds(DeviceRecord& record) {
    std::vector<std::size_t> order(record.seeds.size());
    std::vector<std::size_t> first_block(record.seeds.size());
    for (std::size_t i = 0, blocks = 0; i < order.size(); ++i) {
        order[i] = i;
        first_block[i] = blocks;
        blocks += record.seeds[i].blocks.size();
    }
    const auto key = [&record](std::size_t i) {
        const SeedSegment& seed = record.seeds[i];
        return std::tuple(seed.expandable, seed.pool, seed.stream, seed.small, seed.range.begin);
    };
    std::sort(order.begin(), order.end(),
              [&key](std::size_t a, std::size_t b) { return key(a) < key(b); });
    std::vector<SeedSegment> seeds;
    std::vector<std::uint32_t> slots;
    for (const std::size_t i : order) {
        for (std::size_t j = 0; j < record.seeds[i].blocks.size(); ++j)
            slots.push_back(record.seed_slots[first_block[i] + j]);
        seeds.push_back(std::move(record.seeds[i]));
    }
    record.seeds = std::move(seeds);
    record.seed_slots = std::move(slots);
}

// Where a reservation begins whose lowest run of pages before the trace is at `lowest`.
Address base_of(const DeviceRecord& record, const SeedSegment& lowest) {
    const Bytes page = lowest.small ? policies::kTorchSmallSegment : policies::kTorchLargePage;
    Address floor = Address::null;
    for (const SeedSegment& seed : record.seeds) {
        if (seed.range.begin < lowest.range.begin)
            floor = std::max(floor, seed.range.begin + seed.range.size);
    }
    Address base = lowest.range.begin;
    for (const RecordedStep& step : record.steps) {
        const Address address{step.event.address};
        if (step.event.kind == EventKind::segment_map && step.event.stream == lowest.stream &&
            address < base && address >= floor && (base - address) % page == 0)
            base = address;
    }
    return base;
}

void find_bases(DeviceRecord& record) {
    for (std::size_t i = 0; i < record.seeds.size(); ++i) {
        SeedSegment& seed = record.seeds[i];
        if (!seed.expandable)
            continue;
        const bool goes_on =
            i > 0 && record.seeds[i - 1].expandable && record.seeds[i - 1].pool == seed.pool &&
            record.seeds[i - 1].stream == seed.stream && record.seeds[i - 1].small == seed.small;
        seed.reserved = goes_on ? record.seeds[i - 1].reserved : base_of(record, seed);
    }
}

std::vector<DeviceRecord> RecordBuilder::take() {
    for (DeviceRecord& record : records_) {
        // Who has segments doesn't decide by what the host awaits.
        if (!record.is_of_driver_pool())
            std::erase_if(record.steps, [](const RecordedStep& step) {
                return step.event.kind == EventKind::synchronize;
            });
        order_seeds(record);
        find_bases(record);
        std::sort(record.final_blocks.begin(), record.final_blocks.end(),
                  [](const TraceEvent& a, const TraceEvent& b) { return a.address < b.address; });
    }
    return std::move(records_);
}

}  // namespace

Bytes max_split_of(const PolicySpec& policy) {
    static constexpr std::string_view kName = "max_split_size_mb";
    const auto options = policy.options.all();
    const bool has = std::any_of(options.begin(), options.end(),
                                 [](const auto& option) { return option.first == kName; });
    return has ? policy.options.count(kName) * 1_MiB : 0;
}

Result<std::vector<DeviceRecord>> device_records(const Trace& trace) {
    RecordBuilder builder(trace.info());
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    std::uint64_t index = 0;
    while (true) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count; ++i)
            TM_TRY(builder.add(batch[i], index++));
    }
    return builder.take();
}

}  // namespace tidemark
