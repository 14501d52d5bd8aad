// A file in memory represents the GPU's physical memory; pieces of it are mapped at addresses that
// were reserved without access.
#include "backends/sim/process_device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tidemark {
namespace {

constexpr Bytes kFile = Bytes{1} << 46U;  // sparse
constexpr Bytes kHostAlignment = 4096;

void* pointer(Address address) {
    return reinterpret_cast<void*>(to_integer(address));
}

Address address_at(const void* pointer) {
    return Address{reinterpret_cast<std::uintptr_t>(pointer)};
}

tl::unexpected<DeviceError> refused(DeviceCall call, DeviceStatus status, int code = 0) {
    return tl::make_unexpected(DeviceError{status, call, code});
}

bool aligned(Range range) {
    return range.size != 0 && range.size % ProcessDevice::kGranularity == 0 &&
           to_integer(range.begin) % ProcessDevice::kGranularity == 0;
}

// Memory of the process, or addresses without memory.
Address mapped(Bytes size, bool usable) {
    const int access = usable ? PROT_READ | PROT_WRITE : PROT_NONE;
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | (usable ? 0 : MAP_NORESERVE);
    void* const made = mmap(nullptr, size, access, kind, -1, 0);
    return made == MAP_FAILED ? Address::null : address_at(made);
}

}  // namespace

Result<std::unique_ptr<ProcessDevice>> ProcessDevice::open(Bytes capacity) {
    const int file = memfd_create("tidemark-gpu", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(kFile)) != 0) {
        const int code = errno;
        if (file >= 0)
            close(file);
        return fail(ErrorCode::driver, std::string("memfd_create: ") + std::strerror(code),
                    "a simulated GPU in this process");
    }
    return std::unique_ptr<ProcessDevice>(new ProcessDevice(file, capacity));
}

ProcessDevice::~ProcessDevice() {
    for (const auto* ranges : {&plain_, &host_, &reserved_})
        for (const auto& [begin, size] : *ranges)
            munmap(pointer(begin), size);
    close(file_);
}

bool ProcessDevice::has(Feature feature) const {
    return feature == Feature::virtual_memory || feature == Feature::host_memory ||
           feature == Feature::copies;
}

MemoryInfo ProcessDevice::memory() const {
    const std::lock_guard lock(mutex_);
    return {capacity_, free_};
}

// Plain memory.

DeviceResult<Address> ProcessDevice::malloc(Bytes size) {
    const std::lock_guard lock(mutex_);
    if (size == 0)
        return refused(DeviceCall::malloc, DeviceStatus::invalid_value);
    if (size > free_)
        return refused(DeviceCall::malloc, DeviceStatus::out_of_memory);
    const Address begin = mapped(size, true);
    if (begin == Address::null)
        return refused(DeviceCall::malloc, DeviceStatus::out_of_memory, errno);
    plain_.emplace(begin, size);
    free_ -= size;
    return begin;
}

DeviceResult<void> ProcessDevice::free(Address address) {
    const std::lock_guard lock(mutex_);
    const auto found = plain_.find(address);
    if (found == plain_.end())
        return refused(DeviceCall::free, DeviceStatus::invalid_value);
    munmap(pointer(address), found->second);
    free_ += found->second;
    plain_.erase(found);
    return {};
}

DeviceResult<Address> ProcessDevice::malloc_async(Bytes /*size*/, StreamId /*stream*/) {
    return refused(DeviceCall::malloc_async, DeviceStatus::not_supported);
}

DeviceResult<void> ProcessDevice::free_async(Address /*address*/, StreamId /*stream*/) {
    return refused(DeviceCall::free_async, DeviceStatus::not_supported);
}

DeviceResult<void> ProcessDevice::set_pool_threshold(Bytes /*threshold*/) {
    return refused(DeviceCall::set_pool_threshold, DeviceStatus::not_supported);
}

DeviceResult<void> ProcessDevice::trim_pool(Bytes /*keep*/) {
    return refused(DeviceCall::trim_pool, DeviceStatus::not_supported);
}

// Virtual memory.

