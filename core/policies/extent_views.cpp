// Second mappings of the extent pool's handles: making, finding and removing them.
#include "core/policies/extent_views.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark::policies {
namespace {

// Has the work that is queued on the members finished? Asks the device once per member. False also
// if the device can't tell.
bool has_passed(StreamSet streams, Device& device) {
    const DeviceResult<bool> passed = streams.passed(device);
    return passed && *passed;
}

// The first of some ranges in order that ends behind `address`.
auto first_reaching(const std::vector<Range>& ranges, Address address) {
    return std::partition_point(ranges.begin(), ranges.end(), [address](const Range& range) {
        return range.begin + range.size <= address;
    });
}

}  // namespace

DeviceResult<ExtentViews::ViewId> ExtentViews::make(Device& device, const ExtentLine& line,
                                                    std::span<const std::uint32_t> handles) {
    Bytes size = 0;
    for (const std::uint32_t handle : handles)
        size += line.handle(handle).home.size;
    const DeviceResult<Range> range = device.reserve(size);
    if (!range)
        return tl::make_unexpected(range.error());
    auto vacant = std::find_if(views_.begin(), views_.end(),
                               [](const View& view) { return view.range.size == 0; });
    if (vacant == views_.end())
        vacant = views_.insert(vacant, View{});
    View& view = *vacant;
    view.range = *range;
    Address next = range->begin;
    DeviceResult<void> done;
    for (const std::uint32_t number : handles) {
        const ExtentLine::Handle& handle = line.handle(number);
        const Range target{next, handle.home.size};
        done = device.map(target, handle.id);
        if (!done)
            break;
        view.mappings.push_back({target, handle.home.begin});
        ++mappings_;
        done = device.set_access(target, true);
        if (!done)
            break;
        next = next + target.size;
    }
    if (done)
        return static_cast<ViewId>(vacant - views_.begin());
    for (std::size_t i = view.mappings.size(); i-- > 0;)
        end_mapping(device, view, i);
    forget_if_empty(device, view);
    return tl::make_unexpected(done.error());
}

std::optional<ExtentViews::Found> ExtentViews::find(const ExtentLine& line, Bytes size) const {
    const std::vector<Range> free = line.free_ranges();
    std::optional<Found> best;
    Bytes least = 0;
    for (ViewId number = 0; number < views_.size(); ++number) {
        const View& view = views_[number];
        if (view.range.size < size)
            continue;
        Found run;
        Bytes length = 0;
        Address end = Address::null;
        const auto consider = [&] {
            if (length >= size && run.parts.size() > 1 && (!best || length < least)) {
                best = run;
                best->view = number;
                least = length;
            }
        };
        for (const Mapping& mapping : view.mappings) {
            const Range home{mapping.home, mapping.range.size};
            for (auto block = first_reaching(free, home.begin); block != free.end(); ++block) {
                const Range part = common(*block, home);
                if (part.size == 0)
                    break;
                const Address begin = mapping.range.begin + (part.begin - mapping.home);
                if (run.parts.empty() || begin != end) {
                    consider();
                    run = {number, begin, {}};
                    length = 0;
                }
                run.parts.push_back(part);
                length += part.size;
                end = begin + part.size;
            }
        }
        consider();
    }
    return best;
}

void ExtentViews::enter(ViewId view) {
    ++views_[view].grants;
}

void ExtentViews::leave(ViewId view, StreamSet streams) {
    TM_CHECK(views_[view].grants > 0);
    --views_[view].grants;
    views_[view].left = ++clock_;
    views_[view].streams.add(streams);
}

bool ExtentViews::end_mapping(Device& device, View& view, std::size_t index) {
    const Mapping mapping = view.mappings[index];
    if (!device.unmap(mapping.range))
        return false;
    --mappings_;
    view.mappings.erase(view.mappings.begin() + static_cast<std::ptrdiff_t>(index));
    return true;
}

void ExtentViews::forget_if_empty(Device& device, View& view) {
    if (view.mappings.empty() && view.grants == 0 && device.unreserve(view.range))
        view = View{};
}

void ExtentViews::end_unused(Device& device, std::uint32_t most, bool awaited) {
    if (mappings_ <= most)
        return;
    std::vector<ViewId> order;
    for (ViewId number = 0; number < views_.size(); ++number)
        if (views_[number].range.size != 0 && views_[number].grants == 0)
            order.push_back(number);
    std::sort(order.begin(), order.end(),
              [this](ViewId a, ViewId b) { return views_[a].left < views_[b].left; });
    for (const ViewId number : order) {
        View& view = views_[number];
        if (mappings_ <= most)
            return;
        if (!awaited && !has_passed(view.streams, device))
            continue;
        for (std::size_t i = view.mappings.size(); i-- > 0;)
            end_mapping(device, view, i);
        forget_if_empty(device, view);
    }
}

bool ExtentViews::end_mappings(Device& device, const ExtentLine& line, std::uint32_t handle,
                               bool awaited) {
    const Address home = line.handle(handle).home.begin;
    for (View& view : views_) {
        for (std::size_t i = view.mappings.size(); i-- > 0;) {
            if (view.mappings[i].home != home)
                continue;
            if ((!awaited && !has_passed(view.streams, device)) || !end_mapping(device, view, i))
                return false;
        }
        if (view.range.size != 0)
            forget_if_empty(device, view);
    }
    return true;
}

}  // namespace tidemark::policies
