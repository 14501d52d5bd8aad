// Where a request searches, and the lists of streams.
#include "core/regions/driver_pool.h"

#include <algorithm>
#include <vector>

#include "core/base/check.h"
#include "core/base/hash_index.h"
#include "core/regions/common_holes.h"

namespace tidemark {

class DriverPool::State {
  public:
    explicit State(Range space);

    std::optional<Taken> take(Bytes size, StreamId stream, Nanoseconds now, Bytes room);
    Bytes give(Address address, StreamId stream, Nanoseconds ready);
    Bytes synchronized(StreamId stream, Nanoseconds now);
    Bytes synchronized(Nanoseconds now);
    Bytes trim(Bytes keep, Nanoseconds now);
    Range find(Address address) const;

    Bytes held() const { return common_.mapped(); }

    void set_threshold(Bytes threshold) { threshold_ = threshold; }

  private:
    static constexpr std::uint32_t kStreams = CommonHoles::kLists;  // the first list of a stream

    // Blocks that streams freed, oldest first. `ready` rises along it.
    struct StreamList {
        StreamId stream = StreamId::default_stream;
        AgedSizeIndex index = {};
        BlockId oldest = kNoBlock;
        BlockId newest = kNoBlock;
    };

    // A block's position in its stream's list.
    struct Position {
        BlockId older = kNoBlock;
        BlockId newer = kNoBlock;
        Nanoseconds ready = 0;
    };

    std::uint32_t list_of(StreamId stream);

    StreamList& list(std::uint32_t number) { return lists_[number - kStreams]; }

    BlockId find_of_others(std::uint32_t own, Bytes size, Nanoseconds now);
    Address take_of_list(BlockId id, Bytes size);
    std::optional<Taken> take_common(BlockId id, Bytes size, Bytes room);
    Address grant(BlockId id);

    void append(std::uint32_t number, BlockId id, Nanoseconds ready);
    void leave_list(BlockId id);
    template <class Then>
    void hand_over(std::uint32_t number, Nanoseconds now, Then then);

