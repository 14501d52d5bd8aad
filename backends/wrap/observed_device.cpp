// What is reported for a call, and which of a handle's mappings is its home: the oldest.
#include "backends/wrap/observed_device.h"

namespace tidemark {

void ObservedDevice::report(const CallArguments& call, Address given) {
    switch (call.call) {
        case DeviceCall::malloc:
        case DeviceCall::malloc_async:
            return report(SegmentChange::segment_alloc, {given, call.size}, call.stream);
        case DeviceCall::free:
        case DeviceCall::free_async:
            return report(SegmentChange::segment_free, {call.address, 0}, call.stream);
        case DeviceCall::reserve:
            return report(SegmentChange::reserve, {given, call.size}, call.stream);
        case DeviceCall::unreserve:
            return report(SegmentChange::unreserve, call.range(), call.stream);
        case DeviceCall::map:
            return mapped(call);
        case DeviceCall::unmap:
            return unmapped(call);
        default:
            return;
    }
}

void ObservedDevice::mapped(const CallArguments& call) {
    std::vector<Address>& mappings = mappings_of_[call.handle];
    const Address home = mappings.empty() ? Address::null : mappings.front();
    mappings.push_back(call.address);
    mappings_[call.address] = {call.size, call.handle, home};
    report(SegmentChange::map, call.range(), call.stream, home);
}

// One call may end many mappings: adjacent ones end as one.
void ObservedDevice::unmapped(const CallArguments& call) {
    const auto add = [](std::vector<Run>& runs, Address begin, const Mapping& mapping) {
        if (!runs.empty() && runs.back().range.begin + runs.back().range.size == begin &&
            (mapping.home == Address::null
                 ? runs.back().home == Address::null
                 : runs.back().home != Address::null &&
                       runs.back().home + runs.back().range.size == mapping.home))
            runs.back().range.size += mapping.size;
        else
            runs.push_back({{begin, mapping.size}, mapping.home});
    };
    std::vector<Run> ended;
    std::vector<std::uint64_t> homeless;
    const Address end = call.address + call.size;
    for (auto at = mappings_.lower_bound(call.address); at != mappings_.end() && at->first < end;
         at = mappings_.erase(at)) {
        add(ended, at->first, at->second);
        std::vector<Address>& mappings = mappings_of_[at->second.handle];
        std::erase(mappings, at->first);
        if (mappings.empty())
            mappings_of_.erase(at->second.handle);
        else if (at->second.home == Address::null)
            homeless.push_back(at->second.handle);
    }
    std::vector<Run> begun;
    for (const std::uint64_t handle : homeless) {
        const auto mappings = mappings_of_.find(handle);
        if (mappings == mappings_of_.end())
            continue;
        for (const Address address : mappings->second) {
            Mapping& mapping = mappings_[address];
            add(ended, address, mapping);
            mapping.home =
                address == mappings->second.front() ? Address::null : mappings->second.front();
            begun.push_back({{address, mapping.size}, mapping.home});  // each is a page
        }
    }
    if (ended.empty())  // mapped before anybody observed it
        ended.push_back({call.range()});
    for (const Run& run : ended)
        report(SegmentChange::unmap, run.range, call.stream, run.home);
    for (const Run& run : begun)
        report(SegmentChange::map, run.range, call.stream, run.home);
}

}  // namespace tidemark
