// Records become events; live blocks are kept, to start again from, and to compare snapshots with.
#include "viz/live/live_feed.h"

#include <algorithm>

#include <fmt/format.h>

#include "traces/live/live_set.h"

namespace tidemark::viz {

using live::Record;
using live::RecordKind;

namespace {

EventKind event_of(SegmentChange change) {
    switch (change) {
        case SegmentChange::segment_alloc:
            return EventKind::segment_alloc;
        case SegmentChange::segment_free:
            return EventKind::segment_free;
        case SegmentChange::map:
            return EventKind::segment_map;
        case SegmentChange::unmap:
            return EventKind::segment_unmap;
        default:
            return EventKind::snapshot;  // not an event of a trace: it happens with the last one
    }
}

// Of events of a stream: what was launched there ends with it.
bool ends_launch(RecordKind kind) {
    return kind == RecordKind::allocate || kind == RecordKind::free ||
           kind == RecordKind::free_completed || kind == RecordKind::free_requested ||
           kind == RecordKind::record_use;
}

}  // namespace

Result<std::unique_ptr<LiveFeed>> LiveFeed::create(const live::Header& header,
                                                   std::uint64_t most_events, Nanoseconds shift) {
    std::unique_ptr<LiveFeed> feed(new LiveFeed(header, most_events, shift));
    TM_TRY(feed->begin_history());
    return feed;
}

Result<void> LiveFeed::begin_history() {
    // One history may get longer than that, by what is live.
    TM_ASSIGN(builder_, HistoryBuilder::create(-1, most_events_ * 2));
    most_events_ = std::min(most_events_, builder_->history()->most_events() / 2);
    names_ = std::make_unique<live::NameTables>(builder_->strings(), builder_->stacks());
    sites_.fill({});
    streams_named_ = 0;
    pools_named_ = 0;
    reserved_ = 0;
    update_names();
    return {};
}

// A new history, which starts with what is live.
Result<void> LiveFeed::begin_anew() {
    TM_TRY(builder_->finish());
    TM_TRY(begin_history());
    for (std::size_t at = 0; at < definitions_.size();) {
        const auto length = 1 + static_cast<std::size_t>(payload_slots(definitions_[at]));
        names_->define(std::span(definitions_).subspan(at, length));
        at += length;
    }
    for (const auto& [location, held] : reservations_)
        put_memory(held.record, SegmentChange::reserve);
    for (const auto& [location, held] : segments_)
        put_memory(held.record, SegmentChange::segment_alloc);
    for (const auto& [location, held] : mappings_)
        put_memory(held.record, SegmentChange::map);
    std::vector<std::uint32_t> order;
    for (std::uint32_t slot = 0; slot < blocks_.size(); ++slot) {
        if (blocks_[slot] != kNoBlock)
            order.push_back(slot);
    }
    std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
        return begins_[a].sequence < begins_[b].sequence;
    });
    for (const std::uint32_t slot : order) {
        put_block(slot);
        if (begins_[slot].kind == RecordKind::live_retired)
            put_event(begins_[slot].time, EventKind::retire, blocks_[slot]);
    }
    for (const OpenRange& range : ranges_)
        put_event(range.record.time, EventKind::range_begin, kNoBlock,
                  builder_->strings().intern(range.name));
    return {};
}

Result<void> LiveFeed::add(const live::ChainPiece& piece) {
    // What a piece usually becomes: one unmapping may end any number of mappings.
    const std::size_t held = blocks_.size() + segments_.size() + mappings_.size() +
                             reservations_.size() + ranges_.size();
    const std::size_t most =
        piece.records.size() * 3 + (piece.snapshot || in_snapshot_ || piece.jumped ? held : 0);
    if (builder_->next_event() + most > most_events_ && builder_->next_event() > held * 2)
        TM_TRY(begin_anew());
    if (piece.jumped)
        begin_snapshot(piece.forgotten);
    if (in_snapshot_ && !piece.snapshot)
        end_snapshot();
    take(piece.records);
    update_names();
    return builder_->publish();
}