    Bytes space_;
    Blocks blocks_;
    std::vector<Position> positions_;  // by block
    CommonHoles common_;
    std::vector<StreamList> lists_;         // in the order in which streams came
    std::vector<std::uint32_t> by_stream_;  // numbers of lists
    HashIndex numbers_;                     // stream -> number of its list
    HashIndex live_;                        // address -> block
    std::uint64_t stamps_ = 0;
    Bytes threshold_ = 0;
};

DriverPool::State::State(Range space) : space_(space.size), common_(space.begin, kChunk) {
    TM_CHECK(space.size % kChunk == 0);
    common_.add(blocks_.create(space.begin, space.size, 0), blocks_);
}

std::uint32_t DriverPool::State::list_of(StreamId stream) {
    const std::uint32_t known = numbers_.find(to_integer(stream));
    if (known != HashIndex::kNothing) [[likely]]
        return known;
    const auto number = static_cast<std::uint32_t>(lists_.size()) + kStreams;
    numbers_.insert(to_integer(stream), number);
    lists_.push_back({.stream = stream});
    const auto after = std::ranges::find_if(
        by_stream_, [&](std::uint32_t other) { return list(other).stream > stream; });
    by_stream_.insert(after, number);
    return number;
}

std::optional<DriverPool::Taken> DriverPool::State::take(Bytes size, StreamId stream,
                                                         Nanoseconds now, Bytes room) {
    if (size > space_ || size > held() + room)
        return std::nullopt;
    const std::uint32_t own = list_of(stream);
    if (const BlockId id = list(own).index.first_from(size, blocks_); id != kNoBlock)
        return Taken{.address = take_of_list(id, size)};
    if (const BlockId id = common_.find_mapped(size, blocks_); id != kNoBlock)
        return take_common(id, size, room);
    if (const BlockId id = find_of_others(own, size, now); id != kNoBlock)
        return Taken{.address = take_of_list(id, size)};
    for (std::uint32_t number = kStreams; number < kStreams + lists_.size(); ++number)
        hand_over(number, now, [] {});
    const BlockId id = common_.find(size, blocks_);
    return id == kNoBlock ? std::nullopt : take_common(id, size, room);
}

Bytes DriverPool::State::give(Address address, StreamId stream, Nanoseconds ready) {
    const BlockId id = live_.erase(to_integer(address));
    if (id == HashIndex::kNothing)
        return 0;
    const Bytes size = blocks_[id].size;
    append(list_of(stream), id, ready);
    return size;
}

Bytes DriverPool::State::synchronized(StreamId stream, Nanoseconds now) {
    Bytes given_back = 0;
    const std::uint32_t number = numbers_.find(to_integer(stream));
    if (number != HashIndex::kNothing)
        hand_over(number, now, [&] { given_back += common_.give_back_above(threshold_, blocks_); });
    return given_back;
}

Bytes DriverPool::State::synchronized(Nanoseconds now) {
    Bytes given_back = 0;
    for (const std::uint32_t number : by_stream_)
        hand_over(number, now, [&] { given_back += common_.give_back_above(threshold_, blocks_); });
    return given_back;
}

Bytes DriverPool::State::trim(Bytes keep, Nanoseconds now) {
    for (const std::uint32_t number : by_stream_)
        hand_over(number, now, [] {});
    return common_.give_back_above(keep, blocks_);
}

// Finding.

// In another stream's list, a block with which the device has finished.
BlockId DriverPool::State::find_of_others(std::uint32_t own, Bytes size, Nanoseconds now) {
    for (std::uint32_t number = kStreams; number < kStreams + lists_.size(); ++number) {
        const StreamList& other = list(number);
        if (number == own || other.oldest == kNoBlock || positions_[other.oldest].ready > now)
            continue;
        BlockId id = other.index.first_from(size, blocks_);
        while (id != kNoBlock && positions_[id].ready > now)
            id = other.index.next(blocks_[id], blocks_);
        if (id != kNoBlock)
            return id;
    }
    return kNoBlock;
}

// Taking. The rest of a block of a list keeps its position there.

Address DriverPool::State::take_of_list(BlockId id, Bytes size) {
    const std::uint32_t number = blocks_[id].list;
    StreamList& from = list(number);
    from.index.erase(id, blocks_);
    if (blocks_[id].size == size) {
        leave_list(id);
        return grant(id);
    }
    const BlockId rest = blocks_.split(id, size);
    if (positions_.size() <= rest)
        positions_.resize(rest + std::size_t{1});
    const Position position = positions_[id];
    positions_[rest] = position;
    (position.older == kNoBlock ? from.oldest : positions_[position.older].newer) = rest;
    (position.newer == kNoBlock ? from.newest : positions_[position.newer].older) = rest;
    blocks_[rest].stamp = ++stamps_;
    from.index.insert(rest, blocks_);
    return grant(id);
}

std::optional<DriverPool::Taken> DriverPool::State::take_common(BlockId id, Bytes size,
                                                                Bytes room) {
    const auto backing = common_.take(id, size, room, blocks_);
    if (!backing)
        return std::nullopt;
    return Taken{.address = grant(id), .grown = backing->grown, .moved = backing->moved};
}

Address DriverPool::State::grant(BlockId id) {
    const Address address = blocks_[id].address;
    blocks_[id].state = Block::State::allocated;
    live_.insert(to_integer(address), id);
    return address;
}

// Lists of streams.

// At the end of the list, joined with its neighbours in it.
void DriverPool::State::append(std::uint32_t number, BlockId id, Nanoseconds ready) {
    StreamList& into = list(number);
    const auto joins = [&](BlockId neighbour) {
        return neighbour != kNoBlock && blocks_[neighbour].state == Block::State::free &&
               blocks_[neighbour].list == number;
    };
    const auto absorb = [&](BlockId low, BlockId neighbour) {
        into.index.erase(neighbour, blocks_);
        ready = std::max(ready, positions_[neighbour].ready);
        leave_list(neighbour);
        blocks_.merge_next(low);
    };
    blocks_[id].state = Block::State::free;
    blocks_[id].list = number;
    if (const BlockId next = blocks_[id].next; joins(next))
        absorb(id, next);
    if (const BlockId prev = blocks_[id].prev; joins(prev)) {
        absorb(prev, prev);
        id = prev;
    }
    if (positions_.size() <= id)
        positions_.resize(id + std::size_t{1});
    positions_[id] = {.older = into.newest, .newer = kNoBlock, .ready = ready};
    (into.newest == kNoBlock ? into.oldest : positions_[into.newest].newer) = id;
    into.newest = id;
    blocks_[id].stamp = ++stamps_;
    into.index.insert(id, blocks_);
}

void DriverPool::State::leave_list(BlockId id) {
    StreamList& from = list(blocks_[id].list);
    const Position position = positions_[id];
    (position.older == kNoBlock ? from.oldest : positions_[position.older].newer) = position.newer;
    (position.newer == kNoBlock ? from.newest : positions_[position.newer].older) = position.older;
}

// Moves blocks with which the device has finished to the common holes, the latest first; then()
// after each.
template <class Then>
void DriverPool::State::hand_over(std::uint32_t number, Nanoseconds now, Then then) {
    BlockId last = kNoBlock;  // that is done
    for (BlockId id = list(number).oldest; id != kNoBlock && positions_[id].ready <= now;
         id = positions_[id].newer)
        last = id;
    while (last != kNoBlock) {
        const BlockId id = last;
        last = positions_[id].older;
        list(number).index.erase(id, blocks_);
        leave_list(id);
        common_.add(id, blocks_);
        then();
    }
}

Range DriverPool::State::find(Address address) const {
    Range found;
    blocks_.for_each([&](const Block& block, Range) {
        if (block.state == Block::State::allocated && address >= block.address &&
            address - block.address < block.size)
            found = {block.address, block.size};
    });
    return found;
}

// The public functions.

DriverPool::DriverPool(Range space) : space_(space), state_(std::make_unique<State>(space)) {}

DriverPool::DriverPool(const DriverPool& other)
    : space_(other.space_),
      state_(std::make_unique<State>(*other.state_)),
      has_grown_(other.has_grown_) {}

DriverPool::DriverPool(DriverPool&& other) noexcept = default;

DriverPool& DriverPool::operator=(const DriverPool& other) {
    return *this = DriverPool(other);
}

DriverPool& DriverPool::operator=(DriverPool&& other) noexcept = default;

DriverPool::~DriverPool() = default;

std::optional<DriverPool::Taken> DriverPool::take(Bytes size, StreamId stream, Nanoseconds now,
                                                  Bytes room) {
    const std::optional<Taken> taken = state_->take(size, stream, now, room);
    has_grown_ = has_grown_ || taken;
    return taken;
}

Bytes DriverPool::give(Address address, StreamId stream, Nanoseconds ready) {
    return state_->give(address, stream, ready);
}

Bytes DriverPool::synchronized(StreamId stream, Nanoseconds now) {
    return state_->synchronized(stream, now);
}

Bytes DriverPool::synchronized(Nanoseconds now) {
    return state_->synchronized(now);
}

Bytes DriverPool::trim(Bytes keep, Nanoseconds now) {
    return state_->trim(keep, now);
}

Bytes DriverPool::held() const {
    return state_->held();
}

void DriverPool::set_threshold(Bytes threshold) {
    state_->set_threshold(threshold);
}

Range DriverPool::find(Address address) const {
    return state_->find(address);
}

}  // namespace tidemark
