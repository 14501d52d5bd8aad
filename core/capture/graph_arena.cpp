// GraphArena: who may use it, and how its memory is released.
#include "core/capture/graph_arena.h"

#include <utility>

#include "core/base/check.h"

namespace tidemark {

ArenaLedger::~ArenaLedger() {
    settle();
}

bool ArenaLedger::release(ArenaMemory& memory) {
    const Bytes before = memory.held();
    const bool done =
        device_.synchronize_device().has_value() && memory.release(device_).has_value();
    held_ -= before - memory.held();
    return done;
}

void ArenaLedger::give_back(ArenaMemory memory) {
    const std::lock_guard lock(mutex_);
    if (!release(memory))
        left_over_.push_back(std::move(memory));
}

void ArenaLedger::settle() {
    const std::lock_guard lock(mutex_);
    std::erase_if(left_over_, [this](ArenaMemory& memory) { return release(memory); });
}

void ArenaLedger::count(Bytes gained) {
    const std::lock_guard lock(mutex_);
    held_ += gained;
}

Bytes ArenaLedger::held() const {
    const std::lock_guard lock(mutex_);
    return held_;
}

Bytes ArenaLedger::left_over() const {
    const std::lock_guard lock(mutex_);
    Bytes sum = 0;
    for (const ArenaMemory& memory : left_over_)
        sum += memory.held();
    return sum;
}

Result<std::shared_ptr<GraphArena>> GraphArena::make(std::shared_ptr<ArenaLedger> ledger,
                                                     Bytes size, ArenaSharing sharing) {
    Device& device = ledger->device();
    const DeviceResult<ArenaMemory> memory =
        size == 0 ? ArenaMemory::growing(device) : ArenaMemory::fixed(device, size);
    if (!memory)
        return tl::make_unexpected(device.explain(memory.error()));
    ledger->count(memory->held());
    return std::shared_ptr<GraphArena>(new GraphArena(std::move(ledger), *memory, sharing));
}

GraphArena::~GraphArena() {
    ledger_->give_back(std::move(memory_));
}

Result<Address> GraphArena::begin_capture() {
    if (capturing_)
        return fail(ErrorCode::unsupported, "a graph is being captured into this arena already",
                    "capture", "give each capture an arena of its own");
    if (graphs_ != 0 && sharing_ != ArenaSharing::in_turn)
        return fail(ErrorCode::unsupported, "an existing graph holds the addresses of this arena",
                    "capture", "destroy it first, or declare that the graphs run in turn");
    capturing_ = true;
    if (escapes_.empty())
        return memory_.range().begin;
    const auto& [begin, size] = *escapes_.rbegin();
    return begin + size;
}

void GraphArena::end_capture(bool graph) {
    TM_CHECK(capturing_);
    capturing_ = false;
    if (graph)
        ++graphs_;
}

DeviceResult<void> GraphArena::ensure(Address end) {
    const Bytes before = memory_.held();
    const auto done = memory_.ensure(ledger_->device(), end - memory_.range().begin);
    ledger_->count(memory_.held() - before);
    return done;
}

}  // namespace tidemark
