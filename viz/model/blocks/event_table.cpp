// Rows of events.
#include "viz/model/blocks/event_table.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/site_index.h"

namespace tidemark::viz {
namespace {

// One pass: a block is looked at when it is allocated; each of its events then costs one bit.
void find_rows(const History& history, const Filter& filter, RankedBits& rows,
               const Cancelled& cancelled) {
    const BlockFilter blocks(history, filter, cancelled);
    std::vector<bool> passes(history.counts().blocks);
    std::size_t known = 0;  // blocks that have been looked at
    for (std::size_t event = 0; event < rows.size() && !cancelled;) {
        const std::size_t end = std::min(rows.size(), event + RankedBits::kStride);
        for (; event < end; ++event) {
            const BlockIndex block = history.block_at(static_cast<EventIndex>(event));
            if (block == kNoBlock || block >= passes.size())
                continue;
            for (; known <= block; ++known)
                passes[known] = blocks.lets_through(history.block(static_cast<BlockIndex>(known)));
            if (passes[block])
                rows.add(event);
        }
        rows.publish(end);
    }
}

}  // namespace

void EventTable::ask(const std::shared_ptr<const History>& history, const Filter& filter) {
    job_.take();
    const bool same = history == history_ && filter == filter_;
    if (same && (bits_ == nullptr || job_.running() ||
                 !bits_->outgrown(history->counts().events, history->complete())))
        return;
    job_.cancel();
    history_ = history;
    filter_ = filter;
    bits_.reset();
    if (history == nullptr || !hides_something(filter))
        return;
    bits_ = std::make_shared<RankedBits>(history->counts().events);
    job_.start([history, filter, bits = bits_](const Cancelled& cancelled) {
        find_rows(*history, filter, *bits, cancelled);
        return true;
    });
}

std::uint64_t EventTable::rows() const {
    if (history_ == nullptr)
        return 0;
    return bits_ != nullptr ? bits_->count() : history_->counts().events;
}

EventIndex EventTable::event(std::uint64_t row) const {
    if (bits_ == nullptr)
        return static_cast<EventIndex>(row);
    return static_cast<EventIndex>(bits_->select(static_cast<std::size_t>(row)));
}

std::uint64_t EventTable::row_from(EventIndex event) const {
    if (bits_ == nullptr)
        return std::min<std::uint64_t>(event, rows());
    return bits_->rank(event);
}

std::string_view event_kind_text(EventKind kind) {
    switch (kind) {
        case EventKind::allocate:
            return "+ allocate";
        case EventKind::free:
            return "- free";
        case EventKind::retire:
            return "- freed";
        case EventKind::finish:
            return "  finish";
        default:
            return to_text(kind);
    }
}

std::string exact_time(Nanoseconds time) {
    const std::uint64_t bits = static_cast<std::uint64_t>(time);
    const std::uint64_t total = time < 0 ? 0 - bits : bits;
    const std::uint64_t second = 1'000'000'000;
    return fmt::format("{}{}.{:03} {:03} {:03} s", time < 0 ? "-" : "",
                       format_count(total / second), total % second / 1'000'000,
                       total % 1'000'000 / 1000, total % 1000);
}

EventRow event_row(const History& history, EventIndex event, SiteNames& names) {
    EventRow row;
    row.index = format_count(event);
    row.time = exact_time(history.time(event));
    row.kind = event_kind_text(history.kind(event));
    const BlockIndex index = history.block_at(event);
    if (index == kNoBlock || index >= history.counts().blocks)
        return row;
    const Block block = history.block(index);
    const Site& site = history.site(block.site);
    row.address = fmt::format("{:#x}", to_integer(block.address));
    row.size = format_bytes(block.size);
    row.stream = names.stream(site.stream);
    row.tag = names.tag(site);
    row.call_site = names.call_site(site.stack);
    return row;
}

}  // namespace tidemark::viz