DeviceResult<Range> ProcessDevice::reserve(Bytes size) {
    if (size == 0 || size % kGranularity != 0)
        return refused(DeviceCall::reserve, DeviceStatus::invalid_value);
    const Address all = mapped(size + kGranularity, false);
    if (all == Address::null)
        return refused(DeviceCall::reserve, DeviceStatus::address_space, errno);
    const Address begin{align_up(to_integer(all), kGranularity)};
    if (const Bytes before = begin - all; before != 0)
        munmap(pointer(all), before);
    if (const Bytes behind = kGranularity - (begin - all); behind != 0)
        munmap(pointer(begin + size), behind);
    const std::lock_guard lock(mutex_);
    reserved_.emplace(begin, size);
    return Range{begin, size};
}

DeviceResult<void> ProcessDevice::unreserve(Range range) {
    const std::lock_guard lock(mutex_);
    const auto found = reserved_.find(range.begin);
    const auto inside = mappings_.lower_bound(range.begin);
    const bool used = inside != mappings_.end() && inside->first < range.begin + range.size;
    if (found == reserved_.end() || found->second != range.size || used)
        return refused(DeviceCall::unreserve, DeviceStatus::invalid_value);
    munmap(pointer(range.begin), range.size);
    reserved_.erase(found);
    return {};
}

DeviceResult<PhysicalId> ProcessDevice::create(Location where, Bytes size) {
    const std::lock_guard lock(mutex_);
    if (where.kind != Location::Kind::device || size == 0 || size % kGranularity != 0)
        return refused(DeviceCall::create, DeviceStatus::invalid_value);
    if (size > free_)
        return refused(DeviceCall::create, DeviceStatus::out_of_memory);
    Physical made;
    made.size = size;
    if (std::vector<std::uint64_t>& vacant = vacant_[size]; !vacant.empty()) {
        made.offset = vacant.back();
        vacant.pop_back();
    } else if (file_end_ + size <= kFile) {
        made.offset = file_end_;
        file_end_ += size;
    } else {
        return refused(DeviceCall::create, DeviceStatus::out_of_memory);
    }
    free_ -= size;
    const PhysicalId id{++last_physical_};
    physicals_.emplace(id, made);
    return id;
}

// Frees it once it is released and mapped nowhere.
void ProcessDevice::drop(PhysicalId id) {
    const auto found = physicals_.find(id);
    const Physical& physical = found->second;
    if (!physical.released || physical.mappings != 0)
        return;
    // A system that can't punch holes keeps the pages, and zeroes nothing: content is undefined.
    (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(physical.offset), static_cast<off_t>(physical.size));
    vacant_[physical.size].push_back(physical.offset);
    free_ += physical.size;
    physicals_.erase(found);
}

DeviceResult<void> ProcessDevice::release(PhysicalId physical) {
    const std::lock_guard lock(mutex_);
    const auto found = physicals_.find(physical);
    if (found == physicals_.end() || found->second.released)
        return refused(DeviceCall::release, DeviceStatus::invalid_value);
    found->second.released = true;
    drop(physical);
    return {};
}

DeviceResult<void> ProcessDevice::map(Range range, PhysicalId physical) {
    const std::lock_guard lock(mutex_);
    const auto found = physicals_.find(physical);
    auto around = reserved_.upper_bound(range.begin);
    const bool known = found != physicals_.end() && around != reserved_.begin() && aligned(range);
    if (!known || range.size != found->second.size)
        return refused(DeviceCall::map, DeviceStatus::invalid_value);
    --around;
    const auto behind = mappings_.lower_bound(range.begin + range.size);
    const bool inside = range.begin + range.size <= around->first + around->second;
    const bool taken = behind != mappings_.begin() &&
                       std::prev(behind)->first + std::prev(behind)->second.size > range.begin;
    if (!inside || taken)
        return refused(DeviceCall::map, DeviceStatus::invalid_value);
    if (mmap(pointer(range.begin), range.size, PROT_NONE, MAP_SHARED | MAP_FIXED, file_,
             static_cast<off_t>(found->second.offset)) == MAP_FAILED)
        return refused(DeviceCall::map, DeviceStatus::fault, errno);
    ++found->second.mappings;
    mappings_.emplace(range.begin, Mapping{range.size, physical});
    return {};
}

