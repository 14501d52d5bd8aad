// RingWriter: the program's end of one ring, for one thread at a time. Writing takes a sequence
// number, the time and a slot, and never waits: if the ring is full the record is dropped and
// counted, and a `lost` record reports it as soon as there is room again.
//
// A record takes its number only when it has a slot, so the only gaps in the numbers are those of a
// thread that died between the two.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "traces/live/clock.h"
#include "traces/live/wire.h"

namespace tidemark::live {

class RingWriter {
  public:
    // Room that events leave for the names that later ones need.
    static constexpr std::uint64_t kRoomForNames = 512;

    // `slots` is a power of two, at least twice kRoomForNames. Everything must outlive the writer.
    RingWriter(RingControl& control, Record* data, std::uint32_t slots,
               std::atomic<std::uint64_t>& sequence, bool steady_ticks)
        : control_(control),
          data_(data),
          mask_(slots - 1),
          capacity_(slots),
          sequence_(sequence),
          steady_ticks_(steady_ticks) {}

    // Writes `record` (its sequence is set here, and its time if it has none), or drops and counts
    // it. False: dropped. Inline, so that its fields go from registers to the slot: copying a
    // record from memory right after its fields were stored one by one makes the processor wait for
    // the stores.
    [[gnu::always_inline]] bool put(const Record& record) {
        if (head_ - tail_ + 2 > capacity_ - kRoomForNames) [[unlikely]] {
            if (!has_room(2 + kRoomForNames)) {
                drop();
                return false;
            }
        }
        if (dropped_ != reported_) [[unlikely]]
            report();
        write(record);
        publish();
        return true;
    }

    // Writes a record for each of `parts`, or drops and counts all of them. All numbers are taken
    // at once: taking a number waits for the stores before it, and so for another processor's
    // slots.
    [[gnu::always_inline]] bool put(const Record& common, std::span<const RecordPart> parts) {
        if (head_ - tail_ + parts.size() + 1 > capacity_ - kRoomForNames) [[unlikely]] {
            if (!has_room(parts.size() + 1 + kRoomForNames)) {
                drop(parts.size());
                return false;
            }
        }
        if (dropped_ != reported_) [[unlikely]]
            report();
        const std::uint64_t ticks = time_of(common);
        std::uint64_t sequence = sequence_.fetch_add(parts.size(), std::memory_order_relaxed);
        for (const RecordPart& part : parts) {
            Record& slot = next_slot();
            slot = common;
            slot.sequence = sequence++;
            slot.time = ticks;
            slot.address = part.address;
            slot.size = part.size;
            slot.device = part.device;
        }
        publish();
        return true;
    }

    static std::uint64_t slots_of(std::span<const std::byte> payload) {
        return (payload.size() + sizeof(Record) - 1) / sizeof(Record);
    }

    // Writes a name and its payload, or nothing. False: nothing.
    bool put_name(Record record, std::span<const std::byte> payload) {
        if (!has_room(1 + slots_of(payload)))
            return false;
        write(record);
        for (std::size_t at = 0; at < payload.size(); at += sizeof(Record)) {
            Record& slot = data_[head_++ & mask_];
            slot = Record{};
            std::memcpy(&slot, payload.data() + at, std::min(sizeof(Record), payload.size() - at));
        }
        publish();
        return true;
    }

    // Counts records that are not written.
    void drop(std::uint64_t count = 1) {
        control_.dropped.store(dropped_ += count, std::memory_order_relaxed);
    }

    // Reports what was dropped, if there is room.
    void report_dropped() {
        if (dropped_ != reported_ && has_room(1)) {
            report();
            publish();
        }
    }

    std::uint64_t dropped() const { return dropped_; }

  private:
    static constexpr std::uint64_t kAhead = 12;

    [[gnu::noinline]] bool has_room(std::uint64_t slots) {
        if (head_ - tail_ + slots <= capacity_)
            return true;
        tail_ = control_.tail.load(std::memory_order_acquire);
        return head_ - tail_ + slots <= capacity_;
    }

    [[gnu::always_inline]] void write(const Record& record) {
        // Taking the number waits for the stores before it, and reading the clock waits for the
        // number: this order takes a third less time than the other.
        const std::uint64_t ticks = time_of(record);
        const std::uint64_t sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
        Record& slot = next_slot();
        slot = record;
        slot.sequence = sequence;
        slot.time = ticks;
    }

    std::uint64_t time_of(const Record& record) const {
        return record.time != 0 ? record.time : ticks_now(steady_ticks_);
    }

    Record& next_slot() {
        // The slots that come next are in the cache of the recorder's processor.
        __builtin_prefetch(&data_[(head_ + 1 + kAhead) & mask_], 1);
        return data_[head_++ & mask_];
    }

    void publish() { control_.head.store(head_, std::memory_order_release); }

    [[gnu::noinline]] void report() {
        write({.size = dropped_ - reported_, .kind = RecordKind::lost});
        reported_ = dropped_;
        control_.reported.store(reported_, std::memory_order_relaxed);
    }

    RingControl& control_;
    Record* const data_;
    const std::uint64_t mask_;
    const std::uint64_t capacity_;
    std::atomic<std::uint64_t>& sequence_;
    const bool steady_ticks_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;  // as last seen
    std::uint64_t dropped_ = 0;
    std::uint64_t reported_ = 0;
};

}  // namespace tidemark::live
