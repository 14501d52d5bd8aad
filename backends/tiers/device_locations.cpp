// DeviceTransfers: locations, in the memory of GPUs, blocks of the host, and files.
#include <algorithm>
#include <string>
#include <utility>

#include "backends/tiers/device_transfers.h"
#include "core/base/check.h"

namespace tidemark {

DeviceTransfers::Record* DeviceTransfers::record_of(const BlockLocation& location) {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(to_integer(location.id));
    return found == records_.end() ? nullptr : found->second.get();
}

const DeviceTransfers::Record* DeviceTransfers::record_of(const BlockLocation& location) const {
    return const_cast<DeviceTransfers*>(this)->record_of(location);
}

BlockLocation DeviceTransfers::enter(SpaceId space, Bytes size, Record record) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t id = next_location_++;
    record.size = size;
    records_.emplace(id, std::make_unique<Record>(std::move(record)));
    return {space, LocationId{id}, size};
}

std::unique_ptr<DeviceTransfers::Record> DeviceTransfers::remove(const BlockLocation& location) {
    const std::lock_guard lock(mutex_);
    auto node = records_.extract(to_integer(location.id));
    TM_CHECK(!node.empty());
    return std::move(node.mapped());
}

BlockLocation DeviceTransfers::adopt(SpaceId space, Range range) {
    TM_CHECK(gpu(space));
    Record record;
    record.memory.address = range.begin;
    record.memory.size = range.size;
    record.adopted = true;
    return enter(space, range.size, std::move(record));
}

Result<BlockLocation> DeviceTransfers::allocate(SpaceId space, Bytes size) {
    if (Gpu* owner = gpu(space))
        return allocate_gpu(*owner, size);
    if (HostBlocks* owner = blocks(space))
        return allocate_host(space, *owner, size);
    TM_CHECK(disk(space));
    // The store checks its quota when the bytes come.
    Record record;
    {
        const std::lock_guard lock(mutex_);
        record.file = BufferId{files_.take()};
    }
    return enter(space, size, std::move(record));
}

Result<BlockLocation> DeviceTransfers::allocate_at(SpaceId space,
                                                   std::shared_ptr<const AddressRange> range) {
    Gpu* owner = gpu(space);
    TM_CHECK(owner && range);
    Device& device = *owner->space.device;
    const Bytes size = range->range().size;
    free_refused(*owner);
    MappedRange mapping{std::move(range), {}, false};
    const auto give_up = [&](const DeviceError& error) {
        if (mapping.physical != PhysicalId{} && !end_mapping(*owner, mapping)) {
            given_up_ += size;
            const std::lock_guard lock(*owner->allocating);
            owner->unmapped.push_back(mapping);
        }
        Error refusal = device.explain(error);
        if (error.status == DeviceStatus::out_of_memory)
            refusal.code = ErrorCode::no_space;
        return tl::make_unexpected(std::move(refusal));
    };
    const DeviceResult<PhysicalId> physical = device.create({}, size);
    if (!physical)
        return give_up(physical.error());
    mapping.physical = *physical;
    if (const auto mapped = device.map(mapping.range->range(), mapping.physical); !mapped)
        return give_up(mapped.error());
    mapping.mapped = true;
    if (const auto opened = device.set_access(mapping.range->range(), true); !opened)
        return give_up(opened.error());
    Record record;
    record.memory.address = mapping.range->range().begin;
    record.mapping = std::move(mapping);
    return enter(space, size, std::move(record));
}

// False: the device refuses what is left of it; nothing is lost, it is retried.
bool DeviceTransfers::end_mapping(Gpu& owner, MappedRange& mapping) {
    if (mapping.mapped && !owner.space.device->unmap(mapping.range->range()))
        return false;
    mapping.mapped = false;
    return owner.space.device->release(mapping.physical).has_value();
}

