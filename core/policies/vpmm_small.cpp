// Small requests: the device's pool, and its plain memory.
#include "core/policies/vpmm_small.h"

#include <algorithm>

namespace tidemark::policies {

// The pool must not release memory on its own, and not at every synchronization.
bool VpmmSmall::prepare_pool(Device& device) {
    if (!pool_ready_ && device.has(Feature::async_pool))
        pool_ready_ = static_cast<bool>(device.set_pool_threshold(~Bytes{0}));
    return pool_ready_;
}

void VpmmSmall::restore_pool(Device& device) {
    if (pool_ready_)
        static_cast<void>(device.set_pool_threshold(0));
}

DeviceResult<Address> VpmmSmall::take(Device& device, Bytes size, StreamId stream, bool& pooled) {
    pooled = prepare_pool(device);
    if (!pooled)
        return device.malloc(size);
    const DeviceResult<Address> begin = device.malloc_async(size, stream);
    pool_held_ = device.pool_held();
    return begin;
}

DeviceResult<std::uint32_t> VpmmSmall::allocate(Device& device, Bytes size, StreamId stream) {
    bool pooled = false;
    TM_ASSIGN(const Address begin, take(device, size, stream, pooled));
    (pooled ? pool_used_ : plain_) += size;
    if (pooled)
        last_pooled_ = begin;
    return vacant_.put_into(pieces_, Piece{begin, size, stream, State::live, pooled, {}});
}

Bytes VpmmSmall::growth_for(const Device& device, Bytes size) const {
    if (!device.has(Feature::async_pool))
        return size;
    const Bytes unused = pool_held_ > pool_used_ ? pool_held_ - pool_used_ : 0;
    return unused >= size && !full_ ? 0 : align_up(size, kPoolStep);
}

bool VpmmSmall::undo(Device& device, std::uint32_t piece) {
    const StreamId stream = pieces_[piece].stream;
    const bool gone = deallocate(device, piece, false);
    if (device.synchronize(stream))
        trim(device);
    full_ = true;
    return gone;
}

bool VpmmSmall::give_back(Device& device, Piece& piece) {
    if (!piece.pooled) {
        if (!device.free(piece.begin))  // waits for every stream
            return false;
        plain_ -= piece.size;
        return true;
    }
    if (!piece.users.empty() && !piece.users.order_before(piece.stream, device))
        return false;
    piece.users = {};
    if (!device.free_async(piece.begin, piece.stream))
        return false;
    pool_used_ -= piece.size;
    full_ = false;
    return true;
}

bool VpmmSmall::deallocate(Device& device, std::uint32_t number, bool users_done) {
    Piece& piece = pieces_[number];
    if (users_done)
        piece.users = {};
    if (device.capturing() || !give_back(device, piece)) {
        piece.state = State::waiting;
        waiting_.push_back(number);
        return false;
    }
    piece = {};
    vacant_.give_back(number);
    return true;
}

Bytes VpmmSmall::settle(Device& device) {
    Bytes gone = 0;
    std::erase_if(waiting_, [&](std::uint32_t number) {
        Piece& piece = pieces_[number];
        const Bytes size = piece.size;
        if (!give_back(device, piece))
            return false;
        piece = {};
        vacant_.give_back(number);
        gone += size;
        return true;
    });
    return gone;
}

void VpmmSmall::trim(Device& device) {
    if (pool_held_ <= pool_used_)
        return;
    static_cast<void>(device.trim_pool(0));
    pool_held_ = device.pool_held();
}

void VpmmSmall::for_each_region(const std::function<void(const Region&)>& visit) const {
    std::vector<Piece> pieces;
    std::copy_if(pieces_.begin(), pieces_.end(), std::back_inserter(pieces),
                 [](const Piece& piece) { return piece.state != State::vacant; });
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
    Address highest = Address::null;
    for (const Piece& piece : pieces)
        highest = piece.pooled ? piece.begin : highest;
    const Bytes unused = pool_held_ > pool_used_ ? pool_held_ - pool_used_ : 0;
    if (unused != 0 && highest == Address::null) {
        const Range range{last_pooled_, unused};
        visit({range, range, Region::State::free});
    }
    for (const Piece& piece : pieces) {
        const Range range{piece.begin, piece.size};
        const bool is_highest = piece.pooled && piece.begin == highest;
        const Range segment{piece.begin, piece.size + (is_highest ? unused : 0)};
        const auto state =
            piece.state == State::live ? Region::State::allocated : Region::State::waiting;
        visit({range, segment, state, piece.stream});
        if (segment.size != piece.size)
            visit({{piece.begin + piece.size, unused}, segment, Region::State::free});
    }
}

}  // namespace tidemark::policies
