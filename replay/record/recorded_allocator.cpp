// The model during the replay.
#include "replay/record/recorded_allocator.h"

#include <algorithm>
#include <optional>

#include "core/base/check.h"
#include "replay/record/device_record.h"

namespace tidemark {
namespace {

bool takes_memory(EventKind kind) {
    return kind == EventKind::segment_alloc || kind == EventKind::segment_map;
}

}  // namespace

Result<RecordedAllocator::Preamble> RecordedAllocator::preamble_of(const Trace& trace,
                                                                   std::size_t device) {
    Preamble preamble;
    preamble.events = trace.info().preamble_count;
    std::uint64_t event = 0;
    std::size_t located = 0;  // of the memory
    std::uint64_t left = preamble.events;
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    while (left > 0) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count && left > 0; ++i, ++event, --left) {
            if (!is_truth(batch.kind[i]))
                for (; located < preamble.memory.size(); ++located)
                    preamble.memory[located].event = event;  // the request that it was taken for
            if (batch.device[i] != device)
                continue;
            if (batch.kind[i] == EventKind::allocate)
                preamble.slots.push_back(batch.slot[i]);
            else if (batch.kind[i] == EventKind::retire)
                preamble.retired.push_back({event, batch.slot[i]});
            else if (takes_memory(batch.kind[i]))
                preamble.memory.push_back({event, batch.size[i]});
        }
    }
    return preamble;
}

Result<std::unique_ptr<RecordedAllocator>> RecordedAllocator::make(const ExplainedRecord& run,
                                                                   std::size_t number,
                                                                   ScriptedDevice& device,
                                                                   Device& face) {
    TM_CHECK(number < run.devices.size());
    const Trace& trace = *run.record;
    const RecordedDevice& recorded = run.devices[number];
    TM_ASSIGN(std::vector<DeviceRecord> records, device_records(trace));
    auto record = std::make_unique<DeviceRecord>(std::move(records[number]));
    record->max_split = max_split_of(recorded.model.policy);
    if (recorded.findings.assumes_pools)
        assume_pools(*record);
    std::unique_ptr<RecordedAllocator> made(new RecordedAllocator(std::move(record)));
    TM_ASSIGN(DeviceReplay replay, DeviceReplay::follow(*made->record_, recorded.model,
                                                        recorded.findings, device, face));
    made->replay_ = std::make_unique<DeviceReplay>(std::move(replay));
    TM_ASSIGN(made->preamble_, preamble_of(trace, number));
    made->in_preamble_ = made->preamble_.events > 0;
    made->show();
    return made;
}

void RecordedAllocator::report_memory(MemoryObserver& observer) const {
    std::optional<Range> last;
    for_each_region([&](const Region& region) {
        if (region.segment == last)
            return;
        last = region.segment;
        if (region.page == 0)
            return observer.on_segment(SegmentChange::segment_alloc, region.segment, region.stream,
                                       Address::null);
        for (Bytes at = 0; at < region.segment.size; at += region.page)
            observer.on_segment(SegmentChange::map, {region.segment.begin + at, region.page},
                                region.stream, Address::null);
    });
}

// How much has been replayed of the preamble, which rebuilds what was live before the recording.
void RecordedAllocator::show() {
    usage_ = replay_->usage();
    if (in_preamble_) {
        usage_.active = born_;
        usage_.allocated = born_ - retired_;
        usage_.reserved = std::max(std::min(usage_.reserved, taken_), usage_.active);
        usage_.mapped = std::min(usage_.mapped, usage_.reserved);
    }
    stats_ = replay_->allocator().stats();
}

// At its own event the engine takes a retired block's bytes from what is allocated.
void RecordedAllocator::advance_preamble(std::uint64_t event) {
    const auto& memory = preamble_.memory;
    const auto& retired = preamble_.retired;
    for (; memory_seen_ < memory.size() && memory[memory_seen_].event <= event; ++memory_seen_)
        taken_ += memory[memory_seen_].size;
    for (; retired_seen_ < retired.size() && retired[retired_seen_].event < event; ++retired_seen_)
        if (const Allocation* const seed = replay_->allocation(retired[retired_seen_].slot))
            retired_ += seed->size;
    in_preamble_ = event < preamble_.events;
}

void RecordedAllocator::advance(std::uint64_t event) {
    Bytes retired = 0;
    while (!replay_->at_end() && record_->steps[replay_->position()].index <= event) {
        const TraceEvent& what = record_->steps[replay_->position()].event;
        const Allocation* const freed =
            what.kind == EventKind::retire ? replay_->allocation(what.slot) : nullptr;
        // The engine retires it itself, which takes its bytes from what is allocated.
        retired = freed != nullptr ? freed->size : 0;
        replay_->step();
        if (replay_->at_end())
            replay_->finish();
    }
    if (in_preamble_)
        advance_preamble(event);
    show();
    usage_.allocated += retired;
}

tl::expected<Allocation, OutOfMemory> RecordedAllocator::allocate(const Request& /*request*/) {
    if (seeded_ < preamble_.slots.size()) {
        const Allocation* const seed = replay_->allocation(preamble_.slots[seeded_++]);
        TM_CHECK(seed != nullptr);
        born_ += seed->size;
        show();
        return *seed;
    }
    TM_CHECK(replay_->answer().has_value());
    return *replay_->answer();
}

// The model frees when the record does.
void RecordedAllocator::deallocate(const Allocation& /*allocation*/, StreamId /*stream*/) {}

}  // namespace tidemark