void LiveFeed::take(std::span<const Record> records) {
    constexpr std::size_t kAhead = 12;
    for (std::size_t at = 0; at < records.size();) {
        if (at + 2 * kAhead < records.size())
            slot_of_.prefetch(key(records[at + 2 * kAhead]));
        if (at + kAhead < records.size())
            look_ahead(records[at + kAhead]);
        const auto length = 1 + static_cast<std::size_t>(payload_slots(records[at]));
        const std::span<const Record> slots = records.subspan(at, length);
        if (is_name(slots.front().kind)) {
            names_->define(slots);
            if (slots.front().kind == RecordKind::site || slots.front().kind == RecordKind::stream)
                sites_.fill({});
            if (!is_passing(slots.front()))
                definitions_.insert(definitions_.end(), slots.begin(), slots.end());
        } else {
            apply(slots.front());
        }
        at += length;
    }
}

// Prefetches the block that will end soon: such blocks are anywhere in memory, and waiting for them
// takes longer than everything else. Nothing depends on it, so the bytes of a name do no harm here.
void LiveFeed::look_ahead(const Record& record) const {
    if (record.kind != RecordKind::free && record.kind != RecordKind::free_completed)
        return;
    const std::uint32_t slot = slot_of_.find(key(record));
    if (slot != kNoSlot)
        __builtin_prefetch(&builder_->columns().blocks.at(blocks_[slot]), 1);
}

void LiveFeed::begin_snapshot(std::uint64_t forgotten) {
    in_snapshot_ = true;
    counts_.forgotten += forgotten;
    pending_lost_ += forgotten;
    definitions_.clear();  // the snapshot has them all
    seen_.assign(blocks_.size(), false);
    for (OpenRange& range : ranges_)
        range.seen = false;
    for (HeldRanges* held : {&segments_, &mappings_, &reservations_}) {
        for (auto& [location, one] : *held)
            one.seen = false;
    }
}

// What the snapshot didn't name ended while nobody looked.
void LiveFeed::end_snapshot() {
    in_snapshot_ = false;
    for (std::uint32_t slot = 0; slot < blocks_.size(); ++slot) {
        if (blocks_[slot] != kNoBlock && !seen_[slot]) {
            slot_of_.erase(key(begins_[slot]));
            release(slot, latest_);
        }
    }
    seen_.clear();
    end_unseen(segments_, SegmentChange::segment_free);
    end_unseen(mappings_, SegmentChange::unmap);
    for (std::size_t i = ranges_.size(); i-- > 0;) {
        if (!ranges_[i].seen)
            end_range(latest_, std::string(ranges_[i].name));
    }
}

void LiveFeed::apply(const Record& record) {
    if (record.device >= std::max(header_.devices, 1U))
        return;
    ++counts_.records;
    latest_ = std::max(latest_, record.time);
    if (builder_->has_launches() && ends_launch(record.kind))
        builder_->end_launch(StreamId{names_->stream(record)});
    switch (record.kind) {
        case RecordKind::allocate:
            return allocate(record);
        case RecordKind::live_block:
            return restore(record);
        case RecordKind::live_retired:
            restore(record);
            return retire(record);
        case RecordKind::free:
        case RecordKind::free_completed:
            return free(record);
        case RecordKind::free_requested:
            return retire(record);
        case RecordKind::use:
            return use(record);
        case RecordKind::execution:
            return execution(record);
        case RecordKind::record_use:
            put_event(record.time, EventKind::record_use, block_of(record));
            return;
        case RecordKind::range_begin:
        case RecordKind::live_range:
            return begin_range(record);
        case RecordKind::range_end:
            return end_range(record.time, name_of(record));
        case RecordKind::refused:
        case RecordKind::trim:
        case RecordKind::mark:
        case RecordKind::lost:
        case RecordKind::end:
            return apply_notice(record);
        default:
            return change_memory(record);
    }
}

