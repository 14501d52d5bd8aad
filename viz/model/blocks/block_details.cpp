// The facts about a block, as text.
#include "viz/model/blocks/block_details.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/timeline/view_homes.h"
#include "viz/model/blocks/site_names.h"

namespace tidemark::viz {
namespace {

constexpr const char* kNobody = "no block had these bytes";
constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();

// Addresses without wrapping.
std::uint64_t end_of(Address begin, Bytes size) {
    const std::uint64_t from = to_integer(begin);
    return from + std::min<std::uint64_t>(size, kTop - from);
}

bool has_times(const History& history) {
    const std::size_t events = history.counts().events;
    return events > 0 && history.time(static_cast<EventIndex>(events - 1)) > 0;
}

// The piece of memory, or of reserved addresses, that holds a block after `event`. Second mappings
// that exist then go to `views`.
std::optional<Segment> segment_of(const History& history, const Block& block, std::uint16_t device,
                                  EventIndex event, ViewHomes& views, const Cancelled& cancelled) {
    std::optional<Segment> found;
    const std::size_t count = history.counts().segments;
    for (std::size_t i = 0; i < count && !cancelled; ++i) {
        const Segment segment = history.segment(static_cast<SegmentIndex>(i));
        if (segment.born > event)
            break;
        if (segment.kind == SegmentKind::view && segment.died > event)
            views.begin(segment);
        const bool holds = segment.died > event && segment.device == device &&
                           segment.begin <= block.address &&
                           end_of(segment.begin, segment.size) > to_integer(block.address);
        // Pages are inside reservations: the smaller piece says more, the larger one has the
        // others.
        if (holds && (!found || segment.size > found->size))
            found = segment;
    }
    return found;
}

class DetailsBuilder {
  public:
    DetailsBuilder(const History& history, BlockIndex index, EventIndex at,
                   const Cancelled& cancelled)
        : history_(history),
          cancelled_(cancelled),
          names_(history),
          block_(history.block(index)),
          site_(history.site(block_.site)) {
        details_.block = index;
        const bool there = block_.born <= at && at < block_.reused;
        details_.at = there ? at : block_.born;
    }

    BlockDetails build() {
        details_.title =
            fmt::format("{} at {:#x}", format_bytes(block_.size), to_integer(block_.address));
        add_size();
        add_life();
        add_site();
        add_neighbours_in_time();
        add_neighbours_in_space();
        details_.frames = names_.frames(site_.stack);
        return std::move(details_);
    }

  private:
    void add(std::string label, std::string value) {
        details_.facts.emplace_back(std::move(label), std::move(value));
    }

    void add_size() {
        add("Size", fmt::format("{} ({} B)", format_bytes(block_.size), format_count(block_.size)));
        const Bytes more = block_.size - std::min(block_.size, block_.requested);
        if (more == 0)
            add("Requested", "exactly this size");
        else
            add("Requested",
                fmt::format("{}, rounded up by {} ({:.1f} %)", format_bytes(block_.requested),
                            format_bytes(more),
                            100.0 * static_cast<double>(more) / static_cast<double>(block_.size)));
        add("Address", fmt::format("{:#x} \u2013 {:#x}", to_integer(block_.address),
                                   end_of(block_.address, block_.size)));
    }

    void add_life() {
        add("Allocated", moment_text(history_, block_.born));
        const bool ends = block_.freed != kNever;
        if (!ends) {
            add("Freed", history_.complete() ? "not in this run" : "not yet");
            return;
        }
        add("Freed", moment_text(history_, block_.freed));
        add("Lifetime", stretch_text(history_, block_.born, block_.freed));
        if (block_.reused == kNever)
            add("Pending free", "until the end of the run");
        else if (block_.reused > block_.freed)
            add("Pending free",
                stretch_text(history_, block_.freed, block_.reused) + " until the device finished");
    }

    void add_site() {
        if (std::string tag = names_.tag(site_); !tag.empty())
            add("Tag", std::move(tag));
        if (const std::string& call_site = names_.call_site(site_.stack); !call_site.empty())
            add("Call site", call_site);
        add("Stream", names_.stream(site_.stream));
        if (site_.pool != PoolId::default_pool)
            add("Pool", names_.pool(site_.pool));
        if (history_.devices().size() > 1 || site_.device > 0)
            add("Device", names_.device(site_.device));
    }

    std::string brief(BlockIndex index) {
        const Block other = history_.block(index);
        const std::string name = brief_call_site(names_.name(history_.site(other.site)));
        return fmt::format("{}, {}", format_bytes(other.size), name);
    }

