// VpmmSmall: VPMM's requests below a page, which are left to the device's own pool of
// stream-ordered memory; where it has none, to its plain memory.
//
// A piece is let go on the stream that it was granted to, after the streams that used it too. The
// pool keeps what it holds until it is told to give it back (`trim`): its threshold is set, once,
// and until the device has taken that, pieces are plain memory. What the device refuses to take
// back waits and is offered again.
//
// A value that names its device only in calls. Not thread-safe. O(1) a call besides the device's
// own, unless said otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/vacant_ids.h"
#include "core/regions/stream_set.h"

namespace tidemark::policies {

class VpmmSmall {
  public:
    static constexpr Bytes kUnit = 512;         // what the device rounds to
    static constexpr Bytes kPoolStep = 32_MiB;  // by which the driver's pool grows, measured

    // A piece of `size` bytes, a multiple of kUnit; its number.
    DeviceResult<std::uint32_t> allocate(Device& device, Bytes size, StreamId stream);

    // What the device would have to lend for the next piece of `size`: a guess, since only the
    // driver knows what its pool's unused memory is good for.
    Bytes growth_for(const Device& device, Bytes size) const;

    // The last piece was guessed wrong, and lent memory must go back at once: it is let go, its
    // stream waited for. Until another piece is let go, guesses are careful. False: it waits.
    bool undo(Device& device, std::uint32_t piece);

    Address address(std::uint32_t piece) const { return pieces_[piece].begin; }

    Bytes size(std::uint32_t piece) const { return pieces_[piece].size; }

    void record_use(std::uint32_t piece, StreamId stream) {
        if (stream != pieces_[piece].stream)
            pieces_[piece].users.add(stream);
    }

    // Lets a piece go; nobody but its own stream has used it, if `users_done`. False: not yet, it
    // waits.
    bool deallocate(Device& device, std::uint32_t piece, bool users_done);

    // Offers what waits again; the bytes that are gone.
    Bytes settle(Device& device);

    bool has_waiting() const { return !waiting_.empty(); }

    // Has the pool's unused memory given back, as far as the device is done with it.
    void trim(Device& device);

    // Memory that is held from the device, and what of it is in pieces.
    Bytes held() const { return plain_ + std::max(pool_held_, pool_used_); }

    Bytes used() const { return plain_ + pool_used_; }

    // Every piece, and what the pool holds besides: that is at addresses that only the driver
    // knows, and shown behind the highest piece. O(pieces log pieces).
    void for_each_region(const std::function<void(const Region&)>& visit) const;

    // The program is over: the device's pool is as it was.
    void restore_pool(Device& device);

  private:
    enum class State : std::uint8_t { vacant, live, waiting };

    struct Piece {
        Address begin = Address::null;
        Bytes size = 0;
        StreamId stream = StreamId::default_stream;
        State state = State::vacant;
        bool pooled = false;
        StreamSet users;  // other streams
    };

    DeviceResult<Address> take(Device& device, Bytes size, StreamId stream, bool& pooled);
    bool give_back(Device& device, Piece& piece);
    bool prepare_pool(Device& device);

    std::vector<Piece> pieces_;
    VacantIds vacant_;
    std::vector<std::uint32_t> waiting_;
    bool pool_ready_ = false;
    Bytes plain_ = 0;                      // bytes in plain pieces
    Bytes pool_used_ = 0;                  // bytes in pool pieces
    Bytes pool_held_ = 0;                  // as the device says
    bool full_ = false;                    // its unused memory has been of no use
    Address last_pooled_ = Address::null;  // the last address that came from the pool
};

}  // namespace tidemark::policies