// Events about no memory.
void LiveFeed::apply_notice(const Record& record) {
    switch (record.kind) {
        case RecordKind::refused:
            if (put_event(record.time, EventKind::out_of_memory))
                builder_->add_mark({.event = builder_->next_event() - 1,
                                    .kind = MarkKind::out_of_memory,
                                    .device = record.device,
                                    .size = record.size});
            return;
        case RecordKind::trim:
            put_event(record.time, EventKind::trim);
            return;
        case RecordKind::mark:
            put_event(record.time, EventKind::mark, kNoBlock, names_->string(record.extra));
            return;
        case RecordKind::lost:
            counts_.lost += record.size;
            pending_lost_ += record.size;
            return;
        default:
            counts_.ended = true;
            counts_.died = record.extra != 0;
            if (pending_lost_ != 0)
                put_event(record.time, EventKind::mark, kNoBlock,
                          builder_->strings().intern("end"));
            return;
    }
}

void LiveFeed::allocate(const Record& record) {
    const std::uint32_t slot = slots_.take();
    if (slot == blocks_.size()) {
        blocks_.push_back(kNoBlock);
        begins_.emplace_back();
    }
    begins_[slot] = record;
    begins_[slot].kind = RecordKind::allocate;
    if (in_snapshot_) {
        seen_.resize(blocks_.size());
        seen_[slot] = true;
    }
    const std::uint32_t before = slot_of_.exchange(key(record), slot);
    if (before != kNoSlot)
        release(before, record.time);
    put_block(slot);
}

// A block of a snapshot: the known one, or one whose allocation was missed.
void LiveFeed::restore(const Record& record) {
    const std::uint32_t slot = slot_of_.find(key(record));
    if (slot != kNoSlot && begins_[slot].sequence == record.sequence) {
        if (in_snapshot_)
            seen_[slot] = true;
        return;
    }
    allocate(record);
}

void LiveFeed::free(const Record& record) {
    const std::uint32_t slot = slot_of_.erase(key(record));
    if (slot == kNoSlot) {
        ++counts_.unknown_frees;
        put_event(record.time, EventKind::free);
        return;
    }
    release(slot, record.time);
}

// The program frees it, and the device isn't done yet.
void LiveFeed::retire(const Record& record) {
    const std::uint32_t slot = slot_of_.find(key(record));
    if (slot == kNoSlot) {
        ++counts_.unknown_frees;
        put_event(record.time, EventKind::free);
        return;
    }
    if (begins_[slot].kind == RecordKind::live_retired)
        return;
    begins_[slot].kind = RecordKind::live_retired;
    put_event(record.time, EventKind::retire, blocks_[slot]);
}

void LiveFeed::release(std::uint32_t slot, std::uint64_t time) {
    slots_.give_back(slot);
    const bool retired = begins_[slot].kind == RecordKind::live_retired;
    put_event(time, retired ? EventKind::finish : EventKind::free,
              std::exchange(blocks_[slot], kNoBlock));
}

BlockIndex LiveFeed::block_of(const Record& record) const {
    const std::uint32_t slot = slot_of_.find(key(record));
    return slot == kNoSlot ? kNoBlock : blocks_[slot];
}

void LiveFeed::use(const Record& record) {
    if (!ready_for_event())
        return;
    builder_->use({.time = shifted(record.time),
                   .block = block_of(record),
                   .stream = StreamId{names_->stream(record)},
                   .launch = static_cast<std::uint32_t>(record.extra),
                   .tag = names_->site(record.site).tag,
                   .flags = static_cast<std::uint8_t>(record.size)});
}

