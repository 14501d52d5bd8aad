// GraphMemory: the memory of graphs themselves (malloc_async inside a capture).
//
// Model, after the CUDA programming guide: an allocation has its address from the capture on, as
// long as the graph exists, and is memory from the step that takes it to the step or call that
// frees it. Physical memory is bound at a launch, one slab for everything that a graph needs at the
// same time. A slab without live memory serves any graph whose launch comes after its previous
// work: on the same stream immediately, on others when the work is done. Memory that is not live
// cannot be used: reading it is refused here, while real hardware reads whatever is there. Slabs
// are kept for later launches, beyond the end of their graph, until they are trimmed. The driver
// binds page by page, so it may need less when some of a graph's memory stays live.
//
// Not thread-safe. O(slabs) to bind, O(log live) otherwise.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "backends/sim/address_space.h"
#include "core/base/units.h"

namespace tidemark {

class GraphMemory {
  public:
    // Physical addresses of slabs, above those of VirtualMemory's handles.
    static constexpr std::uint64_t kPhysicalBegin = std::uint64_t{1} << 63;
    static constexpr Bytes kUnit = 512;     // of allocations
    static constexpr Bytes kSlab = 32_MiB;  // slabs are multiples of it

    explicit GraphMemory(AddressSpace space) : space_(std::move(space)) {}

    // Addresses for `size` bytes (a multiple of kUnit, not 0), and their end; no memory yet.
    std::optional<Range> reserve(Bytes size) { return space_.take(size); }

    void unreserve(Range range) { space_.give(range); }

    bool covers(Address address) const { return space_.covers(address); }

    using SlabId = std::uint64_t;

    // A free slab of at least `size` bytes that work on `stream` may use at `now`: the one that
    // `graph` had last, otherwise the smallest.
    std::optional<SlabId> find_slab(Bytes size, GraphId graph, StreamId stream,
                                    Nanoseconds now) const;

    // The free slab of at least `size` bytes whose work is done first.
    std::optional<SlabId> first_done(Bytes size) const;

    static Bytes slab_size(Bytes size) { return align_up(size, kSlab); }

    // A new slab of slab_size(size) bytes: the caller has them.
    SlabId add_slab(Bytes size);

    // When the work on a slab is done.
    Nanoseconds ready(SlabId slab) const { return slabs_.at(slab).ready; }

    // `graph` uses the slab on `stream` until `ready`.
    void use(SlabId slab, GraphId graph, StreamId stream, Nanoseconds ready);

    // Binds `range`, which is not live, to the bytes at `offset` of a slab; the physical range.
    Range bind(Range range, SlabId slab, Bytes offset, GraphId graph);

    // Frees the block at exactly `address`: returns its range, or nothing.
    struct Live {
        Bytes size = 0;
        Address physical = Address::null;
        SlabId slab = 0;
        GraphId graph{};
    };

    std::optional<Live> unbind(Address address);

    // The block at exactly `address`; null if there is none.
    const Live* live_at(Address address) const;

    // It was freed on `stream`, whose work so far is done at `ready`.
    void given_back(SlabId slab, StreamId stream, Nanoseconds ready);

    // The piece that begins at `address`, as physical addresses, at most `size` bytes; size 0 if
    // nothing there is live.
    Range translate(Address address, Bytes size) const;

    // Releases free slabs whose work is done at `now`; `freed(physical range)` sees each.
    template <class Freed>
    void trim(Nanoseconds now, Freed freed) {
        for (auto slab = slabs_.begin(); slab != slabs_.end();) {
            const Slab& one = slab->second;
            if (one.live != 0 || one.ready > now) {
                ++slab;
                continue;
            }
            held_ -= one.size;
            freed(Range{one.physical, one.size});
            slab = slabs_.erase(slab);
        }
    }

    Bytes held() const { return held_; }

  private:
    struct Slab {
        Address physical = Address::null;
        Bytes size = 0;
        std::uint64_t live = 0;  // pieces bound to it
        GraphId graph{};         // that used it last
        StreamId stream = StreamId::default_stream;
        Nanoseconds ready = std::numeric_limits<Nanoseconds>::min();
    };

    AddressSpace space_;
    std::map<SlabId, Slab> slabs_;
    SlabId next_slab_ = 0;
    std::uint64_t next_physical_ = kPhysicalBegin;
    Bytes held_ = 0;
    std::map<Address, Live> live_;
};

}  // namespace tidemark
