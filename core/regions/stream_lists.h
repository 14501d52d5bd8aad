// StreamLists: free blocks in one list for each stream that freed some, and how a stream gets
// blocks that others freed: the rules of RMM's stream-ordered resources (its pool and its fixed
// sizes).
//
// Model: a request searches (1) the list of its stream; (2) every other list, in the order in which
// streams came, and takes from the first that has something, where the rest stays; (3) otherwise it
// moves one other list after another into its own, until that has something. A request that finds
// nothing has all lists in its own by then. Each free records its stream's event, and a stream that
// takes from another list waits for that list's event first.
//
// What RMM leaves to programs is done here: memory that is freed on another stream than those that
// use it is ordered behind them. What the device refuses to order is remembered, and ordered before
// anybody gets it.
//
// `List` has has(size, blocks), take(size, blocks), which removes, and absorb(other, number,
// blocks); Block::list of a block in it is the list's number. A value. Not thread-safe. O(1) plus
// the cost of the lists, O(streams) if a stream's own list has nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/hash_index.h"
#include "core/device/device.h"
#include "core/regions/blocks.h"

namespace tidemark {

template <class List>
class StreamLists {
  public:
    // The number of the list of `stream`, which may be empty. Numbers rise as streams come.
    std::uint32_t number_of(StreamId stream) {
        const std::uint32_t known = numbers_.find(to_integer(stream));
        if (known != HashIndex::kNothing) [[likely]]
            return known;
        const auto number = static_cast<std::uint32_t>(entries_.size());
        numbers_.insert(to_integer(stream), number);
        entries_.push_back({.stream = stream});
        return number;
    }

    // For adding blocks that need no order, and removing them.
    List& list(std::uint32_t number) {
        entries_[number].exists = true;
        return entries_[number].list;
    }

    StreamId stream(std::uint32_t number) const { return entries_[number].stream; }

    // A block of at least `size` for the stream of list `own`, which may use it at once; kNoBlock
    // if no list has one. After an error no block has been taken.
    DeviceResult<BlockId> take(std::uint32_t own, Bytes size, Blocks& blocks, Device& device) {
        if (entries_[own].late.empty()) [[likely]] {
            const BlockId id = entries_[own].list.take(size, blocks);
            if (id != kNoBlock) [[likely]]
                return id;
        } else if (entries_[own].list.has(size, blocks)) {
            TM_TRY(settle(own, device));
            return entries_[own].list.take(size, blocks);
        }
        entries_[own].exists = true;
        return take_of_others(own, size, blocks, device);
    }

    // A block that `users` used is freed on the stream of that list, where the caller puts it.
    void let_go(std::uint32_t number, StreamSet users, Device& device) {
        Entry& entry = entries_[number];
        if (!users.order_before(entry.stream, device))
            entry.late.add(users);
        note_event(entry, device);
    }

    // Streams that may have queued work that touches what is in the lists.
    StreamSet users() const {
        StreamSet all;
        for (const Entry& entry : entries_) {
            all.add(entry.stream);
            all.add(entry.late);
        }
        return all;
    }

    template <class Visit>
    void for_each(Visit visit) {
        for (Entry& entry : entries_)
            visit(entry.list);
    }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const Entry& entry : entries_)
            visit(entry.list);
    }

  private:
    struct Entry {
        StreamId stream = StreamId::default_stream;
        List list = {};
        bool exists = false;                // RMM waits for lists that exist, empty or not
        std::optional<EventId> event = {};  // of the last free
        bool unrecorded = false;            // the device refused to record that one
        StreamSet late = {};                // streams behind which this one is not yet ordered
    };

    DeviceResult<BlockId> take_of_others(std::uint32_t own, Bytes size, Blocks& blocks,
                                         Device& device) {
        for (std::uint32_t other = 0; other < entries_.size(); ++other) {
            if (other == own || !entries_[other].list.has(size, blocks))
                continue;
            TM_TRY(follow(own, other, device));
            return entries_[other].list.take(size, blocks);
        }
        for (std::uint32_t other = 0; other < entries_.size(); ++other) {
            if (other == own || !entries_[other].exists)
                continue;
            TM_TRY(follow(own, other, device));
            TM_TRY(settle(own, device));
            Entry& donor = entries_[other];
            entries_[own].list.absorb(std::exchange(donor.list, {}), own, blocks);
            donor.exists = false;
            donor.late = {};
            note_event(entries_[own], device);
            const BlockId id = entries_[own].list.take(size, blocks);
            if (id != kNoBlock)
                return id;
        }
        return kNoBlock;
    }

    // Orders the stream of `own` behind everything that touches what is in the list `other`.
    DeviceResult<void> follow(std::uint32_t own, std::uint32_t other, Device& device) {
        const Entry& donor = entries_[other];
        const StreamId stream = entries_[own].stream;
        if (donor.unrecorded)
            TM_TRY(StreamSet(donor.stream).order_before(stream, device));
        else if (donor.event)
            TM_TRY(device.wait(stream, *donor.event));
        return donor.late.order_before(stream, device);
    }

    DeviceResult<void> settle(std::uint32_t own, Device& device) {
        Entry& entry = entries_[own];
        if (entry.late.empty())
            return {};
        TM_TRY(entry.late.order_before(entry.stream, device));
        entry.late = {};
        note_event(entry, device);
        return {};
    }

    void note_event(Entry& entry, Device& device) {
        const DeviceResult<EventId> event = device.record(entry.stream);
        entry.unrecorded = !event;
        if (event)
            entry.event = *event;
    }

    std::vector<Entry> entries_;
    HashIndex numbers_;  // by stream
};

}  // namespace tidemark
