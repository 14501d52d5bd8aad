// The memory that a device handed out, followed from call to call.
#include "backends/wrap/device_shadow.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tidemark {

void FreedLog::add(std::uint64_t key, std::uint64_t event) {
    if (events_.insert_or_assign(key, event).second)
        order_.push_back(key);
    while (order_.size() > kMostKept) {
        events_.erase(order_.front());
        order_.pop_front();
    }
}

const std::uint64_t* FreedLog::find(std::uint64_t key) const {
    const auto found = events_.find(key);
    return found == events_.end() ? nullptr : &found->second;
}

const DeviceShadow::Loan* DeviceShadow::loan_around(Range range) const {
    auto next = loans_.upper_bound(range.begin);
    if (next == loans_.begin())
        return nullptr;
    --next;
    const Bytes offset = range.begin - next->first;
    const Bytes size = next->second.size;
    return offset < size && range.size <= size - offset ? &next->second : nullptr;
}

DeviceShadow::Backing DeviceShadow::backing_of(Range range) const {
    Backing backing;
    const Loan* loan = loan_around(range);
    if (loan == nullptr || loan->kind != LoanKind::reservation) {
        backing.extents.push_back(range);
        backing.access = loan == nullptr ? Access::outside : Access::write;
        return backing;
    }
    const Address end = range.begin + range.size;
    auto mapping = mappings_.upper_bound(range.begin);
    if (mapping != mappings_.begin())
        --mapping;
    for (Address at = range.begin; at < end;) {
        while (mapping != mappings_.end() && mapping->first + mapping->second.size <= at)
            ++mapping;
        const bool is_mapped = mapping != mappings_.end() && mapping->first <= at;
        Address to = end;
        Address physical = at;
        if (is_mapped) {
            to = std::min(end, mapping->first + mapping->second.size);
            physical = mapping->second.physical + (at - mapping->first);
            backing.access = std::min(backing.access, mapping->second.access);
        } else {
            if (mapping != mappings_.end())
                to = std::min(end, mapping->first);
            backing.access = Access::outside;
        }
        std::vector<Range>& extents = backing.extents;
        if (!extents.empty() && extents.back().begin + extents.back().size == physical)
            extents.back().size += to - at;
        else
            extents.push_back({physical, to - at});
        at = to;
    }
    return backing;
}

void DeviceShadow::add_loan(Range range, LoanKind kind) {
    if (kind != LoanKind::graph)
        freed_loans_.forget(to_integer(range.begin));
    loans_.insert_or_assign(range.begin, Loan{range.size, kind, log_.event()});
}

void DeviceShadow::resume_loan(Range range) {
    freed_loans_.forget(to_integer(range.begin));
    add_loan(range, LoanKind::graph);
}

void DeviceShadow::add_handle(std::uint64_t id, Bytes size) {
    handles_.emplace(
        id, Handle{.size = size, .physical = Address{next_physical_}, .event = log_.event()});
    next_physical_ += size;
}

const DeviceShadow::Loan* DeviceShadow::find_loan(const CallArguments& call, bool ok,
                                                  LoanKind& kind) {
    const auto loan = loans_.find(call.address);
    const bool left_by_graph = loan != loans_.end() && loan->second.kind == LoanKind::graph;
    if (left_by_graph && (kind == LoanKind::pool || kind == LoanKind::plain))
        kind = LoanKind::graph;
    if (loan != loans_.end() && loan->second.kind == kind)
        return &loan->second;
    if (!ok)
        freed_wrongly(call, to_integer(call.address), freed_loans_);
    return nullptr;
}

void DeviceShadow::end_loan(Address begin) {
    freed_loans_.add(to_integer(begin), log_.event());
    loans_.erase(begin);
}

void DeviceShadow::freed_wrongly(const CallArguments& call, std::uint64_t key,
                                 const FreedLog& log) {
    const std::uint64_t* freed = log.find(key);
    log_.report(
        freed ? HazardKind::double_free : HazardKind::unknown_free, freed ? *freed : log_.event(),
        fmt::format("{} of {:#x}, which {}", to_text(call.call), key,
                    freed ? "was freed before" : "the device did not hand out for this call"));
}

void DeviceShadow::mapped(const CallArguments& call) {
    const auto handle = handles_.find(call.handle);
    if (handle == handles_.end())
        return;
    ++handle->second.mappings;
    mappings_.insert_or_assign(call.address, Mapping{.size = call.size,
                                                     .handle = call.handle,
                                                     .physical = handle->second.physical,
                                                     .event = log_.event()});
    freed_loans_.forget(to_integer(call.address));
}

void DeviceShadow::access_set(const CallArguments& call) {
    const Address end = call.address + call.size;
    for (auto mapping = mappings_.lower_bound(call.address);
         mapping != mappings_.end() && mapping->first < end; ++mapping)
        mapping->second.access = call.value != 0 ? Access::write : Access::read;
}

void DeviceShadow::drop(const Mapping& mapping) {
    const auto handle = handles_.find(mapping.handle);
    if (handle != handles_.end() && --handle->second.mappings == 0 && handle->second.released)
        handles_.erase(handle);
}

void DeviceShadow::unmap_refused(const CallArguments& call) {
    const auto first = mappings_.lower_bound(call.address);
    if (first == mappings_.end() || first->first >= call.address + call.size)
        freed_wrongly(call, to_integer(call.address), freed_loans_);
}

void DeviceShadow::releasing(const CallArguments& call, bool ok) {
    const auto handle = handles_.find(call.handle);
    if (handle == handles_.end() || handle->second.released) {
        if (!ok)
            freed_wrongly(call, call.handle, freed_handles_);
        return;
    }
    if (!ok)
        return;
    freed_handles_.add(call.handle, log_.event());
    handle->second.released = true;
    if (handle->second.mappings == 0)
        handles_.erase(handle);
}

void DeviceShadow::unreserving(const CallArguments& call, bool ok) {
    const auto loan = loans_.find(call.address);
    if (loan == loans_.end() || loan->second.kind != LoanKind::reservation) {
        if (!ok)
            freed_wrongly(call, to_integer(call.address), freed_loans_);
        return;
    }
    const auto mapping = mappings_.lower_bound(call.address);
    if (!ok) {
        if (mapping != mappings_.end() && mapping->first < call.address + loan->second.size)
            log_.report(HazardKind::unmap_in_flight, mapping->second.event,
                        fmt::format("unreserve of {} with a mapping in it",
                                    range_text({loan->first, loan->second.size})));
        return;
    }
    freed_loans_.add(to_integer(call.address), log_.event());
    loans_.erase(loan);
}

void DeviceShadow::report_leaks() {
    constexpr std::string_view kKinds[] = {"plain memory",  "stream-ordered memory",
                                           "host memory",   "registered host memory",
                                           "a reservation", "graph memory"};
    for (const auto& [begin, loan] : loans_)
        log_.report(HazardKind::leak, loan.event,
                    fmt::format("{} {} was not freed", kKinds[static_cast<std::size_t>(loan.kind)],
                                range_text({begin, loan.size})));
    for (const auto& [begin, mapping] : mappings_)
        log_.report(HazardKind::leak, mapping.event,
                    fmt::format("{} was not unmapped", range_text({begin, mapping.size})));
    for (const auto& [id, handle] : handles_) {
        if (!handle.released)
            log_.report(HazardKind::leak, handle.event,
                        fmt::format("handle {} of {} bytes was not released", id, handle.size));
    }
    loans_.clear();
    mappings_.clear();
    handles_.clear();
}

}  // namespace tidemark
