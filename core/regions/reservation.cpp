// Adding and removing pages, with every step undone if a later one fails.
#include "core/regions/reservation.h"

#include <utility>

namespace tidemark {

DeviceResult<Reservation> Reservation::make(Device& device, Bytes size, Bytes page) {
    TM_ASSIGN(const Range range, device.reserve(size));
    return Reservation(range, page);
}

PhysicalId& Reservation::handle(Address page) {
    const std::size_t index = (page - range_.begin) / page_;
    if (index >= handles_.size())
        handles_.resize(index + 1);
    return handles_[index];
}

DeviceResult<PhysicalId> Reservation::create(Device& device) {
    if (!refused_.empty()) {
        const PhysicalId handle = refused_.back();
        refused_.pop_back();
        return handle;
    }
    const DeviceResult<PhysicalId> handle = device.create(Location{}, page_);
    held_ += handle ? page_ : 0;
    return handle;
}

void Reservation::drop(Device& device, const std::vector<PhysicalId>& handles) {
    for (const PhysicalId handle : handles) {
        if (handle == PhysicalId{} || device.release(handle))
            held_ -= page_;
        else
            refused_.push_back(handle);
    }
}

DeviceResult<void> Reservation::map(Device& device, Range range) {
    std::vector<PhysicalId> handles;
    DeviceResult<void> done;
    for (Bytes offset = 0; offset < range.size && done; offset += page_) {
        const DeviceResult<PhysicalId> handle = create(device);
        if (handle)
            handles.push_back(*handle);
        else
            done = tl::make_unexpected(handle.error());
    }
    Bytes mapped = 0;
    for (std::size_t i = 0; i < handles.size() && done; ++i) {
        done = device.map({range.begin + mapped, page_}, handles[i]);
        mapped += done ? page_ : 0;
    }
    if (done)
        done = device.set_access(range, true);
    if (done) {
        for (std::size_t i = 0; i < handles.size(); ++i)
            handle(range.begin + i * page_) = handles[i];
        return {};
    }
    if (mapped > 0 && !device.unmap({range.begin, mapped})) {
        const auto stuck = static_cast<std::ptrdiff_t>(mapped / page_);
        stuck_.push_back({{range.begin, mapped}, {handles.begin(), handles.begin() + stuck}});
        handles.erase(handles.begin(), handles.begin() + stuck);
    }
    drop(device, handles);
    return done;
}

DeviceResult<void> Reservation::unmap(Device& device, Range range) {
    TM_TRY(device.unmap(range));
    std::vector<PhysicalId> handles;
    for (Bytes offset = 0; offset < range.size; offset += page_)
        handles.push_back(std::exchange(handle(range.begin + offset), {}));
    drop(device, handles);
    return {};
}

DeviceResult<void> Reservation::release(Device& device) {
    settle(device);
    if (held_ != 0)
        return tl::make_unexpected(DeviceError{DeviceStatus::fault, DeviceCall::release, 0});
    return device.unreserve(range_);
}

void Reservation::settle(Device& device) {
    std::erase_if(stuck_, [&](const Stuck& stuck) {
        if (!device.unmap(stuck.range))
            return false;
        drop(device, stuck.handles);
        return true;
    });
    const std::vector<PhysicalId> refused = std::exchange(refused_, {});
    drop(device, refused);
}

Range Reservation::covering(Range part) const {
    const Bytes first = (part.begin - range_.begin) / page_;
    const Bytes end = (part.begin - range_.begin + part.size + page_ - 1) / page_;
    return {range_.begin + first * page_, (end - first) * page_};
}

Range Reservation::within(Range part) const {
    const Bytes first = (part.begin - range_.begin + page_ - 1) / page_;
    const Bytes end = (part.begin - range_.begin + part.size) / page_;
    return {range_.begin + first * page_, end > first ? (end - first) * page_ : 0};
}

}  // namespace tidemark
