// What the checker makes of the calls of the device.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "backends/wrap/checker.h"

namespace tidemark {
namespace {

bool is_forbidden_in_capture(DeviceCall call) {
    switch (call) {
        case DeviceCall::free:
        case DeviceCall::host_free:
        case DeviceCall::trim_pool:
        case DeviceCall::complete:
        case DeviceCall::synchronize:
        case DeviceCall::synchronize_device:
            return true;
        default:
            return false;
    }
}

}  // namespace

void Checker::device_call(const CallArguments& call, const CallOutcome& outcome, bool capturing) {
    check_capture(call, capturing);
    if (outcome.ok)
        order_call(call, outcome);
    follow_capture(call, outcome);
    switch (call.call) {
        case DeviceCall::malloc:
        case DeviceCall::malloc_async:
        case DeviceCall::host_malloc:
        case DeviceCall::reserve:
        case DeviceCall::create:
        case DeviceCall::import_memory:
        case DeviceCall::host_register:
            if (outcome.ok)
                loan_made(call, outcome);
            return;
        case DeviceCall::map:
            if (outcome.ok)
                mapped(call);
            return;
        case DeviceCall::set_access:
            if (outcome.ok)
                access_set(call);
            return;
        case DeviceCall::copy:
        case DeviceCall::fill:
        case DeviceCall::write_pattern:
        case DeviceCall::check_pattern:
            check_movement(call);
            return;
        default:
            giving_back(call, outcome);
            return;
    }
}

void Checker::check_capture(const CallArguments& call, bool capturing) {
    if (capturing && !in_capture_)
        capture_event_ = event_;
    in_capture_ = capturing;
    if (capturing && is_forbidden_in_capture(call.call))
        report(HazardKind::illegal_in_capture, capture_event_,
               fmt::format("{} called while a graph was captured", to_text(call.call)));
}

void Checker::order_call(const CallArguments& call, const CallOutcome& outcome) {
    switch (call.call) {
        case DeviceCall::record:
            order_.recorded(call.stream, EventId{outcome.handle});
            return;
        case DeviceCall::wait:
            order_.waited(call.stream, EventId{call.handle});
            return;
        case DeviceCall::complete:
            if (outcome.handle != 0)
                order_.seen_complete(EventId{call.handle});
            return;
        case DeviceCall::synchronize:
            order_.synchronized(call.stream);
            return;
        case DeviceCall::synchronize_device:
        case DeviceCall::free:
        case DeviceCall::host_free:
            order_.synchronized_all();
            return;
        default:
            return;
    }
}

void Checker::loan_made(const CallArguments& call, const CallOutcome& outcome) {
    if (call.call == DeviceCall::create || call.call == DeviceCall::import_memory) {
        handles_.emplace(
            outcome.handle,
            Handle{.size = call.size, .physical = Address{next_physical_}, .event = event_});
        next_physical_ += call.size;
        return;
    }
    const bool registers = call.call == DeviceCall::host_register;
    const Range range = registers ? call.range() : Range{outcome.address, call.size};
    LoanKind kind = LoanKind::plain;
    if (call.call == DeviceCall::reserve)
        kind = LoanKind::reservation;
    else if (call.call == DeviceCall::host_malloc)
        kind = LoanKind::host;
    else if (registers)
        kind = LoanKind::registered;
    if (call.call == DeviceCall::malloc_async) {
        if (Capture* capture = capture_of(call.stream)) {
            capture->own.push_back(range);
            loans_.insert_or_assign(range.begin, Loan{call.size, LoanKind::graph, event_});
            return;
        }
        // It may be used on its own stream at once; on others, only after what that stream has
        // been given so far.
        kind = LoanKind::pool;
        past_.assign(range,
                     std::make_shared<const Past>(Past{event_, 0, {order_.work_of(call.stream)}}));
    }
    freed_loans_.forget(to_integer(range.begin));
    loans_.insert_or_assign(range.begin, Loan{call.size, kind, event_});
}

void Checker::giving_back(const CallArguments& call, const CallOutcome& outcome) {
    switch (call.call) {
        case DeviceCall::free:
            give_back_loan(call, outcome.ok, LoanKind::plain);
            return;
        case DeviceCall::free_async:
            give_back_loan(call, outcome.ok, LoanKind::pool);
            return;
        case DeviceCall::host_free:
            give_back_loan(call, outcome.ok, LoanKind::host);
            return;
        case DeviceCall::host_unregister:
            give_back_loan(call, outcome.ok, LoanKind::registered);
            return;
        case DeviceCall::unreserve:
            unreserving(call, outcome.ok);
            return;
        case DeviceCall::unmap:
            unmapping(call, outcome.ok);
            return;
        case DeviceCall::release:
            releasing(call, outcome.ok);
            return;
        default:
            return;
    }
}

void Checker::freed_wrongly(const CallArguments& call, std::uint64_t key, const FreedLog& log) {
    const std::uint64_t* freed = log.find(key);
    report(freed ? HazardKind::double_free : HazardKind::unknown_free, freed ? *freed : event_,
           fmt::format(
               "{} of {:#x}, which {}", to_text(call.call), key,
               freed ? "was given back before" : "is none of its kind that the device gave out"));
}

void Checker::give_back_loan(const CallArguments& call, bool ok, LoanKind kind) {
    const auto loan = loans_.find(call.address);
    // What a launch left is given back like either kind of device memory.
    const bool left_by_graph = loan != loans_.end() && loan->second.kind == LoanKind::graph;
    if (left_by_graph && (kind == LoanKind::pool || kind == LoanKind::plain))
        kind = LoanKind::graph;
    if (loan == loans_.end() || loan->second.kind != kind) {
        if (!ok)
            freed_wrongly(call, to_integer(call.address), freed_loans_);
        return;
    }
    if (!ok)
        return;
    const Range range{loan->first, loan->second.size};
    check_nothing_lives(call, range);
    if (kind == LoanKind::pool)
        check_pool_order(call, range);
    if (call.call == DeviceCall::free_async && capture_of(call.stream) == nullptr)
        check_launched(call, range, 0);
    past_.erase(range);
    launched_.erase(range);
    freed_loans_.add(to_integer(range.begin), event_);
    loans_.erase(loan);
}

// Memory is going away: no live allocation may be in it.
void Checker::check_nothing_lives(const CallArguments& call, Range range) {
    auto grant = grants_.lower_bound(range.begin);
    if (grant != grants_.begin()) {
        const auto before = std::prev(grant);
        if (before->first + before->second.size > range.begin)
            grant = before;
    }
    if (grant == grants_.end() || grant->first >= range.begin + range.size)
        return;
    report(HazardKind::unmap_in_flight, grant->second.event,
           fmt::format("{} of {} under the live allocation {}", to_text(call.call),
                       range_text(range), range_text({grant->first, grant->second.size})));
}

// The pool may hand the range to the stream of free_async at once.
void Checker::check_pool_order(const CallArguments& call, Range range) {
    bool found = false;
    past_.for_each(range, [&](Range part, const SharedPast& past) {
        for (const StreamOrder::Work& work : past->work) {
            if (found || order_.before(work, call.stream))
                continue;
            found = true;
            report(
                HazardKind::unmap_in_flight, past->event,
                fmt::format("{} on stream {} while stream {} may still use {}", to_text(call.call),
                            to_integer(call.stream), to_integer(work.stream), range_text(part)));
        }
    });
}

void Checker::mapped(const CallArguments& call) {
    const auto handle = handles_.find(call.handle);
    if (handle == handles_.end())
        return;
    ++handle->second.mappings;
    mappings_.insert_or_assign(call.address, Mapping{.size = call.size,
                                                     .handle = call.handle,
                                                     .physical = handle->second.physical,
                                                     .event = event_});
    freed_loans_.forget(to_integer(call.address));
}

void Checker::access_set(const CallArguments& call) {
    const Address end = call.address + call.size;
    for (auto mapping = mappings_.lower_bound(call.address);
         mapping != mappings_.end() && mapping->first < end; ++mapping)
        mapping->second.access = call.value != 0 ? Access::write : Access::read;
}

void Checker::drop_mapping(const Mapping& mapping) {
    const auto handle = handles_.find(mapping.handle);
    if (handle != handles_.end() && --handle->second.mappings == 0 && handle->second.released)
        handles_.erase(handle);
}

void Checker::unmapping(const CallArguments& call, bool ok) {
    const Address end = call.address + call.size;
    const auto first = mappings_.lower_bound(call.address);
    if (!ok) {
        if (first == mappings_.end() || first->first >= end)
            freed_wrongly(call, to_integer(call.address), freed_loans_);
        return;
    }
    check_nothing_lives(call, call.range());
    auto mapping = first;
    while (mapping != mappings_.end() && mapping->first < end) {
        check_unmapped_work(call, mapping->first, mapping->second);
        check_launched(call, {mapping->second.physical, mapping->second.size},
                       to_integer(mapping->first) - to_integer(mapping->second.physical));
        freed_loans_.add(to_integer(mapping->first), event_);
        drop_mapping(mapping->second);
        mapping = mappings_.erase(mapping);
    }
}

// Work that used the bytes through this mapping must have been seen to end; what went through
// another mapping of the same handle is not touched.
void Checker::check_unmapped_work(const CallArguments& call, Address begin,
                                  const Mapping& mapping) {
    const Range physical{mapping.physical, mapping.size};
    const std::uint64_t offset = to_integer(begin) - to_integer(mapping.physical);
    bool found = false;
    past_.erase_if(physical, [&](Range part, const SharedPast& past) {
        if (past->offset != offset)
            return false;
        for (const StreamOrder::Work& work : past->work) {
            if (found || order_.seen_by_host(work))
                continue;
            found = true;
            report(HazardKind::unmap_in_flight, past->event,
                   fmt::format("{} of {} bytes at {:#x} while stream {} may still use them",
                               to_text(call.call), part.size, to_integer(part.begin) + offset,
                               to_integer(work.stream)));
        }
        return true;
    });
}

void Checker::releasing(const CallArguments& call, bool ok) {
    const auto handle = handles_.find(call.handle);
    if (handle == handles_.end() || handle->second.released) {
        if (!ok)
            freed_wrongly(call, call.handle, freed_handles_);
        return;
    }
    if (!ok)
        return;
    freed_handles_.add(call.handle, event_);
    handle->second.released = true;
    if (handle->second.mappings == 0)
        handles_.erase(handle);
}

void Checker::unreserving(const CallArguments& call, bool ok) {
    const auto loan = loans_.find(call.address);
    if (loan == loans_.end() || loan->second.kind != LoanKind::reservation) {
        if (!ok)
            freed_wrongly(call, to_integer(call.address), freed_loans_);
        return;
    }
    const auto mapping = mappings_.lower_bound(call.address);
    if (!ok) {
        if (mapping != mappings_.end() && mapping->first < call.address + loan->second.size)
            report(HazardKind::unmap_in_flight, mapping->second.event,
                   fmt::format("unreserve of {} with a mapping in it",
                               range_text({loan->first, loan->second.size})));
        return;
    }
    freed_loans_.add(to_integer(call.address), event_);
    loans_.erase(loan);
}

void Checker::check_movement(const CallArguments& call) {
    const auto check = [&](Address begin, Access needed) {
        const Range range{begin, call.size};
        if (backing_of(range).access < needed)
            report(HazardKind::out_of_bounds, event_,
                   fmt::format("{} of {}, which is not all accessible memory of the device",
                               to_text(call.call), range_text(range)));
    };
    check(call.address, call.call == DeviceCall::check_pattern ? Access::read : Access::write);
    if (call.call == DeviceCall::copy)
        check(call.source, Access::read);
}

}  // namespace tidemark
