// ReservationBindings: which stream, thread or task of the program allocates out of which
// reservation of one space. Each space has a table of its own, so that a thread may have
// reservations of several (upstream shares one slot between them; specs A4, defect 4).
//
// A lookup gives a ReservationId, which stays harmless when the binding ends in the same moment. A
// binding that isn't made gives the reservation back (defect 5).
//
// Thread-safety: everything but the destructors may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/tiers/spaces/memory_space.h"

namespace tidemark {

// Who a reservation is bound to. Keys of different kinds are never the same.
struct BindingKey {
    enum class Kind : std::uint8_t { stream, thread, task };
    Kind kind = Kind::stream;
    std::uint64_t value = 0;

    friend bool operator==(const BindingKey&, const BindingKey&) = default;
};

constexpr BindingKey stream_key(StreamId stream) {
    return {BindingKey::Kind::stream, to_integer(stream)};
}

// `task`: a number of the program's.
constexpr BindingKey task_key(std::uint64_t task) {
    return {BindingKey::Kind::task, task};
}

// Of the calling thread: a number that no other thread of this process ever has.
BindingKey this_thread_key();

// A reservation that wasn't bound.
struct RefusedBinding {
    enum class Cause : std::uint8_t {
        taken,        // the key has one already
        other_space,  // the reservation is of another space, or of nothing
    };
    Cause cause = Cause::taken;
    MemoryReservation reservation = {};
};

class ReservationBindings {
  public:
    // `space` outlives it.
    explicit ReservationBindings(MemorySpace& space) : space_(space) {}

    ReservationBindings(const ReservationBindings&) = delete;
    ReservationBindings& operator=(const ReservationBindings&) = delete;

    MemorySpace& space() const { return space_; }

    // From now on allocations of `key` come out of `reservation`, which the table keeps. O(1).
    tl::expected<void, RefusedBinding> bind(BindingKey key, MemoryReservation reservation);

    // Ends that and hands the reservation out, with whatever is allocated from it; nothing if there
    // is none. O(1).
    std::optional<MemoryReservation> unbind(BindingKey key);

    // O(1).
    std::optional<ReservationId> find(BindingKey key) const;

    std::size_t size() const;

    // Charges `size` bytes to what is bound to `key`; if nothing is, to the space. O(1).
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

// A binding for as long as it lives; then the reservation is released. Move-only. One thread at a
// time.
class ReservationScope {
  public:
    // `bindings` outlives it.
    static tl::expected<ReservationScope, RefusedBinding> open(ReservationBindings& bindings,
                                                               BindingKey key,
                                                               MemoryReservation reservation);

    ReservationScope(ReservationScope&& other) noexcept
        : bindings_(std::exchange(other.bindings_, nullptr)), key_(other.key_) {}

    ReservationScope& operator=(ReservationScope&&) = delete;

    ~ReservationScope() { end(); }

    // Ends it now and hands the reservation out; a second time one of nothing.
    MemoryReservation end();

  private:
    ReservationScope(ReservationBindings& bindings, BindingKey key)
        : bindings_(&bindings), key_(key) {}

    ReservationBindings* bindings_;
    BindingKey key_;
};

}  // namespace tidemark
