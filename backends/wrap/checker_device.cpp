// The device's side of the checker.
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
        case DeviceCall::host_register:
            if (outcome.ok)
                loan_made(call, outcome);
            return;
        case DeviceCall::map:
            if (outcome.ok)
                device_.mapped(call);
            return;
        case DeviceCall::set_access:
            if (outcome.ok)
                device_.access_set(call);
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
        capture_event_ = log_.event();
    in_capture_ = capturing;
    if (capturing && is_forbidden_in_capture(call.call))
        log_.report(HazardKind::illegal_in_capture, capture_event_,
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
    const bool registers = call.call == DeviceCall::host_register;
    const Range range = registers ? call.range() : Range{outcome.address, call.size};
    switch (call.call) {
        case DeviceCall::create:
            device_.add_handle(outcome.handle, call.size);
            return;
        case DeviceCall::reserve:
            device_.add_loan(range, LoanKind::reservation);
            return;
        case DeviceCall::host_malloc:
        case DeviceCall::host_register:
            device_.add_loan(range, registers ? LoanKind::registered : LoanKind::host);
            return;
        case DeviceCall::malloc_async:
            break;
        default:
            device_.add_loan(range, LoanKind::plain);
            return;
    }
    if (Capture* capture = capture_of(call.stream)) {
        capture->own.push_back(range);
        device_.add_loan(range, LoanKind::graph);
        return;
    }
    // It may be used on its own stream immediately; on others, only after the work queued on that
    // stream so far.
    past_.assign(
        range, std::make_shared<const Past>(Past{log_.event(), 0, {order_.work_of(call.stream)}}));
    device_.add_loan(range, LoanKind::pool);
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
            device_.unreserving(call, outcome.ok);
            return;
        case DeviceCall::unmap:
            unmapping(call, outcome.ok);
            return;
        case DeviceCall::release:
            device_.releasing(call, outcome.ok);
            return;
        default:
            return;
    }
}

void Checker::give_back_loan(const CallArguments& call, bool ok, LoanKind kind) {
    const DeviceShadow::Loan* const loan = device_.find_loan(call, ok, kind);
    if (loan == nullptr || !ok)
        return;
    const Range range{call.address, loan->size};
    check_nothing_lives(call, range);
    if (kind == LoanKind::pool)
        check_pool_order(call, range);
    if (call.call == DeviceCall::free_async && capture_of(call.stream) == nullptr)
        check_launched(call, range, 0);
    past_.erase(range);
    launched_.erase(range);
    device_.end_loan(range.begin);
}

// Memory is about to be released: no live allocation may be in it.
void Checker::check_nothing_lives(const CallArguments& call, Range range) {
    auto grant = grants_.lower_bound(range.begin);
    if (grant != grants_.begin()) {
        const auto before = std::prev(grant);
        if (before->first + before->second.size > range.begin)
            grant = before;
    }
    if (grant == grants_.end() || grant->first >= range.begin + range.size)
        return;
    log_.report(HazardKind::unmap_in_flight, grant->second.event,
                fmt::format("{} of {} under the live allocation {}", to_text(call.call),
                            range_text(range), range_text({grant->first, grant->second.size})));
}

// The pool may immediately hand the range to the stream of free_async.
void Checker::check_pool_order(const CallArguments& call, Range range) {
    bool found = false;
    past_.for_each(range, [&](Range part, const SharedPast& past) {
        for (const StreamOrder::Work& work : past->work) {
            if (found || order_.before(work, call.stream))
                continue;
            found = true;
            log_.report(
                HazardKind::unmap_in_flight, past->event,
                fmt::format("{} on stream {} while stream {} may still use {}", to_text(call.call),
                            to_integer(call.stream), to_integer(work.stream), range_text(part)));
        }
    });
}

void Checker::unmapping(const CallArguments& call, bool ok) {
    if (!ok) {
        device_.unmap_refused(call);
        return;
    }
    check_nothing_lives(call, call.range());
    device_.end_mappings(call.range(), [&](Address begin, const DeviceShadow::Mapping& mapping) {
        check_unmapped_work(call, begin, mapping);
        check_launched(call, {mapping.physical, mapping.size},
                       to_integer(begin) - to_integer(mapping.physical));
    });
}

// Work that used the bytes through this mapping must have been seen to end; work that used another
// mapping of the same handle is not affected.
void Checker::check_unmapped_work(const CallArguments& call, Address begin,
                                  const DeviceShadow::Mapping& mapping) {
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
            log_.report(HazardKind::unmap_in_flight, past->event,
                        fmt::format("{} of {} bytes at {:#x} while stream {} may still use them",
                                    to_text(call.call), part.size, to_integer(part.begin) + offset,
                                    to_integer(work.stream)));
        }
        return true;
    });
}

void Checker::check_movement(const CallArguments& call) {
    const auto check = [&](Address begin, Access needed) {
        const Range range{begin, call.size};
        if (device_.backing_of(range).access < needed)
            log_.report(
                HazardKind::out_of_bounds, log_.event(),
                fmt::format("{} of {}, but not all of it is accessible memory of the device",
                            to_text(call.call), range_text(range)));
    };
    check(call.address, call.call == DeviceCall::check_pattern ? Access::read : Access::write);
    if (call.call == DeviceCall::copy)
        check(call.source, Access::read);
}

}  // namespace tidemark