Result<BlockLocation> DeviceTransfers::allocate_gpu(Gpu& owner, Bytes size) {
    Record record;
    if (!owner.space.allocator) {
        free_refused(owner);
        const DeviceResult<Address> address = owner.space.device->malloc(size);
        if (!address) {
            Error error = owner.space.device->explain(address.error());
            if (address.error().status == DeviceStatus::out_of_memory)
                error.code = ErrorCode::no_space;
            return tl::make_unexpected(std::move(error));
        }
        record.memory.address = *address;
        return enter(owner.space.space, size, std::move(record));
    }
    const std::lock_guard lock(*owner.allocating);
    const auto granted = owner.space.allocator->allocate(
        {.size = size, .alignment = 512, .stream = owner.space.locations});
    if (!granted) {
        const bool failed = granted.error().cause == OutOfMemory::Cause::device_error;
        return fail(failed ? ErrorCode::driver : ErrorCode::no_space,
                    "no memory: " + std::string(to_text(granted.error().cause)),
                    to_text(owner.space.space));
    }
    record.memory = *granted;
    return enter(owner.space.space, size, std::move(record));
}

Result<BlockLocation> DeviceTransfers::allocate_host(SpaceId space, HostBlocks& owner, Bytes size) {
    BlockResult<BlockRun> run = owner.allocate(size);
    if (!run) {
        Error error{ErrorCode::no_space, std::string(to_text(run.error())), to_text(space), ""};
        if (const std::optional<Error> source = owner.source_error();
            source && run.error() == BlockRefusal::source)
            error.hint = to_text(*source);
        return tl::make_unexpected(std::move(error));
    }
    Record record;
    record.run = std::move(*run);
    return enter(space, size, std::move(record));
}

void DeviceTransfers::free_gpu(Gpu& owner, const Record& record) {
    if (record.adopted)
        return;
    if (record.mapping.range) {
        MappedRange mapping = record.mapping;
        if (end_mapping(owner, mapping))
            return;
        given_up_ += record.size;
        const std::lock_guard lock(*owner.allocating);
        owner.unmapped.push_back(std::move(mapping));
        return;
    }
    if (owner.space.allocator) {
        const std::lock_guard lock(*owner.allocating);
        owner.space.allocator->deallocate(record.memory, owner.space.locations);
    } else if (!owner.space.device->free(record.memory.address)) {
        given_up_ += record.size;
        const std::lock_guard lock(*owner.allocating);
        owner.unfreed.push_back({record.memory.address, record.size});
    }
}

void DeviceTransfers::free_refused(Gpu& owner) {
    const std::lock_guard lock(*owner.allocating);
    std::erase_if(owner.unfreed, [&](const Range& range) {
        const bool freed = owner.space.device->free(range.begin).has_value();
        given_up_ -= freed ? range.size : 0;
        return freed;
    });
    std::erase_if(owner.unmapped, [&](MappedRange& mapping) {
        const bool ended = end_mapping(owner, mapping);
        given_up_ -= ended ? mapping.range->range().size : 0;
        return ended;
    });
}

void DeviceTransfers::free(const BlockLocation& location) {
    const std::unique_ptr<Record> record = remove(location);
    if (Gpu* memory = gpu(location.space)) {
        free_gpu(*memory, *record);
    } else if (Disk* files = disk(location.space)) {
        const Result<void> erased = files->space.store->erase(record->file);
        if (!erased && erased.error().code != ErrorCode::not_found)
            given_up_ += record->size;  // the store counts it, and retries
        const std::lock_guard lock(mutex_);
        files_.give_back(static_cast<std::uint32_t>(record->file));
    }
}

std::vector<Range> DeviceTransfers::pieces(const BlockLocation& location) const {
    const Record* record = record_of(location);
    TM_CHECK(record);
    if (location.space.tier == Tier::gpu)
        return {{record->memory.address, location.size}};
    if (location.space.tier == Tier::host)
        return pieces_of(record->run, 0, location.size);
    return {};
}

}  // namespace tidemark
