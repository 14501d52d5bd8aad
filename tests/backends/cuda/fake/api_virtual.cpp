// The fake driver's calls: virtual memory. Refused is what CUDA refuses: sizes and addresses that
// are no multiple of the granularity, mapping outside a reservation or over a mapping, ranges that
// cut a mapping, handles that nobody holds, parts of handles, reservations that still have a
// mapping. It is stricter than the driver in one thing: what is unmapped must be mapped, without a
// gap.
//
// None of these calls needs a context, and none minds a fault in the current one.
#include <algorithm>
#include <iterator>

#include <unistd.h>

#include "tests/backends/cuda/fake/fake_call.h"
#include "tests/backends/cuda/fake/fake_memory.h"

namespace tidemark::cuda {

using fake::Backing;
using fake::call;
using fake::kStarted;
using fake::Physical;
using fake::Span;
using fake::state;

namespace {

bool supported() {
    return state().config.vmm != 0;
}

bool aligned(std::uint64_t value) {
    return value % state().config.granularity == 0;
}

bool well_sized(std::uint64_t address, std::uint64_t size) {
    return size != 0 && aligned(address) && aligned(size) && address + size > address;
}

// Device memory, or the host's on the one node that is pretended.
bool possible(const CUmemAllocationProp& wanted) {
    if (wanted.type != CUmemAllocationType::pinned)
        return false;
    if (wanted.requested_handle_types != CUmemAllocationHandleType::none)
        return false;
    if (wanted.location.type == CUmemLocationType::host_numa)
        return wanted.location.id == 0;
    return wanted.location.type == CUmemLocationType::device &&
           state().has_device(wanted.location.id);
}

// The reservation that holds all of the range, by its begin; 0 if none does.
std::uint64_t reservation_of(std::uint64_t address, std::uint64_t size) {
    auto found = state().reservations.upper_bound(address);
    if (found == state().reservations.begin())
        return 0;
    --found;
    const std::uint64_t offset = address - found->first;
    return offset < found->second && found->second - offset >= size ? found->first : 0;
}

bool any_mapped(std::uint64_t address, std::uint64_t size) {
    const auto next = state().spans.lower_bound(address);
    return (next != state().spans.end() && next->first < address + size) ||
           fake::find_span(address) != nullptr;
}

// Is the range made of whole mappings, without a gap?
bool whole_mappings(std::uint64_t address, std::uint64_t size) {
    const std::uint64_t end = address + size;
    for (auto each = state().spans.find(address); address < end; ++each) {
        if (each == state().spans.end() || each->first != address ||
            each->second.kind != Span::Kind::mapping || each->second.size > end - address)
            return false;
        address += each->second.size;
    }
    return true;
}

std::shared_ptr<Physical> make_physical(std::size_t size, const CUmemAllocationProp& wanted) {
    const bool on_host = wanted.location.type == CUmemLocationType::host_numa;
    const int device = on_host ? -1 : wanted.location.id;
    if (!on_host && !fake::charge(device, size))
        return nullptr;
    auto made = std::make_shared<Physical>(device, size);
    made->charged = !on_host;
    if (on_host)
        made->own = std::make_shared<Backing>(Backing::make(size));
    else
        made->offset = state().devices[static_cast<std::size_t>(device)].bytes.take(size);
    return made;
}

CUresult set_access(Span& span, const CUmemAccessDesc& wanted) {
    const std::uint64_t bit = std::uint64_t{1} << wanted.location.id;
    const bool reads = wanted.flags != CUmemAccess_flags::none;
    const bool writes = wanted.flags == CUmemAccess_flags::read_write;
    span.readers = reads ? span.readers | bit : span.readers & ~bit;
    span.writers = writes ? span.writers | bit : span.writers & ~bit;
    return CUresult::success;
}

// May that device be given access to memory of this span?
bool can_reach(const Span& span, const CUmemLocation& who) {
    return who.type == CUmemLocationType::device && state().has_device(who.id) &&
           (span.device < 0 || span.device == who.id || state().config.peers != 0);
}

}  // namespace

CUresult cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* wanted,
                                       CUmemAllocationGranularity_flags /*flags*/) {
    return call("cuMemGetAllocationGranularity", kStarted, [&] {
        if (!supported())
            return CUresult::not_supported;
        if (!possible(*wanted))
            return CUresult::invalid_value;
        *granularity = state().config.granularity;
        return CUresult::success;
    });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t size, std::size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags) {
    return call("cuMemAddressReserve", kStarted, [&] {
        if (!supported())
            return CUresult::not_supported;
        const std::uint64_t unit = std::max<std::uint64_t>(alignment, state().config.granularity);
        if (size == 0 || !aligned(size) || (unit & (unit - 1)) != 0 || flags != 0)
            return CUresult::invalid_value;
        fake::Space& space = state().arena.space();
        std::uint64_t begin = 0;
        if (wanted != 0 && wanted % unit == 0 && space.take_at(wanted, size))
            begin = wanted;  // a wish, no more
        else if (const auto taken = space.take(size, unit))
            begin = *taken;
        else
            return CUresult::out_of_memory;
        state().reservations.emplace(begin, size);
        *address = begin;
        return CUresult::success;
    });
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t size) {
    return call("cuMemAddressFree", kStarted, [&] {
        const auto found = state().reservations.find(address);
        if (found == state().reservations.end() || found->second != size ||
            any_mapped(address, size))
            return CUresult::invalid_value;
        state().reservations.erase(found);
        state().arena.space().give(address);
        return CUresult::success;
    });
}