DeviceResult<void> ProcessDevice::unmap(Range range) {
    const std::lock_guard lock(mutex_);
    Bytes done = 0;
    for (auto at = mappings_.find(range.begin); at != mappings_.end() && done < range.size; ++at)
        done += at->first == range.begin + done ? at->second.size : range.size + 1;
    if (done != range.size || done == 0)
        return refused(DeviceCall::unmap, DeviceStatus::invalid_value);
    if (mmap(pointer(range.begin), range.size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        return refused(DeviceCall::unmap, DeviceStatus::fault, errno);
    for (auto at = mappings_.find(range.begin);
         at != mappings_.end() && at->first < range.begin + range.size;) {
        const PhysicalId physical = at->second.physical;
        at = mappings_.erase(at);
        --physicals_.at(physical).mappings;
        drop(physical);
    }
    return {};
}

DeviceResult<void> ProcessDevice::set_access(Range range, bool writable) {
    const std::lock_guard lock(mutex_);
    const auto found = mappings_.find(range.begin);
    if (found == mappings_.end() || found->second.size != range.size)
        return refused(DeviceCall::set_access, DeviceStatus::invalid_value);
    if (mprotect(pointer(range.begin), range.size, PROT_READ | (writable ? PROT_WRITE : 0)) != 0)
        return refused(DeviceCall::set_access, DeviceStatus::fault, errno);
    found->second.readable = true;
    found->second.writable = writable;
    return {};
}

// Order: everything queued is done.

DeviceResult<EventId> ProcessDevice::record(StreamId /*stream*/) {
    const std::lock_guard lock(mutex_);
    return EventId{++last_event_};
}

DeviceResult<bool> ProcessDevice::complete(EventId event) {
    const std::lock_guard lock(mutex_);
    if (to_integer(event) == 0 || to_integer(event) > last_event_)
        return refused(DeviceCall::complete, DeviceStatus::invalid_value);
    return true;
}

DeviceResult<void> ProcessDevice::wait(StreamId /*stream*/, EventId event) {
    const DeviceResult<bool> known = complete(event);
    if (!known)
        return refused(DeviceCall::wait, known.error().status);
    return {};
}

DeviceResult<void> ProcessDevice::synchronize(StreamId /*stream*/) {
    return {};
}

DeviceResult<void> ProcessDevice::synchronize_device() {
    return {};
}

// Movement.

// Addresses outside of reservations are the program's own memory, which the device doesn't know.
bool ProcessDevice::reaches(Address address, Bytes size, bool write) const {
    auto around = reserved_.upper_bound(address);
    if (around == reserved_.begin())
        return true;
    --around;
    if (address - around->first >= around->second)
        return true;
    for (Bytes done = 0; done < size;) {
        auto at = mappings_.upper_bound(address + done);
        if (at == mappings_.begin())
            return false;
        --at;
        const Bytes offset = address + done - at->first;
        if (offset >= at->second.size || !(write ? at->second.writable : at->second.readable))
            return false;
        done += at->second.size - offset;
    }
    return true;
}

DeviceResult<void> ProcessDevice::copy(Address target, Address source, Bytes size,
                                       StreamId /*stream*/) {
    {
        const std::lock_guard lock(mutex_);
        if (size == 0 || !reaches(target, size, true) || !reaches(source, size, false))
            return refused(DeviceCall::copy, DeviceStatus::invalid_value);
    }
    std::memmove(pointer(target), pointer(source), size);
    return {};
}

DeviceResult<void> ProcessDevice::fill(Address target, std::uint8_t value, Bytes size,
                                       StreamId /*stream*/) {
    {
        const std::lock_guard lock(mutex_);
        if (size == 0 || !reaches(target, size, true))
            return refused(DeviceCall::fill, DeviceStatus::invalid_value);
    }
    std::memset(pointer(target), value, size);
    return {};
}

DeviceResult<Address> ProcessDevice::host_malloc(Bytes size) {
    if (size == 0)
        return refused(DeviceCall::host_malloc, DeviceStatus::invalid_value);
    const Bytes whole = align_up(size, kHostAlignment);
    const Address begin = mapped(whole, true);
    if (begin == Address::null)
        return refused(DeviceCall::host_malloc, DeviceStatus::out_of_memory, errno);
    const std::lock_guard lock(mutex_);
    host_.emplace(begin, whole);
    return begin;
}

DeviceResult<void> ProcessDevice::host_free(Address address) {
    const std::lock_guard lock(mutex_);
    const auto found = host_.find(address);
    if (found == host_.end())
        return refused(DeviceCall::host_free, DeviceStatus::invalid_value);
    munmap(pointer(address), found->second);
    host_.erase(found);
    return {};
}

}  // namespace tidemark
