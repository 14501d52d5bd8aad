// Charge, allocate, correct the charge by what was granted; and undo all of it if a step fails.
#include "core/tiers/spaces/reserved_allocator.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace tidemark {
namespace {

// Whether an allocator's refusal may end when memory is freed.
bool freeing_helps(const OutOfMemory& refusal) {
    return refusal.cause == OutOfMemory::Cause::device_full ||
           refusal.cause == OutOfMemory::Cause::limit;
}

}  // namespace

ReservedAllocator::ReservedAllocator(Allocator& inner, const MemoryReservation& reservation,
                                     OomHandling oom)
    : ForwardingAllocator(inner),
      space_(reservation.space()),
      reservation_(reservation.id()),
      oom_(std::move(oom)) {}

ReservedAllocator::ReservedAllocator(Allocator& inner, ReservationBindings& bindings,
                                     OomHandling oom)
    : ForwardingAllocator(inner),
      space_(bindings.space()),
      bindings_(&bindings),
      oom_(std::move(oom)) {}

ReservedAllocator::~ReservedAllocator() {
    entries_.for_each([this](Entry& entry) { space_.uncharge(entry.charge); });
}

tl::expected<Charge, ChargeRefusal> ReservedAllocator::charge(Bytes size, StreamId stream) {
    return bindings_ != nullptr ? bindings_->charge_on(size, stream)
                                : space_.charge(size, reservation_);
}

ReservedAllocator::Refusal ReservedAllocator::refused_by_space(const ChargeRefusal& refusal) {
    const bool too_large = refusal.cause == ChargeRefusal::Cause::too_large;
    return {.reason = {too_large ? OutOfMemory::Cause::too_large : OutOfMemory::Cause::limit},
            .missing = refusal.missing};
}

Allocation ReservedAllocator::enter(const Allocation& granted, const Charge& charge) {
    Allocation ours = granted;
    ours.node = entries_.put({granted, charge});
    return ours;
}

tl::expected<Allocation, ReservedAllocator::Refusal> ReservedAllocator::attempt(
    const Request& request) {
    auto charged = charge(request.size, request.stream);
    if (!charged)
        return tl::make_unexpected(refused_by_space(charged.error()));
    const auto granted = ForwardingAllocator::allocate(request);
    if (!granted) {
        const Bytes missing = freeing_helps(granted.error()) ? charged->size : 0;
        space_.uncharge(*charged);
        return tl::make_unexpected(Refusal{granted.error(), missing, false});
    }
    if (const auto exact = space_.recharge(*charged, granted->size); !exact) {
        ForwardingAllocator::deallocate(*granted, request.stream);
        space_.uncharge(*charged);
        return tl::make_unexpected(refused_by_space(exact.error()));
    }
    return enter(*granted, *charged);
}

tl::expected<Allocation, OutOfMemory> ReservedAllocator::allocate(const Request& request) {
    for (std::uint32_t number = 0;; ++number) {
        const auto granted = attempt(request);
        if (granted)
            return *granted;
        const OomHandling policy = oom_ != nullptr ? oom_ : space_.oom_policy();
        const OomAnswer answer = policy->refused({.space = space_.id(),
                                                  .requested = request.size,
                                                  .missing = granted.error().missing,
                                                  .stream = request.stream,
                                                  .refusal = granted.error().reason,
                                                  .attempt = number});
        if (answer == OomAnswer::try_again)
            continue;
        if (granted.error().by_space)
            count_refusal();
        return tl::make_unexpected(granted.error().reason);
    }
}

void ReservedAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    Entry entry = entries_.take(allocation.node);
    entry.inner.retired = allocation.retired;
    ForwardingAllocator::deallocate(entry.inner, stream);
    space_.uncharge(entry.charge);
}

void ReservedAllocator::record_use(const Allocation& allocation, StreamId stream) {
    ForwardingAllocator::record_use(entries_.at(allocation.node).inner, stream);
}

Bytes ReservedAllocator::largest_free() const {
    return std::min(ForwardingAllocator::largest_free(), space_.available_to(reservation_));
}

Result<std::vector<Allocation>> ReservedAllocator::restore(std::span<const SeedSegment> segments) {
    TM_ASSIGN(std::vector<Allocation> restored, ForwardingAllocator::restore(segments));
    std::vector<StreamId> streams;  // of `restored`: allocations come in the order of the blocks
    for (const SeedSegment& segment : segments)
        streams.insert(streams.end(), segment.blocks.size(), segment.stream);
    TM_CHECK(streams.size() == restored.size());
    for (std::size_t i = 0; i < restored.size(); ++i) {
        const auto charged = charge(restored[i].size, streams[i]);
        if (!charged) {
            for (std::size_t j = 0; j < i; ++j)
                deallocate(restored[j], streams[j]);
            for (std::size_t j = i; j < restored.size(); ++j)
                ForwardingAllocator::deallocate(restored[j], streams[j]);
            return fail(ErrorCode::bad_input,
                        "what is live at the start is more than its reservation and space have",
                        to_text(space_.id()), std::string(to_text(charged.error().cause)));
        }
        restored[i] = enter(restored[i], *charged);
    }
    return restored;
}

}  // namespace tidemark