CUresult cuMemCreate(CUmemHandle* handle, std::size_t size, const CUmemAllocationProp* wanted,
                     unsigned long long flags) {
    return call("cuMemCreate", kStarted, [&] {
        if (!supported())
            return CUresult::not_supported;
        if (size == 0 || !aligned(size) || flags != 0)
            return CUresult::invalid_value;
        if (!possible(*wanted))
            return CUresult::invalid_device;
        std::shared_ptr<Physical> made = make_physical(size, *wanted);
        if (!made)
            return CUresult::out_of_memory;
        *handle = state().new_id();
        state().handles.emplace(*handle, std::move(made));
        return CUresult::success;
    });
}

CUresult cuMemRelease(CUmemHandle handle) {
    return call("cuMemRelease", kStarted, [&] {
        return state().handles.erase(handle) == 1 ? CUresult::success : CUresult::invalid_value;
    });
}

CUresult cuMemMap(CUdeviceptr address, std::size_t size, std::size_t offset, CUmemHandle handle,
                  unsigned long long flags) {
    return call("cuMemMap", kStarted, [&] {
        const auto found = state().handles.find(handle);
        if (found == state().handles.end() || flags != 0 || !well_sized(address, size) ||
            reservation_of(address, size) == 0 || any_mapped(address, size))
            return CUresult::invalid_value;
        if (offset != 0 || size != found->second->size)
            return CUresult::not_supported;
        Span span{.kind = Span::Kind::mapping,
                  .size = size,
                  .device = found->second->device,
                  .readers = 0,  // nobody, until cuMemSetAccess
                  .writers = 0,
                  .physical = found->second};
        if (!state().arena.back(address, size, span.physical->backing(), span.physical->offset))
            return CUresult::out_of_memory;
        state().spans.emplace(address, std::move(span));
        return CUresult::success;
    });
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t size) {
    return call("cuMemUnmap", kStarted, [&] {
        if (!well_sized(address, size) || !whole_mappings(address, size))
            return CUresult::invalid_value;
        state().arena.unback(address, size);
        const auto first = state().spans.find(address);
        state().spans.erase(first, state().spans.lower_bound(address + size));
        return CUresult::success;
    });
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t size, const CUmemAccessDesc* wanted,
                        std::size_t count) {
    return call("cuMemSetAccess", kStarted, [&] {
        if (!well_sized(address, size) || !whole_mappings(address, size) || count == 0)
            return CUresult::invalid_value;
        const auto first = state().spans.find(address);
        const auto last = state().spans.lower_bound(address + size);
        const auto all_reach = [&](const auto& span) {
            return std::all_of(wanted, wanted + count, [&](const CUmemAccessDesc& each) {
                return can_reach(span.second, each.location);
            });
        };
        if (!std::all_of(first, last, all_reach))
            return CUresult::invalid_value;
        for (auto each = first; each != last; ++each) {
            for (std::size_t i = 0; i < count; ++i)
                set_access(each->second, wanted[i]);
        }
        return CUresult::success;
    });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* who, CUdeviceptr address) {
    return call("cuMemGetAccess", kStarted, [&] {
        const auto* const found = fake::find_span(address);
        if (found == nullptr || who->type != CUmemLocationType::device ||
            !state().has_device(who->id))
            return CUresult::invalid_value;
        const bool reads = (found->second.readers >> who->id & 1) != 0;
        const bool writes = (found->second.writers >> who->id & 1) != 0;
        *flags = writes ? 3 : reads ? 1 : 0;
        return CUresult::success;
    });
}

}  // namespace tidemark::cuda
