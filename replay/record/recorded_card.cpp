// A walk over what is reserved, and the sizes that cards have.
#include "replay/record/recorded_card.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

// Of NVIDIA's and AMD's GPUs for computing and games; the total that a driver reports is up to a
// few percent less.
constexpr std::array<Bytes, 24> kCards{4_GiB,   6_GiB,   8_GiB,   10_GiB,  11_GiB,  12_GiB,
                                       16_GiB,  20_GiB,  22_GiB,  24_GiB,  32_GiB,  40_GiB,
                                       45_GiB,  48_GiB,  64_GiB,  80_GiB,  96_GiB,  128_GiB,
                                       141_GiB, 144_GiB, 180_GiB, 192_GiB, 256_GiB, 288_GiB};

// The least that others have: a CUDA context alone.
constexpr Bytes kContext = 256_MiB;

// The smallest usual size with that room; 0 = there is none.
Bytes card_with(Bytes room) {
    const auto found =
        std::ranges::find_if(kCards, [room](Bytes card) { return room + kContext <= card; });
    return found == kCards.end() ? 0 : *found;
}

}  // namespace

RecordedCard recorded_card(const DeviceRecord& record, Bytes total) {
    RecordedCard card{.total = total};
    Bytes reserved = 0;
    for (const SeedSegment& seed : record.seeds)
        reserved += seed.range.size;
    Bytes most_reserved = reserved;
    for (const RecordedStep& step : record.steps) {
        const TraceEvent& event = step.event;
        if (event.kind == EventKind::segment_alloc || event.kind == EventKind::segment_map) {
            reserved += event.size;
            most_reserved = std::max(most_reserved, reserved);
        } else if (is_release(event.kind)) {
            reserved -= std::min(reserved, event.size);
        } else if (event.kind == EventKind::out_of_memory && event.address != 0) {
            // A file without the figure has 0 there; a card is never that full.
            const Bytes free = event.address;
            const Bytes room = reserved + free;
            card.most_room = std::max(card.most_room, room);
            if (card.room != 0 && room >= card.room)
                continue;
            card.room = room;
            card.event = step.index;
            card.reserved = reserved;
            card.free = free;
        }
    }
    if (card.room != 0)
        card.room = std::max(card.room, most_reserved);
    return card;
}

Bytes outside(const RecordedCard& card, Bytes memory) {
    if (card.room == 0)
        return 0;
    Bytes total = card.total != 0 ? card.total : card_with(card.room);
    if (memory > card.room && memory <= total && memory >= total / 8 * 7)
        total = memory;
    return total > card.room ? total - card.room : 0;
}

std::string room_text(const RecordedCard& card) {
    return fmt::format("{} reserved and {} free when it ran out of memory",
                       format_bytes(card.reserved), format_bytes(card.free));
}

}  // namespace tidemark
