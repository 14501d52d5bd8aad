// Rings change hands by one compare-and-swap.
#include "traces/live/ring_leases.h"

#include <algorithm>

namespace tidemark::live {
namespace {

// Each piece of a limited recording begins with all names.
Bytes name_bytes(Bytes history_limit) {
    constexpr Bytes kMost = 64_MiB;
    return history_limit == 0 ? kMost : std::min(kMost, history_limit / 8);
}

}  // namespace

RingLease::RingLease(SharedFile& file, const Header& header, NameBudget& budget,
                     std::uint32_t index)
    : ring(index),
      writer(file.control(index), file.slots(index), header.ring_slots, file.counters().sequence,
             (header.flags & kSteadyTicks) != 0),
      names(writer, budget, index),
      tag(names.nothing()),
      stack(names.nothing()) {
    own.fill({.site = names.nothing()});
}

std::uint32_t RingLease::new_site(PoolId pool) {
    const std::uint32_t found = names.site(tag, stack, pool);
    const bool known = found != names.nothing();
    const bool has_name = tag != names.nothing() || stack != names.nothing();
    // A site that couldn't be defined now is tried again with the next event.
    site = known || (!has_name && pool == PoolId::default_pool) ? found : 0;
    site_pool = pool;
    return found;
}

std::uint32_t RingLease::new_site(std::uint32_t own_tag, std::uint32_t own_stack, PoolId pool) {
    const std::uint32_t found = names.site(own_tag == 0 ? names.nothing() : own_tag,
                                           own_stack == 0 ? names.nothing() : own_stack, pool);
    const bool is_plain = own_tag == 0 && own_stack == 0 && pool == PoolId::default_pool;
    // As above: what couldn't be defined is tried again.
    if (is_plain || found != names.nothing())
        own[own_index(own_tag, own_stack, pool)] = {own_tag, own_stack, pool, found};
    return found;
}

RingLeases::RingLeases(SharedFile& file, const Header& header, Bytes history_limit)
    : file_(file),
      header_(header),
      names_(name_bytes(history_limit)),
      leases_(header.rings),
      states_(header.rings) {}

bool RingLeases::change(std::uint32_t ring, State from, State to) {
    return states_[ring].compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

RingLease* RingLeases::lease() {
    for (std::uint32_t ring = 0; ring < header_.rings; ++ring) {
        if (change(ring, State::ready, State::leased))
            return take(ring);
    }
    for (std::uint32_t ring = 0; ring < header_.rings && !out_of_memory_; ++ring) {
        if (prepare(ring) && change(ring, State::ready, State::leased))
            return take(ring);
    }
    return nullptr;
}

RingLease* RingLeases::take(std::uint32_t ring) {
    std::unique_ptr<RingLease>& lease = leases_[ring];
    if (!lease)
        lease = std::make_unique<RingLease>(file_, header_, names_, ring);
    lease->enter(lease->names.nothing(), lease->names.nothing());
    std::atomic<std::uint32_t>& used = file_.counters().rings_used;
    std::uint32_t before = used.load();
    while (before <= ring && !used.compare_exchange_weak(before, ring + 1)) {
    }
    return lease.get();
}

void RingLeases::give_back(RingLease& lease) {
    states_[lease.ring].store(State::ready, std::memory_order_release);
}

bool RingLeases::prepare(std::uint32_t ring) {
    if (!change(ring, State::untouched, State::preparing))
        return false;
    const bool done = file_.prepare(ring);
    out_of_memory_ = !done;
    states_[ring].store(done ? State::ready : State::untouched, std::memory_order_release);
    return done;
}

void RingLeases::keep_one_ready() {
    for (std::uint32_t ring = 0; ring < header_.rings && !out_of_memory_; ++ring) {
        if (states_[ring].load(std::memory_order_acquire) == State::ready || prepare(ring))
            return;
    }
}

void RingLeases::report_dropped() {
    for (const auto& lease : leases_) {
        if (lease)
            lease->writer.report_dropped();
    }
}

}  // namespace tidemark::live