    void add_neighbours_in_time() {
        if (cancelled_)
            return;
        const BlockIndex before = details_.before = history_.before(details_.block);
        add("Before it", before == kNoBlock
                             ? kNobody
                             : brief(before) + gap(history_.block(before).reused, block_.born));
        const BlockIndex after = details_.after = history_.after(details_.block);
        add("After it", after == kNoBlock
                            ? kNobody
                            : brief(after) + gap(block_.reused, history_.block(after).born));
    }

    std::string gap(EventIndex from, EventIndex to) const {
        if (from == kNever || from > to)
            return {};
        return ", free for " + stretch_text(history_, from, to);
    }

    void add_neighbours_in_space() {
        const std::optional<Segment> segment =
            segment_of(history_, block_, site_.device, details_.at, views_, cancelled_);
        if (const Segment* const view = views_.at(site_.device, block_.address)) {
            add("Segment", fmt::format("second mapping of memory at {:#x}",
                                       to_integer(view->home + (block_.address - view->begin))));
            return;  // its neighbours count elsewhere
        }
        const std::uint64_t low = segment ? to_integer(segment->begin) : 0;
        const std::uint64_t high = segment ? end_of(segment->begin, segment->size) : kTop;
        find_sides(low, high);
        if (segment)
            add("Segment", fmt::format("{} at {:#x}", format_bytes(segment->size),
                                       to_integer(segment->begin)));
        if (details_.left != kNoBlock)
            add("Left of it", side(gap_left_, details_.left));
        else if (segment)
            add("Left of it", edge(gap_left_));
        if (details_.right != kNoBlock)
            add("Right of it", side(gap_right_, details_.right));
        else if (segment)
            add("Right of it", edge(gap_right_));
    }

    // The live blocks next to it within [low, high).
    void find_sides(std::uint64_t low, std::uint64_t high) {
        const std::uint64_t begin = to_integer(block_.address);
        const std::uint64_t end = end_of(block_.address, block_.size);
        std::uint64_t nearest_left = low;
        std::uint64_t nearest_right = high;
        history_.for_each_live(details_.at, [&](BlockIndex index) {
            if (cancelled_ || index == details_.block)
                return;
            const Block other = history_.block(index);
            if (history_.site(other.site).device != site_.device)
                return;
            views_.for_each_home(site_.device, {other.address, other.size}, [&](Range part) {
                const std::uint64_t from = to_integer(part.begin);
                const std::uint64_t to = end_of(part.begin, part.size);
                if (from >= low && from < begin && to > nearest_left) {
                    nearest_left = to;
                    details_.left = index;
                } else if (from >= end && from < nearest_right) {
                    nearest_right = from;
                    details_.right = index;
                }
            });
        });
        gap_left_ = begin - std::min(begin, nearest_left);
        gap_right_ = nearest_right - std::min(nearest_right, end);
    }

    std::string side(Bytes gap, BlockIndex index) {
        if (gap == 0)
            return brief(index);
        return fmt::format("{} free, then {}", format_bytes(gap), brief(index));
    }

    static std::string edge(Bytes gap) {
        if (gap == 0)
            return "the segment's edge";
        return fmt::format("{} free, then the segment's edge", format_bytes(gap));
    }

    const History& history_;
    const Cancelled& cancelled_;
    SiteNames names_;
    Block block_;
    Site site_;
    ViewHomes views_;
    Bytes gap_left_ = 0;
    Bytes gap_right_ = 0;
    BlockDetails details_;
};

}  // namespace

BlockDetails block_details(const History& history, BlockIndex block, EventIndex at,
                           const Cancelled& cancelled) {
    if (block >= history.counts().blocks)
        return {};
    return DetailsBuilder(history, block, at, cancelled).build();
}

std::string to_text(const BlockDetails& details) {
    std::string text = details.title + "\n";
    for (const auto& [label, value] : details.facts)
        text += fmt::format("{:<14}{}\n", label, value);
    if (!details.frames.empty())
        text += "Stack, innermost first:\n";
    for (const std::string& frame : details.frames)
        text += "  " + frame + "\n";
    return text;
}

std::string stretch_text(const History& history, EventIndex from, EventIndex to) {
    const std::string count = format_counted(to - std::min(from, to), "event");
    if (!has_times(history))
        return count;
    return fmt::format("{}, {}", format_duration(history.time(to) - history.time(from)), count);
}

std::string moment_text(const History& history, EventIndex event) {
    const std::string number = fmt::format("event {}", format_count(event));
    if (!has_times(history))
        return number;
    return fmt::format("{}, {}", number, format_duration(history.time(event)));
}

}  // namespace tidemark::viz
