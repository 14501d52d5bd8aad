// Counting frees by their tag.
#include "replay/analysis/trace/tagged_frees.h"

#include <vector>

namespace tidemark {

Result<TaggedFrees> tagged_frees(const Trace& trace, std::string_view tag) {
    const StringTable& strings = trace.info().strings;
    const auto cursor = trace.cursor();
    std::vector<Bytes> sizes(trace.info().slot_count);
    TaggedFrees found;
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return found;
        for (std::size_t i = 0; i < batch.count; ++i) {
            const std::uint32_t slot = batch.slot[i];
            if (slot >= sizes.size())
                continue;
            if (batch.kind[i] == EventKind::allocate) {
                sizes[slot] = batch.size[i];
            } else if (batch.kind[i] == EventKind::free && batch.tag[i] < strings.size() &&
                       strings[batch.tag[i]] == tag) {
                ++found.count;
                found.bytes += sizes[slot];
            }
        }
    }
}

}  // namespace tidemark
