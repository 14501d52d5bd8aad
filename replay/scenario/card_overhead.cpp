// The recorded card, if it is known.
#include "replay/scenario/card_overhead.h"

#include "replay/record/explained_record.h"

namespace tidemark {

Bytes card_overhead(const Trace& trace, Bytes memory) {
    const ExplainedRecord* const record = explained_record(trace);
    const RecordedDevice* const device = record != nullptr ? record->fullest_card(memory) : nullptr;
    if (device == nullptr)
        return kMeasuredOverhead;
    const Bytes others = outside(device->card, memory);
    // On a card smaller than that others aren't the same.
    return memory != 0 && others >= memory ? kMeasuredOverhead : others;
}

}  // namespace tidemark