void LiveFeed::execution(const Record& record) {
    if (!ready_for_event())
        return;
    builder_->execution({.time = shifted(record.time),
                         .begin = shifted(record.address),
                         .length = static_cast<Nanoseconds>(std::min(record.size, kMostTime)),
                         .stream = StreamId{names_->stream(record)},
                         .launch = static_cast<std::uint32_t>(record.extra),
                         .tag = names_->site(record.site).tag});
}

void LiveFeed::begin_range(const Record& record) {
    const auto same = [&](const OpenRange& range) {
        return range.record.sequence == record.sequence;
    };
    const auto known = std::find_if(ranges_.begin(), ranges_.end(), same);
    if (known != ranges_.end()) {
        known->seen = true;
        return;
    }
    if (ranges_.size() == live::kMostOpenRanges)
        ranges_.erase(ranges_.begin());
    ranges_.push_back({record, name_of(record)});
    put_event(record.time, EventKind::range_begin, kNoBlock, names_->string(record.extra));
}

void LiveFeed::end_range(std::uint64_t time, const std::string& name) {
    const auto found = std::find_if(ranges_.rbegin(), ranges_.rend(),
                                    [&](const OpenRange& range) { return range.name == name; });
    if (found != ranges_.rend())
        ranges_.erase(std::next(found).base());
    put_event(time, EventKind::range_end, kNoBlock, builder_->strings().intern(name));
}

std::string LiveFeed::name_of(const Record& range) const {
    return std::string(builder_->strings()[names_->string(range.extra)]);
}

void LiveFeed::change_memory(const Record& record) {
    switch (record.kind) {
        case RecordKind::segment_alloc:
        case RecordKind::live_segment:
            return begin_memory(segments_, record, SegmentChange::segment_alloc);
        case RecordKind::segment_free:
            return end_memory(segments_, record, SegmentChange::segment_free);
        case RecordKind::map:
        case RecordKind::live_mapping:
            return begin_memory(mappings_, record, SegmentChange::map);
        case RecordKind::unmap:
            return end_memory(mappings_, record, SegmentChange::unmap);
        case RecordKind::reserve:
            return begin_memory(reservations_, record, SegmentChange::reserve);
        case RecordKind::unreserve:
            return end_memory(reservations_, record, SegmentChange::unreserve);
        default:
            return;  // of a later minor version: nothing that is known depends on it
    }
}

void LiveFeed::begin_memory(HeldRanges& held, const Record& record, SegmentChange change) {
    const auto [found, is_new] = held.try_emplace({record.device, record.address});
    const bool known = !is_new && found->second.record.sequence == record.sequence;
    found->second.seen = true;
    if (known)
        return;
    found->second.record = record;
    put_memory(record, change);
}

// An unmapping may end several mappings; of a segment the device isn't always names the size.
void LiveFeed::end_memory(HeldRanges& held, const Record& record, SegmentChange change) {
    auto at = held.lower_bound({record.device, record.address});
    const std::uint64_t end = record.address + std::max<Bytes>(record.size, 1);
    if (change == SegmentChange::unmap && at != held.begin()) {
        const Record& before = std::prev(at)->second.record;
        if (before.device == record.device && before.address + before.size > record.address)
            --at;
    }
    while (at != held.end() && at->first.first == record.device && at->first.second < end) {
        Record gone = at->second.record;
        gone.time = record.time;
        at = held.erase(at);
        put_memory(gone, change);
        if (change == SegmentChange::unmap && record.size != 0)
            keep_rest(held, gone, {Address{record.address}, record.size});
    }
}

// What an unmapping leaves of a mapping, before and behind it.
void LiveFeed::keep_rest(HeldRanges& held, const Record& mapping, Range unmapped) {
    const std::uint64_t begin = to_integer(unmapped.begin);
    const std::uint64_t end = begin + unmapped.size;
    Record rest = mapping;
    if (mapping.address < begin) {
        rest.size = begin - mapping.address;
        begin_memory(held, rest, SegmentChange::map);
    }
    if (mapping.address + mapping.size > end) {
        rest.address = end;
        rest.size = mapping.address + mapping.size - end;
        begin_memory(held, rest, SegmentChange::map);
    }
}

