// DeviceTransfers: copies. Locations are in device_locations.cpp.
#include "backends/tiers/device_transfers.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

DeviceTransfers::DeviceTransfers(DeviceTransfersConfig config) : config_(std::move(config)) {
    for (const GpuSpace& space : config_.gpus)
        gpus_.push_back(
            {space, {config_.in_flight}, {config_.in_flight}, std::make_unique<std::mutex>()});
    for (const DiskSpace& space : config_.disks) {
        disks_.push_back({space, {config_.disk_in_flight}, {config_.disk_in_flight}});
        const Bytes unit = space.store->options().chunk;
        config_.chunk = (config_.chunk + unit - 1) / unit * unit;
    }
    TM_CHECK(config_.chunk != 0);
}

DeviceTransfers::~DeviceTransfers() {
    for (auto& [id, flight] : flights_)
        cancel(CopyId{id});
    std::vector<CopyDone> ended;
    while (!flights_.empty()) {
        poll(ended);
        std::this_thread::yield();
    }
    for (Gpu& one : gpus_)
        free_refused(one);
}

DeviceTransfers::Gpu* DeviceTransfers::gpu(SpaceId space) {
    const auto found = std::find_if(gpus_.begin(), gpus_.end(),
                                    [&](const Gpu& one) { return one.space.space == space; });
    return found == gpus_.end() ? nullptr : &*found;
}

DeviceTransfers::Disk* DeviceTransfers::disk(SpaceId space) {
    const auto found = std::find_if(disks_.begin(), disks_.end(),
                                    [&](const Disk& one) { return one.space.space == space; });
    return found == disks_.end() ? nullptr : &*found;
}

HostBlocks* DeviceTransfers::blocks(SpaceId space) {
    for (const HostSpace& host : config_.hosts)
        if (host.space == space)
            return host.blocks;
    return nullptr;
}

// Order with the program's work.

Result<UsePoint> DeviceTransfers::record(SpaceId space, StreamId stream, bool wrote) {
    Gpu* owner = gpu(space);
    TM_CHECK(owner);
    Device& device = *owner->space.device;
    const DeviceResult<EventId> event = device.record(stream);
    if (event)
        return UsePoint{space, stream, *event, wrote};
    // No point: then the work has to be over now.
    (void)device.synchronize(stream);
    return tl::make_unexpected(device.explain(event.error()));
}

Result<void> DeviceTransfers::order(SpaceId space, StreamId stream,
                                    std::span<const UsePoint> points) {
    Gpu* owner = gpu(space);
    TM_CHECK(owner);
    for (const UsePoint& point : points)
        if (const DeviceResult<void> waits = owner->space.device->wait(stream, point.event); !waits)
            return tl::make_unexpected(owner->space.device->explain(waits.error()));
    return {};
}

bool DeviceTransfers::passed(const UsePoint& point) {
    Gpu* owner = gpu(point.space);
    TM_CHECK(owner);
    const DeviceResult<bool> complete = owner->space.device->complete(point.event);
    if (complete)
        return *complete;
    // While a graph is captured nobody may ask; a lost device does nothing more.
    return complete.error().status != DeviceStatus::not_permitted;
}

// Copies.

CopyEndpoint DeviceTransfers::end_of(const BlockLocation& location, bool source) {
    const Record* record = record_of(location);
    TM_CHECK(record);
    if (Gpu* owner = gpu(location.space))
        return GpuEnd{owner->space.device, source ? owner->space.out : owner->space.in,
                      source ? &owner->out : &owner->in, record->memory.address};
    if (Disk* owner = disk(location.space))
        return DiskEnd{owner->space.store, source ? &owner->reads : &owner->writes, record->file};
    return HostEnd{&record->run};
}

CopyId DeviceTransfers::start(CopyOrder order) {
    const std::uint64_t id = next_copy_++;
    Flight flight;
    flight.stored = order.size;
    flight.order = std::move(order);
    flights_.emplace(id, std::move(flight));
    return CopyId{id};
}

void DeviceTransfers::cancel(CopyId copy) {
    const auto found = flights_.find(to_integer(copy));
    if (found == flights_.end())
        return;
    found->second.cancelled = true;
    if (found->second.leg)
        found->second.leg->stop();
}

void DeviceTransfers::begin_leg(Flight& flight, const CopyEndpoint& source,
                                const CopyEndpoint& target, Bytes size) {
    flight.leg =
        std::make_unique<ChunkedCopy>(source, target, size, config_.chunk, config_.staging);
    if (flight.cancelled)
        flight.leg->stop();
}

const BlockRun* DeviceTransfers::host_run(const BlockLocation& location) const {
    return location.space.tier == Tier::host ? &record_of(location)->run : nullptr;
}

