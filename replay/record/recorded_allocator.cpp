// The model beside the replay.
#include "replay/record/recorded_allocator.h"

#include <algorithm>

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
    std::uint64_t event = 0;
    std::uint64_t left = trace.info().preamble_count;
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    while (left > 0) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count && left > 0; ++i, ++event, --left) {
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
    for (const std::uint32_t slot : made->preamble_.slots)
        if (const Allocation* const seed = made->replay_->allocation(slot))
            made->unborn_ += seed->size;
    for (const Preamble::Memory& memory : made->preamble_.memory)
        made->untaken_ += memory.size;
    made->show();
    return made;
}

// Of the preamble, which rebuilds what lived before the recording, as much as has been replayed.
void RecordedAllocator::show() {
    usage_ = replay_->usage();
    usage_.allocated -= std::min(usage_.allocated, unborn_);
    usage_.active -= std::min(usage_.active, unborn_);
    usage_.reserved =
        std::max(usage_.reserved - std::min(usage_.reserved, untaken_), usage_.active);
    usage_.mapped = std::min(usage_.mapped, usage_.reserved);
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
    for (; taken_ < preamble_.memory.size() && preamble_.memory[taken_].event <= event; ++taken_)
        untaken_ -= preamble_.memory[taken_].size;
    for (; retired_ < preamble_.retired.size() && preamble_.retired[retired_].event <= event;
         ++retired_)
        if (const Allocation* const seed = replay_->allocation(preamble_.retired[retired_].slot))
            retired += seed->size;
    show();
    usage_.allocated += retired;
}

tl::expected<Allocation, OutOfMemory> RecordedAllocator::allocate(const Request& /*request*/) {
    if (seeded_ < preamble_.slots.size()) {
        const Allocation* const seed = replay_->allocation(preamble_.slots[seeded_++]);
        TM_CHECK(seed != nullptr);
        unborn_ -= seed->size;
        show();
        return *seed;
    }
    TM_CHECK(replay_->answer().has_value());
    return *replay_->answer();
}

// The model frees when the record does.
void RecordedAllocator::deallocate(const Allocation& /*allocation*/, StreamId /*stream*/) {}

}  // namespace tidemark
