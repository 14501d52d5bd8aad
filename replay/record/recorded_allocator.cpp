// The model beside the replay.
#include "replay/record/recorded_allocator.h"

#include "core/base/check.h"
#include "replay/record/device_record.h"

namespace tidemark {
namespace {

// Slots of the allocations of `device` that lived before the trace, in the order of their events.
Result<std::vector<std::uint32_t>> slots_of_preamble(const Trace& trace, std::size_t device) {
    std::vector<std::uint32_t> slots;
    std::uint64_t left = trace.info().preamble_count;
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    while (left > 0) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count && left > 0; ++i, --left) {
            if (batch.kind[i] == EventKind::allocate && batch.device[i] == device)
                slots.push_back(batch.slot[i]);
        }
    }
    return slots;
}

}  // namespace

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
    TM_ASSIGN(made->preamble_slots_, slots_of_preamble(trace, number));
    made->show();
    return made;
}

void RecordedAllocator::show() {
    usage_ = replay_->usage();
    stats_ = replay_->allocator().stats();
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
    show();
    usage_.allocated += retired;
}

tl::expected<Allocation, OutOfMemory> RecordedAllocator::allocate(const Request& /*request*/) {
    if (seeded_ < preamble_slots_.size()) {
        const Allocation* const seed = replay_->allocation(preamble_slots_[seeded_++]);
        TM_CHECK(seed != nullptr);
        return *seed;
    }
    TM_CHECK(replay_->answer().has_value());
    return *replay_->answer();
}

// The model frees when the record does.
void RecordedAllocator::deallocate(const Allocation& /*allocation*/, StreamId /*stream*/) {}

}  // namespace tidemark
