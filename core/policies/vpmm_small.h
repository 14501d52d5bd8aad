// VpmmSmall: VPMM's requests below a page, which go to the device's own pool of stream-ordered
// memory, or to plain memory if the device has no pool.
//
// A piece is freed on the stream that it was granted to, ordered behind the streams that used it
// too. The pool keeps what it holds until it is told to release it (`trim`): its threshold is set
// once, and until the device has accepted that, pieces are plain memory. Pieces that the device
// refuses to free wait and are offered again.
//
// A value that names its device only in calls. Not thread-safe. O(1) a call in addition to the
// device's own cost, unless stated otherwise.
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

    // How much the device would have to lend for the next piece of `size`: a guess, since only the
    // driver knows which requests its pool's unused memory can serve.
    Bytes growth_for(const Device& device, Bytes size) const;

    // The guess for the last piece was wrong, and the borrowed memory must be returned immediately:
    // the piece is freed, and its stream is waited for. Until another piece is freed, guesses are
    // careful. False: the piece waits.
    bool undo(Device& device, std::uint32_t piece);

    Address address(std::uint32_t piece) const { return pieces_[piece].begin; }

    Bytes size(std::uint32_t piece) const { return pieces_[piece].size; }

    void record_use(std::uint32_t piece, StreamId stream) {
        if (stream != pieces_[piece].stream)
            pieces_[piece].users.add(stream);
    }

    // Frees a piece; only its own stream has used it, if `users_done`. False: not yet, it waits.
    bool deallocate(Device& device, std::uint32_t piece, bool users_done);

    // Offers again what waits; returns the bytes that were freed.
    Bytes settle(Device& device);

    bool has_waiting() const { return !waiting_.empty(); }

    // Releases the pool's unused memory, as far as the device has finished with it.
    void trim(Device& device);

    // Memory that is held from the device, and the part of it that is in pieces.
    Bytes held() const { return plain_ + std::max(pool_held_, pool_used_); }

    Bytes used() const { return plain_ + pool_used_; }

    // Every piece, and the rest of the pool, which is at addresses that only the driver knows and
    // is shown behind the highest piece. O(pieces log pieces).
    void for_each_region(const std::function<void(const Region&)>& visit) const;

    // The program has ended: the device's pool gets its old settings back.
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
    Bytes pool_held_ = 0;                  // as the device reports it
    bool full_ = false;                    // its unused memory did not help
    Address last_pooled_ = Address::null;  // the last address that came from the pool
};

}  // namespace tidemark::policies
