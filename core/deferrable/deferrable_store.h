// DeferrableStore: GPU memory that may be elsewhere while nobody uses it. Each buffer has one
// address for its lifetime; its bytes are on the GPU while it is pinned, and anywhere in the tiers
// otherwise. Touching an address that is not pinned may fault, as with freed memory.
//
//     DeferrableStore memory(tiers, gpu, reserve, moves, {});
//     Deferrable weights = *memory.create(1_GiB, tag);
//     {
//         DeferrablePin pin = *memory.pin(weights);      // brought back if it is away
//         launch(kernel, s, pin.address());
//         pin.release(s);                                // away after what is queued on s now
//     }
//     memory.defer(weights);                             // or when others need the room
//
// The TieredStore (core/tiers) decides which buffers leave, what is copied and what waits; this
// class names buffers, waits with limits, and reports what happened (deferrable_events.h).
//
// Thread-safe. Pinning a buffer that is on the GPU takes no lock. No lock is held while anything
// waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/deferrable/deferrable_events.h"
#include "core/tiers/store/pin_desk.h"

namespace tidemark {

class DeferrableStore;

enum class DeferrableState : std::uint8_t {
    resident,
    pinned,
    deferring,
    deferred,
    retrieving,
    freed,
};

struct DeferrableInfo {
    std::uint64_t id = 0;
    Bytes size = 0;
    std::uint64_t tag = 0;
    Address address = Address::null;
    DeferrableState state = DeferrableState::freed;
    std::optional<SpaceId> residence;  // the fastest space that has its bytes
    std::uint32_t pins = 0;
    std::uint64_t uses = 0;  // pins ever
};

// What a handle refers to.
struct DeferrableEntry {
    std::uint64_t id = 0;  // never reused in this process
    Bytes size = 0;        // as requested; memory has whole pages
    std::uint64_t tag = 0;
    std::shared_ptr<const AddressRange> range;
    std::shared_ptr<Gate> gate;
    BufferRef buffer;
    DeferrableStore* store = nullptr;
    std::atomic<bool> freed = false;
    std::atomic<BufferEvent::Kind> last = BufferEvent::Kind::returned;

    ~DeferrableEntry();
};

// A buffer; copies are the same one. It is freed when its last handle ends. All must end before the
// store.
class Deferrable {
  public:
    Deferrable() = default;  // none

    explicit operator bool() const { return entry_ != nullptr; }

    std::uint64_t id() const { return entry_->id; }

    Bytes size() const { return entry_->size; }

    std::uint64_t tag() const { return entry_->tag; }

    BufferRef buffer() const { return entry_->buffer; }  // of the tiers

    friend bool operator==(const Deferrable&, const Deferrable&) = default;

  private:
    friend class DeferrableStore;
    friend class DeferrablePin;

    std::shared_ptr<DeferrableEntry> entry_;
};

// As BufferPin (core/tiers/store/pin.h), with the address that it makes usable.
class DeferrablePin {
  public:
    DeferrablePin() = default;
    DeferrablePin(DeferrablePin&&) noexcept = default;
    DeferrablePin& operator=(DeferrablePin&& other) noexcept;

    ~DeferrablePin() { release(); }

    explicit operator bool() const { return static_cast<bool>(pin_); }

    // Only of a pin that has not been released (TM_CHECK).
    Address address() const;

    const Deferrable& buffer() const { return buffer_; }

    void set_stream(StreamId stream) { pin_.set_stream(stream); }

    void release();

    void release(StreamId stream) {
        set_stream(stream);
        release();
    }

  private:
    friend class DeferrableStore;

    Deferrable buffer_;
    BufferPin pin_;
};

struct DeferrableUse {
    const Deferrable* buffer = nullptr;
    bool write = true;  // false: leaving it again may cost no copy
};

enum class DeferAnswer : std::uint8_t {
    deferred,
    busy,  // pinned, or its queued work has not finished
    away,  // it was not on the GPU
    no_room,
    freed,
};

struct DeferrableOptions {
    Nanoseconds patience = 30'000'000'000;         // of a pin, for room and copies
    Nanoseconds controller_patience = 50'000'000;  // for a reader of events to make room
    // As StoreOptions::wait_ends.
    std::function<std::optional<Error>()> wait_ends = {};
};

struct DeferrableStatistics {
    std::uint64_t buffers = 0;
    Bytes bytes = 0;
    std::uint64_t resident = 0;  // of the buffers
    Bytes resident_bytes = 0;
    std::uint64_t pins = 0;    // now
    std::uint64_t uses = 0;    // pins ever, of the live buffers
    std::uint64_t waited = 0;  // pins that were not granted immediately
    std::uint64_t deferrals = 0;
    std::uint64_t retrievals = 0;
    std::uint64_t failures = 0;
    std::uint64_t pressures = 0;   // reported to the reader of events
    std::uint64_t unrelieved = 0;  // of them, those after which there was still no room
    std::uint64_t lost_events = 0;
};

// The connection between a TieredStore's `on_moves` and the store that is made over it.
struct DeferrableMoves {
    std::mutex mutex;
    std::function<void(std::span<const BufferEvent>)> receiver;
};

class DeferrableStore {
  public:
    using Reserve = std::function<Result<std::shared_ptr<const AddressRange>>(Bytes size)>;

