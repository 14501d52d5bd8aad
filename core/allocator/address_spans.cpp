// See address_spans.h.
#include "core/allocator/address_spans.h"

#include "core/allocator/allocator.h"

namespace tidemark {

std::string_view to_text(AddressSpan::State state) {
    constexpr std::string_view kNames[] = {"allocated", "free", "waiting",
                                           "zombie",    "hole", "stuck"};
    return kNames[static_cast<std::size_t>(state)];
}

void AddressTotals::add(const AddressSpan& span) {
    constexpr Bytes AddressTotals::*kSums[] = {&AddressTotals::allocated, &AddressTotals::free,
                                               &AddressTotals::waiting,   &AddressTotals::zombies,
                                               &AddressTotals::holes,     &AddressTotals::stuck};
    reserved += span.range.size;
    this->*kSums[static_cast<std::size_t>(span.state)] += span.range.size;
}

AddressTotals address_totals(const Allocator& allocator) {
    AddressTotals totals;
    allocator.for_each_address([&totals](const AddressSpan& span) { totals.add(span); });
    return totals;
}

}  // namespace tidemark
