// ReservationBindings: which stream, thread or task of the program allocates from which reservation
// of one space. Each space has its own table, so a thread may have reservations of several
// (upstream shares one slot between them; specs A4, defect 4).
//
// A lookup returns a ReservationId, which stays harmless if the binding ends at the same moment. If
// a binding can't be made, the reservation is returned (defect 5).
//
// Thread-safety: everything except the destructors may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/tiers/spaces/memory_space.h"

namespace tidemark {

// What a reservation is bound to. Keys of different kinds are never equal.
struct BindingKey {
    enum class Kind : std::uint8_t { stream, thread, task };
    Kind kind = Kind::stream;
    std::uint64_t value = 0;

    friend bool operator==(const BindingKey&, const BindingKey&) = default;
};

constexpr BindingKey stream_key(StreamId stream) {
    return {BindingKey::Kind::stream, to_integer(stream)};
}

// `task`: one of the program's own numbers.
constexpr BindingKey task_key(std::uint64_t task) {
    return {BindingKey::Kind::task, task};
}

// Of the calling thread: a number that no other thread of this process ever has.
BindingKey this_thread_key();

// A reservation that wasn't bound.
struct RefusedBinding {
    enum class Cause : std::uint8_t {
        taken,        // the key has one already
        other_space,  // the reservation is of another space, or empty
    };
    Cause cause = Cause::taken;
    MemoryReservation reservation = {};
};

class ReservationBindings {
  public:
    // `space` must outlive it.
    explicit ReservationBindings(MemorySpace& space) : space_(space) {}

    ReservationBindings(const ReservationBindings&) = delete;
    ReservationBindings& operator=(const ReservationBindings&) = delete;

    MemorySpace& space() const { return space_; }

    // From now on allocations of `key` come from `reservation`, which the table keeps. O(1).
    tl::expected<void, RefusedBinding> bind(BindingKey key, MemoryReservation reservation);

    // Ends that and returns the reservation, with everything that is allocated from it; nothing if
    // there is none. O(1).
    std::optional<MemoryReservation> unbind(BindingKey key);

    // O(1).
    std::optional<ReservationId> find(BindingKey key) const;

    std::size_t size() const;

    // Charges `size` bytes to what is bound to `key`, or to the space if nothing is. O(1).
    tl::expected<Charge, ChargeRefusal> charge(Bytes size, BindingKey key);

    // The same, for a request on `stream`: to what is bound to the stream; else to the calling
    // thread; else to the space.
    tl::expected<Charge, ChargeRefusal> charge_on(Bytes size, StreamId stream);

  private:
    struct Hash {
        std::size_t operator()(const BindingKey& key) const;
    };

    std::optional<ReservationId> find_for(StreamId stream) const;

    MemorySpace& space_;
    mutable std::mutex mutex_;
    std::unordered_map<BindingKey, MemoryReservation, Hash> bound_;
};

// A binding that exists as long as this object; then the reservation is released. Move-only. One
// thread at a time.
class ReservationScope {
  public:
    // `bindings` must outlive it.
    static tl::expected<ReservationScope, RefusedBinding> open(ReservationBindings& bindings,
                                                               BindingKey key,
                                                               MemoryReservation reservation);

    ReservationScope(ReservationScope&& other) noexcept
        : bindings_(std::exchange(other.bindings_, nullptr)), key_(other.key_) {}

    ReservationScope& operator=(ReservationScope&&) = delete;

    ~ReservationScope() { end(); }

    // Ends it now and returns the reservation; an empty one the second time.
    MemoryReservation end();

  private:
    ReservationScope(ReservationBindings& bindings, BindingKey key)
        : bindings_(&bindings), key_(key) {}

    ReservationBindings* bindings_;
    BindingKey key_;
};

}  // namespace tidemark
