// open_segments: births and deaths of segments, by their addresses.
#include "replay/timeline/open_segments.h"

#include <algorithm>
#include <limits>

#include "replay/timeline/history_columns.h"

namespace tidemark {
namespace {

// The last byte of a range that isn't empty.
std::uint64_t last_of(const Segment& segment) {
    const std::uint64_t begin = to_integer(segment.begin);
    return begin + std::min(segment.size - 1, std::numeric_limits<std::uint64_t>::max() - begin);
}

Segment part(const Segment& whole, std::uint64_t first, std::uint64_t last, EventIndex born) {
    Segment segment = whole;
    if (segment.kind == SegmentKind::view)
        segment.home = segment.home + (first - to_integer(whole.begin));
    segment.begin = Address{first};
    segment.size = last - first + 1;
    segment.born = born;
    segment.died = kNever;
    return segment;
}

// Pages, which can no longer be distinguished once they are joined.
bool is_paged(SegmentKind kind) {
    return kind == SegmentKind::mapping || kind == SegmentKind::view;
}

}  // namespace

Result<void> OpenSegments::change(MappedColumn<Segment>& segments, const Segment& change,
                                  bool begins) {
    // Pages of no bytes: nothing that is unmapped would ever end them.
    if (is_paged(change.kind) && change.size == 0)
        return {};
    return begins ? begin(segments, change) : end(segments, change);
}

Result<void> OpenSegments::begin(MappedColumn<Segment>& segments, const Segment& segment) {
    const Key key{segment.device, segment.kind, to_integer(segment.begin)};
    if (const std::size_t count = segments.pushed();
        is_paged(segment.kind) && count > segments.size()) {
        Segment& last = segments.at(count - 1);
        if (last.kind == segment.kind && last.device == segment.device &&
            last.stream == segment.stream && last.born == segment.born && last.died == kNever &&
            last.page == segment.page && to_integer(last.begin) + last.size == key.begin &&
            (segment.kind != SegmentKind::view || last.home + last.size == segment.home)) {
            last.size += segment.size;
            return {};
        }
    }
    TM_TRY(segments.push(segment));
    alive_[key] = static_cast<SegmentIndex>(segments.pushed() - 1);
    return {};
}

// The start of a whole segment or reservation identifies it. Of mappings, every part within the
// range goes.
Result<void> OpenSegments::end(MappedColumn<Segment>& segments, const Segment& range) {
    const Key key{range.device, range.kind, to_integer(range.begin)};
    if (!is_paged(range.kind)) {
        if (const auto found = alive_.find(key); found != alive_.end()) {
            set_shared(segments.at(found->second).died, range.born);
            alive_.erase(found);
        }
        return {};
    }
    const std::uint64_t last = last_of(range);
    auto next = alive_.upper_bound(key);
    if (next != alive_.begin())
        --next;
    while (next != alive_.end() && (next->first.device != key.device ||
                                    next->first.kind != key.kind || next->first.begin <= last)) {
        if (next->first > Key{key.device, key.kind, last})
            break;
        const SegmentIndex index = next->second;
        const Segment mapped = segments.at(index);
        if (next->first.device != key.device || next->first.kind != key.kind || mapped.size == 0 ||
            last_of(mapped) < key.begin) {
            ++next;
            continue;
        }
        set_shared(segments.at(index).died, range.born);
        next = alive_.erase(next);
        const std::uint64_t first_mapped = to_integer(mapped.begin);
        const std::uint64_t last_mapped = last_of(mapped);
        if (first_mapped < key.begin)
            TM_TRY(begin(segments, part(mapped, first_mapped, key.begin - 1, range.born)));
        if (last_mapped > last)
            TM_TRY(begin(segments, part(mapped, last + 1, last_mapped, range.born)));
    }
    return {};
}

}  // namespace tidemark
