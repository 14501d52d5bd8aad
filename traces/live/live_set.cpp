// Follows allocations, segments and ranges.
#include "traces/live/live_set.h"

#include <algorithm>
#include <cstring>

#include "traces/model/event.h"

namespace tidemark::live {
namespace {

// The name of a range, defined again.
void append_string(std::vector<Record>& slots, const Record& range, std::string_view text) {
    const std::size_t at = slots.size();
    slots.push_back({.sequence = range.sequence,
                     .time = range.time,
                     .size = text.size(),
                     .site = static_cast<std::uint32_t>(range.extra),
                     .kind = RecordKind::string});
    slots.resize(at + 1 + static_cast<std::size_t>(payload_slots(slots[at])));
    std::memcpy(static_cast<void*>(&slots[at + 1]), text.data(), text.size());
}

}  // namespace

void LiveSet::add(std::span<const Record> slots) {
    constexpr std::size_t kAhead = 12;
    for (std::size_t at = 0; at < slots.size();) {
        const Record& record = slots[at];
        if (at + kAhead < slots.size())
            block_slots_.prefetch(key(slots[at + kAhead]));
        const std::size_t length = 1 + static_cast<std::size_t>(payload_slots(record));
        if (is_name(record.kind))
            add_name(slots.subspan(at, length));
        else
            add_event(record);
        at += length;
    }
}

void LiveSet::add_event(const Record& record) {
    switch (record.kind) {
        case RecordKind::allocate:
        case RecordKind::live_block:
        case RecordKind::live_retired:
            return allocate(record);
        case RecordKind::free:
        case RecordKind::free_completed:
            return free(record);
        case RecordKind::free_requested:
            return retire(record);
        case RecordKind::live_segment:
        case RecordKind::live_mapping:
        case RecordKind::segment_alloc:
        case RecordKind::segment_free:
        case RecordKind::map:
        case RecordKind::unmap:
            return change_segment(record);
        case RecordKind::range_begin:
            return begin_range(record);
        case RecordKind::range_end:
            return end_range(record);
        default:
            return;
    }
}

void LiveSet::add_name(std::span<const Record> slots) {
    const Record& record = slots.front();
    if (is_passing(record)) {
        passing_names_[record.site].assign(slots.begin(), slots.end());
        return;
    }
    if (record.kind == RecordKind::string)
        strings_[record.site] = names_.size();
    names_.insert(names_.end(), slots.begin(), slots.end());
}

// The text: each ring has its own id for it.
std::string LiveSet::name_of(const Record& range) const {
    const Record* slots = nullptr;
    const auto id = static_cast<std::uint32_t>(range.extra);
    if (const auto passing = passing_names_.find(id); passing != passing_names_.end())
        slots = passing->second.data();
    else if (const auto known = strings_.find(id); known != strings_.end())
        slots = &names_[known->second];
    return slots == nullptr ? ""
                            : std::string(reinterpret_cast<const char*>(slots + 1),
                                          static_cast<std::size_t>(slots->size));
}

void LiveSet::begin_range(const Record& record) {
    if (ranges_.size() == kMostOpenRanges)
        ranges_.erase(ranges_.begin());
    ranges_.push_back({record, name_of(record)});
}

void LiveSet::end_range(const Record& record) {
    const std::string name = name_of(record);
    const auto found = std::find_if(ranges_.rbegin(), ranges_.rend(),
                                    [&](const OpenRange& range) { return range.name == name; });
    if (found != ranges_.rend())
        ranges_.erase(std::next(found).base());
}

void LiveSet::allocate(const Record& record) {
    const std::uint32_t slot = slots_.take();
    if (slot == blocks_.size())
        blocks_.emplace_back();
    blocks_[slot] = record;
    // A free was lost if another block is there already.
    const std::uint32_t before = block_slots_.exchange(key(record), slot);
    if (before != kNoSlot) {
        blocks_[before].kind = RecordKind::none;
        slots_.give_back(before);
    }
}

void LiveSet::free(const Record& record) {
    const std::uint32_t slot = block_slots_.erase(key(record));
    if (slot == kNoSlot)
        return;
    blocks_[slot].kind = RecordKind::none;
    slots_.give_back(slot);
}

// It keeps its bytes until the device has finished with them.
void LiveSet::retire(const Record& record) {
    const std::uint32_t slot = block_slots_.find(key(record));
    if (slot != kNoSlot)
        blocks_[slot].kind = RecordKind::live_retired;
}

void LiveSet::change_segment(const Record& record) {
    const std::pair location{record.device, record.address};
    switch (record.kind) {
        case RecordKind::segment_alloc:
        case RecordKind::live_segment:
            segments_[location] = record;
            return;
        case RecordKind::segment_free:
            segments_.erase(location);
            return;
        case RecordKind::map:
        case RecordKind::live_mapping:
            mappings_[location] = record;
            return;
        default:
            return cut_mappings(record);
    }
}

// An unmapping may take several mappings at once, or parts of them.
void LiveSet::cut_mappings(const Record& record) {
    const std::uint64_t end = record.address + std::max<std::uint64_t>(record.size, 1);
    auto at = mappings_.lower_bound({record.device, record.address});
    if (at != mappings_.begin()) {
        const auto before = std::prev(at);
        Record& kept = before->second;
        if (kept.device == record.device && kept.address + kept.size > record.address) {
            Record rest = kept;
            kept.size = record.address - kept.address;
            rest.size = rest.address + rest.size - record.address;
            rest.address = record.address;
            at = mappings_.emplace_hint(at, std::pair{rest.device, rest.address}, rest);
        }
    }
    while (at != mappings_.end() && at->first.first == record.device && at->first.second < end) {
        Record rest = at->second;
        at = mappings_.erase(at);
        if (record.size != 0 && rest.address + rest.size > end) {
            rest.size = rest.address + rest.size - end;
            rest.address = end;
            at = mappings_.emplace_hint(at, std::pair{rest.device, rest.address}, rest);
        }
    }
}

std::vector<Record> LiveSet::snapshot() const {
    std::vector<Record> all = names_;
    const auto put = [&all](Record record, RecordKind kind) {
        record.kind = kind;
        all.push_back(record);
    };
    for (const auto& [location, record] : segments_)
        put(record, RecordKind::live_segment);
    for (const auto& [location, record] : mappings_)
        put(record, RecordKind::live_mapping);
    std::vector<Record> blocks;
    std::copy_if(blocks_.begin(), blocks_.end(), std::back_inserter(blocks),
                 [](const Record& block) { return block.kind != RecordKind::none; });
    std::sort(blocks.begin(), blocks.end(),
              [](const Record& a, const Record& b) { return a.sequence < b.sequence; });
    for (const Record& block : blocks)
        put(block, block.kind == RecordKind::live_retired ? RecordKind::live_retired
                                                          : RecordKind::live_block);
    for (const OpenRange& range : ranges_) {
        if (passing_names_.contains(static_cast<std::uint32_t>(range.record.extra)))
            append_string(all, range.record, range.name);
        put(range.record, RecordKind::live_range);
    }
    for (const auto& [id, slots] : passing_names_)
        all.insert(all.end(), slots.begin(), slots.end());
    return all;
}

}  // namespace tidemark::live