    // What the options of the TieredStore get as on_moves.
    static std::function<void(std::span<const BufferEvent>)> listen(
        std::shared_ptr<DeferrableMoves> moves);

    // `gpu` is a space of `tiers`, which must outlive this; `memory` is that space's; `reserve`
    // returns addresses there.
    DeferrableStore(TieredStore& tiers, MemorySpace& memory, Reserve reserve,
                    std::shared_ptr<DeferrableMoves> moves, DeferrableOptions options);
    DeferrableStore(const DeferrableStore&) = delete;
    DeferrableStore& operator=(const DeferrableStore&) = delete;

    // No handles and pins may exist (TM_CHECK).
    ~DeferrableStore();

    // Its content is undefined. Errors: no_space: no other buffer may leave for it now; it waits
    // for room that is being made already. `patient`: it waits until others end their pins, as pins
    // do (cancelled: the store closes, or the patience has run out).
    Result<Deferrable> create(Bytes size, std::uint64_t tag, bool patient = false);

    // Errors: not_found: freed; no_space: it, or all of them together, can't fit, with a list of
    // them; cancelled: the store closes, or the patience has run out; the error of a failed copy.
    // All or none; the bytes are safe whatever happens. Each buffer once, with its stronger use.
    Result<DeferrablePin> pin(const Deferrable& buffer, bool write = true);
    Result<std::vector<DeferrablePin>> pin_all(std::span<const DeferrableUse> uses,
                                               std::optional<Nanoseconds> patience = std::nullopt);

    // Brings it back without keeping it; without `make_room`, only into free room.
    Pending<Result<void>> retrieve(const Deferrable& buffer, bool make_room = true);

    // Sends it away. `defer` waits for queued work on it (FreeReport::freed is 0 if it may not
    // leave); `try_defer` starts only if it is sure to succeed, and waits for the copy.
    Pending<FreeReport> defer(const Deferrable& buffer);
    DeferAnswer try_defer(const Deferrable& buffer);

    // Frees it in whatever state; a pinned one when its pins have ended. Errors: not_found: freed
    // twice.
    Result<void> free(const Deferrable& buffer);

    // Null handles: there is none.
    Deferrable find(std::uint64_t id) const;
    Deferrable find(Address address) const;  // in it

    DeferrableInfo info(const Deferrable& buffer) const;
    std::vector<DeferrableInfo> buffers() const;  // of one moment
    DeferrableStatistics statistics() const;

    // For the one reader of events. `subscribe` starts with the existing buffers; false: there is a
    // reader already.
    bool subscribe();

    DeferrableEvents& events() { return events_; }

    // No more work comes on the stream; its name may be reused.
    void stream_ended(StreamId stream) { PinDesk(tiers_).stream_ended(stream); }

    // Refuses everything that waits and all later requests (cancelled); the reader of events is
    // woken. Existing pins stay valid.
    void close();

  private:
    friend class DeferrablePin;
    friend struct DeferrableEntry;

    Result<BufferRef> room_for(const BufferSpec& spec);
    Result<std::vector<PinUse>> uses_of(std::span<const DeferrableUse> uses);
    template <class T>
    Result<T> answer_of(Pending<Result<T>> pending, RequestId request, Nanoseconds patience);
    Result<std::vector<BufferPin>> pins_of(std::span<const PinUse> uses, Nanoseconds patience);
    Bytes lacking(std::span<const PinUse> uses) const;
    void ask_for_room(Bytes need);
    std::optional<Error> wait_ended() const;
    void forget(const DeferrableEntry& entry);
    void end(DeferrableEntry& entry);
    void receive(std::span<const BufferEvent> moves);
    std::vector<std::shared_ptr<DeferrableEntry>> living() const;

    TieredStore& tiers_;
    MemorySpace& memory_;
    const Reserve reserve_;
    const std::shared_ptr<DeferrableMoves> moves_;
    const DeferrableOptions options_;
    DeferrableEvents events_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::weak_ptr<DeferrableEntry>> by_id_;
    std::map<Address, std::uint64_t> by_address_;                 // where ranges begin
    std::unordered_map<std::uint64_t, std::uint64_t> by_buffer_;  // ids
    std::set<RequestId> waiting_;
    bool closing_ = false;
    DeferrableStatistics counted_;
};

}  // namespace tidemark