void LiveFeed::end_unseen(HeldRanges& held, SegmentChange change) {
    for (auto at = held.begin(); at != held.end();) {
        if (at->second.seen) {
            ++at;
            continue;
        }
        Record gone = at->second.record;
        gone.time = latest_;
        at = held.erase(at);
        put_memory(gone, change);
    }
}

void LiveFeed::put_memory(const Record& record, SegmentChange change) {
    const bool begins = change == SegmentChange::segment_alloc || change == SegmentChange::map;
    const EventKind kind = event_of(change);
    const bool is_paged = change == SegmentChange::map || change == SegmentChange::unmap;
    const Address home{is_paged ? record.extra : 0};  // elsewhere, for a second mapping
    if (kind != EventKind::snapshot && home == Address::null)
        reserved_ = begins ? reserved_ + record.size : reserved_ - record.size;
    builder_->set_reserved(reserved_);
    const bool has_event = kind != EventKind::snapshot || builder_->next_event() == 0;
    if (has_event && !put_event(record.time, kind))
        return;
    builder_->change_segment(record.device, change, {Address{record.address}, record.size},
                             StreamId{names_->stream(record)}, builder_->next_event() - 1, home);
}

void LiveFeed::put_block(std::uint32_t slot) {
    const Record& record = begins_[slot];
    if (!ready_for_event())
        return;
    blocks_[slot] = builder_->allocate(shifted(record.time), {.address = Address{record.address},
                                                              .size = record.extra,
                                                              .requested = record.size,
                                                              .site = site_of(record)});
}

// Most allocations are those of few sites.
std::uint32_t LiveFeed::site_of(const Record& record) {
    const std::uint64_t key = std::uint64_t{record.site} << 32U |
                              std::uint64_t{record.stream} << 8U | std::uint64_t{record.device};
    KnownSite& known = sites_[key * 0x9e3779b97f4a7c15U >> 56U];
    if (known.key == key) [[likely]]
        return known.site;
    const live::Named named = names_->site(record.site);
    known = {key, builder_->site({.stream = StreamId{names_->stream(record)},
                                  .pool = PoolId{named.pool},
                                  .stack = named.stack,
                                  .tag = named.tag,
                                  .device = record.device})};
    return known.site;
}

bool LiveFeed::put_event(std::uint64_t time, EventKind kind, BlockIndex block, std::uint32_t name) {
    if (!ready_for_event())
        return false;
    builder_->add({.time = shifted(time), .kind = kind, .block = block, .name = name});
    return true;
}

// Whether there is room for an event (where not, publishing says why); the first one behind what is
// missing is marked.
bool LiveFeed::ready_for_event() {
    if (!builder_->has_room()) [[unlikely]]
        return false;
    if (pending_lost_ != 0) [[unlikely]]
        builder_->add_mark({.event = builder_->next_event(),
                            .kind = MarkKind::lost,
                            .size = std::exchange(pending_lost_, 0)});
    return true;
}

void LiveFeed::update_names() {
    if (names_->streams().size() == streams_named_ && names_->pools().size() == pools_named_)
        return;
    streams_named_ = names_->streams().size();
    pools_named_ = names_->pools().size();
    HistoryNames names;
    names.streams = names_->streams();
    names.pools.clear();
    for (const std::uint32_t pool : names_->pools())
        names.pools.push_back(pool == 0 ? "default" : fmt::format("pool {}", pool));
    names.devices.clear();
    for (std::uint32_t device = 0; device < std::max(header_.devices, 1U); ++device) {
        names.devices.push_back(live::text_of(header_.device[device].name));
        names.capacity += header_.device[device].capacity;
    }
    builder_->set_names(std::move(names));
}

}  // namespace tidemark::viz
