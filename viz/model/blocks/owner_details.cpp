// One walk over the live blocks.
#include "viz/model/blocks/owner_details.h"

#include <unordered_map>

namespace tidemark::viz {

OwnerDetails sum_live(const History& history, EventIndex event,
                      const std::function<bool(BlockIndex)>& counts, const Cancelled& cancelled) {
    OwnerDetails details;
    std::unordered_map<std::uint32_t, Bytes> of_stack;
    history.for_each_live(event, [&](BlockIndex index) {
        if (cancelled || !counts(index))
            return;
        const Block block = history.block(index);
        if (block.waits(event))
            return;
        details.bytes += block.size;
        ++details.blocks;
        const std::uint32_t stack = history.site(block.site).stack;
        Bytes& bytes = of_stack[stack];
        bytes += block.size;
        if (bytes > details.of_stack) {
            details.of_stack = bytes;
            details.stack = stack;
        }
    });
    return details;
}

OwnerDetails owner_details(const History& history, const OwnerQuestion& question,
                           const Cancelled& cancelled) {
    OwnerDetails details = sum_live(
        history, question.event,
        [&](BlockIndex index) { return question.series->owner_of(index) == question.owner; },
        cancelled);
    details.question = question;
    return details;
}

}  // namespace tidemark::viz
