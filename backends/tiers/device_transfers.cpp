// DeviceTransfers: copies. Locations are in device_locations.cpp.
#include "backends/tiers/device_transfers.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr unsigned kDiskInFlight = 4;  // chunks, per direction of a disk

}  // namespace

DeviceTransfers::DeviceTransfers(DeviceTransfersConfig config) : config_(std::move(config)) {
    for (const GpuSpace& space : config_.gpus)
        gpus_.push_back(
            {space, {config_.in_flight}, {config_.in_flight}, std::make_unique<std::mutex>()});
    for (const DiskSpace& space : config_.disks) {
        disks_.push_back({space, {kDiskInFlight}, {kDiskInFlight}});
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
    // No point: then the work has to have finished now.
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
    // While a graph is captured nobody may ask; a lost device does no more work.
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
    flight.order = std::move(order);
    flights_.emplace(id, std::move(flight));
    return CopyId{id};
}

void DeviceTransfers::cancel(CopyId copy) {
    const auto found = flights_.find(to_integer(copy));
    if (found == flights_.end())
        return;
    found->second.cancelled = true;
    if (found->second.copy)
        found->second.copy->stop();
}

void DeviceTransfers::begin(Flight& flight) {
    const CopyOrder& order = flight.order;
    flight.copy =
        std::make_unique<ChunkedCopy>(end_of(order.source, true), end_of(order.target, false),
                                      order.size, config_.chunk, config_.staging);
}

// Whether it has ended.
bool DeviceTransfers::advance(Flight& flight) {
    if (!flight.copy) {
        if (flight.cancelled)
            return true;
        const auto& after = flight.order.after;
        if (!std::all_of(after.begin(), after.end(),
                         [&](const UsePoint& point) { return passed(point); }))
            return false;
        begin(flight);
    }
    return flight.copy->advance();
}

CopyDone DeviceTransfers::done(std::uint64_t id, const Flight& flight) {
    CopyDone done;
    done.copy = CopyId{id};
    done.end = flight.copy ? flight.copy->end() : CopyEnd::cancelled;
    if (done.end == CopyEnd::failed)
        done.error = flight.copy->error();
    return done;
}

void DeviceTransfers::poll(std::vector<CopyDone>& ended) {
    for (auto flight = flights_.begin(); flight != flights_.end();) {
        if (!advance(flight->second)) {
            ++flight;
            continue;
        }
        ended.push_back(done(flight->first, flight->second));
        flight->second.copy.reset();
        flight = flights_.erase(flight);
    }
}

}  // namespace tidemark