// The first leg: the whole way, or to where the bytes can be recoded.
void DeviceTransfers::begin(Flight& flight) {
    flight.begun = true;
    const CopyOrder& order = flight.order;
    if (order.recoding == Recoding::none) {
        begin_leg(flight, end_of(order.source, true), end_of(order.target, false), order.size);
        return;
    }
    if (host_run(order.source))
        return;  // they are there
    BlockResult<BlockRun> scratch = config_.staging ? config_.staging->allocate(order.size)
                                                    : tl::make_unexpected(BlockRefusal::no_pool);
    if (!scratch) {
        flight.error = Error{ErrorCode::no_space, "no pinned blocks to recode a buffer in",
                             "staging", std::string(to_text(scratch.error()))};
        return;
    }
    flight.scratch = std::move(*scratch);
    begin_leg(flight, end_of(order.source, true), HostEnd{&flight.scratch}, order.size);
}

// Whether it has ended.
bool DeviceTransfers::advance(Flight& flight) {
    if (!flight.begun) {
        if (flight.cancelled)
            return true;
        const auto& after = flight.order.after;
        if (!std::all_of(after.begin(), after.end(),
                         [&](const UsePoint& point) { return passed(point); }))
            return false;
        begin(flight);
    }
    if (flight.leg && !flight.leg->advance())
        return false;
    const bool leg_done = !flight.leg || flight.leg->end() == CopyEnd::done;
    const bool goes_on = !flight.error && leg_done && !flight.cancelled && !flight.recoded &&
                         flight.order.recoding != Recoding::none;
    return !goes_on || (recode(flight) && flight.leg == nullptr);
}

// Recodes what the first leg has brought and begins the second; true: there is none to wait for.
bool DeviceTransfers::recode(Flight& flight) {
    flight.recoded = true;
    flight.leg.reset();
    const CopyOrder& order = flight.order;
    const BlockRun* from = host_run(order.source);
    const Result<std::vector<std::byte>> bytes = recoded(flight, from ? *from : flight.scratch);
    if (!bytes) {
        flight.error = bytes.error();
        return true;
    }
    flight.stored = bytes->size();
    const BlockRun* target = host_run(order.target);
    if (!target) {
        flight.scratch.clear();
        BlockResult<BlockRun> scratch = config_.staging
                                            ? config_.staging->allocate(bytes->size())
                                            : tl::make_unexpected(BlockRefusal::no_pool);
        if (!scratch) {
            flight.error = Error{ErrorCode::no_space, "no pinned blocks to recode a buffer in",
                                 "staging", std::string(to_text(scratch.error()))};
            return true;
        }
        flight.scratch = std::move(*scratch);
    }
    const std::byte* next = bytes->data();
    for (const Range& piece : pieces_of(target ? *target : flight.scratch, 0, bytes->size())) {
        std::memcpy(pointer_of(piece.begin), next, piece.size);
        next += piece.size;
    }
    if (!target)
        begin_leg(flight, HostEnd{&flight.scratch}, end_of(order.target, false), bytes->size());
    return !flight.leg;
}

Result<std::vector<std::byte>> DeviceTransfers::recoded(const Flight& flight,
                                                        const BlockRun& from) const {
    const CopyOrder& order = flight.order;
    std::vector<std::byte> source(order.size);
    std::byte* next = source.data();
    for (const Range& piece : pieces_of(from, 0, order.size)) {
        std::memcpy(next, pointer_of(piece.begin), piece.size);
        next += piece.size;
    }
    std::vector<std::byte> target(order.target.size);
    if (order.recoding == Recoding::decode) {
        TM_TRY(order.representation->decode(source, target));
        return target;
    }
    TM_ASSIGN(const Bytes stored, order.representation->encode(source, target));
    if (stored == 0 || stored > target.size())
        return fail(ErrorCode::bad_input, "a representation of an impossible size", "encode");
    target.resize(stored);
    return target;
}

CopyDone DeviceTransfers::done(std::uint64_t id, Flight& flight) {
    CopyDone done;
    done.copy = CopyId{id};
    done.stored = flight.stored;
    if (flight.leg && flight.leg->end() == CopyEnd::failed)
        flight.error = flight.leg->error();
    if (flight.error) {
        done.end = CopyEnd::failed;
        done.error = *flight.error;
        return done;
    }
    const bool recoding = flight.order.recoding != Recoding::none;
    const bool whole = flight.begun && (!recoding || flight.recoded) &&
                       (!flight.leg || flight.leg->end() == CopyEnd::done);
    done.end = whole ? CopyEnd::done : CopyEnd::cancelled;
    return done;
}

void DeviceTransfers::poll(std::vector<CopyDone>& ended) {
    for (auto flight = flights_.begin(); flight != flights_.end();) {
        if (!advance(flight->second)) {
            ++flight;
            continue;
        }
        ended.push_back(done(flight->first, flight->second));
        flight->second.leg.reset();
        flight = flights_.erase(flight);
    }
}

}  // namespace tidemark
