// One walk over what lives.
#include "viz/model/blocks/owner_details.h"

#include <unordered_map>

namespace tidemark::viz {

OwnerDetails owner_details(const History& history, const OwnerQuestion& question,
                           const Cancelled& cancelled) {
    OwnerDetails details;
    details.question = question;
    std::unordered_map<std::uint32_t, Bytes> of_stack;
    history.for_each_live(question.event, [&](BlockIndex index) {
        if (cancelled || question.series->owner_of(index) != question.owner)
            return;
        const Block block = history.block(index);
        if (block.waits(question.event))
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

}  // namespace tidemark::viz
