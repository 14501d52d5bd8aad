// See manual_transfers.h.
#include "tests/support/manual_transfers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"

namespace tidemark::support {

ManualTransfers::~ManualTransfers() {
    TM_CHECK(flights_.empty() && blocks_.empty());
}

void ManualTransfers::set_automatic(bool automatic) {
    const std::lock_guard lock(mutex_);
    automatic_ = automatic;
    if (automatic)
        points_.clear();
}

void ManualTransfers::set_faults(const Faults& faults) {
    const std::lock_guard lock(mutex_);
    faults_ = faults;
}

void ManualTransfers::fail_next_copy(std::uint32_t copies) {
    const std::lock_guard lock(mutex_);
    failing_ = copies;
}

void ManualTransfers::refuse_allocations(SpaceId space, std::uint32_t times) {
    const std::lock_guard lock(mutex_);
    refusing_[space] = times;
}

bool ManualTransfers::chance(std::uint64_t one_in) {
    return one_in != 0 && random_.below(one_in) == 0;
}

bool ManualTransfers::step() {
    const std::lock_guard lock(mutex_);
    if (flights_.empty())
        return false;
    auto flight = flights_.begin();
    std::advance(flight, static_cast<std::ptrdiff_t>(random_.below(flights_.size())));
    go_on(flight->first);
    return true;
}

bool ManualTransfers::step_oldest() {
    const std::lock_guard lock(mutex_);
    if (flights_.empty())
        return false;
    go_on(flights_.begin()->first);
    return true;
}

void ManualTransfers::finish_all() {
    const std::lock_guard lock(mutex_);
    while (!flights_.empty())
        go_on(flights_.begin()->first);
}

void ManualTransfers::pass_one() {
    const std::lock_guard lock(mutex_);
    if (points_.empty())
        return;
    auto point = points_.begin();
    std::advance(point, static_cast<std::ptrdiff_t>(random_.below(points_.size())));
    points_.erase(point);
}

void ManualTransfers::pass_all() {
    const std::lock_guard lock(mutex_);
    points_.clear();
}

std::span<std::byte> ManualTransfers::bytes(const BlockLocation& block) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(to_integer(block.id));
    TM_CHECK(found != blocks_.end());
    return found->second;
}

std::size_t ManualTransfers::in_flight() const {
    const std::lock_guard lock(mutex_);
    return flights_.size();
}

std::size_t ManualTransfers::points() const {
    const std::lock_guard lock(mutex_);
    return points_.size();
}

std::size_t ManualTransfers::blocks() const {
    const std::lock_guard lock(mutex_);
    return blocks_.size();
}

Bytes ManualTransfers::held(SpaceId space) const {
    const std::lock_guard lock(mutex_);
    Bytes bytes = 0;
    for (const auto& [id, content] : blocks_)
        if (where_.at(id) == space)
            bytes += content.size();
    return bytes;
}

std::uint64_t ManualTransfers::copies() const {
    const std::lock_guard lock(mutex_);
    return copies_;
}

std::uint64_t ManualTransfers::ordered() const {
    const std::lock_guard lock(mutex_);
    return ordered_;
}

std::size_t ManualTransfers::awaited() const {
    const std::lock_guard lock(mutex_);
    return awaited_;
}

std::shared_ptr<const AddressRange> ManualTransfers::reserve(Bytes size) {
    std::vector<std::byte> memory(size, std::byte{0xdd});
    const Address address{reinterpret_cast<std::uintptr_t>(memory.data())};
    const std::lock_guard lock(mutex_);
    vacant_.emplace(address, std::move(memory));
    return std::make_shared<const AddressRange>(Range{address, size}, [this, address] {
        const std::lock_guard locked(mutex_);
        TM_CHECK(vacant_.erase(address) == 1);
    });
}

Result<BlockLocation> ManualTransfers::allocate_at(SpaceId space,
                                                   std::shared_ptr<const AddressRange> range) {
    auto made = allocate(space, range->range().size);
    if (!made)
        return made;
    const std::lock_guard lock(mutex_);
    auto vacant = vacant_.extract(range->range().begin);
    TM_CHECK(!vacant.empty());
    std::fill(vacant.mapped().begin(), vacant.mapped().end(), std::byte{0xa5});
    blocks_.at(to_integer(made->id)) = std::move(vacant.mapped());
    at_.emplace(to_integer(made->id), std::move(range));
    return made;
}

Result<BlockLocation> ManualTransfers::allocate(SpaceId space, Bytes size) {
    const std::lock_guard lock(mutex_);
    TM_CHECK(size != 0);
    std::uint32_t& refusing = refusing_[space];
    if (refusing != 0 || chance(faults_.no_memory)) {
        refusing -= refusing != 0;
        return fail(ErrorCode::no_space, "fragmented", to_text(space));
    }
    if (chance(faults_.allocation_fails))
        return fail(ErrorCode::driver, "injected", to_text(space));
    const std::uint64_t id = next_++;
    blocks_.emplace(id, std::vector<std::byte>(size, std::byte{0xa5}));
    where_.emplace(id, space);
    return BlockLocation{space, LocationId{id}, size};
}

void ManualTransfers::free(const BlockLocation& block) {
    std::shared_ptr<const AddressRange> range;  // its end takes the lock too
    const std::lock_guard lock(mutex_);
    for (const auto& [id, flight] : flights_)
        TM_CHECK(flight.order.source.id != block.id && flight.order.target.id != block.id);
    if (auto there = at_.extract(to_integer(block.id)); !there.empty()) {
        range = std::move(there.mapped());
        std::vector<std::byte>& memory = blocks_.at(to_integer(block.id));
        std::fill(memory.begin(), memory.end(), std::byte{0xdd});
        vacant_.emplace(range->range().begin, std::move(memory));
    }
    TM_CHECK(blocks_.erase(to_integer(block.id)) == 1);
    where_.erase(to_integer(block.id));
}

std::vector<Range> ManualTransfers::pieces(const BlockLocation& block) const {
    const std::lock_guard lock(mutex_);
    const std::vector<std::byte>& content = blocks_.at(to_integer(block.id));
    return {{Address{reinterpret_cast<std::uintptr_t>(content.data())}, content.size()}};
}

Result<UsePoint> ManualTransfers::record(SpaceId space, StreamId stream, bool wrote) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t event = next_++;
    if (!automatic_)
        points_.insert(event);
    return UsePoint{space, stream, EventId{event}, wrote};
}

Result<void> ManualTransfers::order(SpaceId space, StreamId /*stream*/,
                                    std::span<const UsePoint> points) {
    const std::lock_guard lock(mutex_);
    TM_CHECK(!points.empty());
    if (chance(faults_.order_fails))
        return fail(ErrorCode::driver, "injected", to_text(space));
    ++ordered_;
    return {};
}

bool ManualTransfers::passed(const UsePoint& point) {
    const std::lock_guard lock(mutex_);
    return !points_.contains(to_integer(point.event));
}

CopyId ManualTransfers::start(CopyOrder order) {
    const std::lock_guard lock(mutex_);
    TM_CHECK(blocks_.at(to_integer(order.source.id)).size() >= order.size);
    TM_CHECK(order.source.id != order.target.id);
    const std::uint64_t id = next_++;
    Flight flight;
    flight.fails = failing_ != 0;
    failing_ -= failing_ != 0;
    awaited_ = order.after.size();
    flight.order = std::move(order);
    flights_.emplace(id, std::move(flight));
    ++copies_;
    return CopyId{id};
}

void ManualTransfers::cancel(CopyId copy) {
    const std::lock_guard lock(mutex_);
    const auto found = flights_.find(to_integer(copy));
    if (found != flights_.end())
        found->second.cancelled = true;
}

void ManualTransfers::end(std::uint64_t id, CopyEnd how) {
    Error error;
    if (how == CopyEnd::failed)
        error = {ErrorCode::io, "injected", "copy", ""};
    ended_.push_back({CopyId{id}, how, std::move(error)});
    flights_.erase(id);
}

void ManualTransfers::go_on(std::uint64_t id) {
    Flight& flight = flights_.at(id);
    const CopyOrder& order = flight.order;
    // Work that has to come before it passes first: the device sees to that.
    for (const UsePoint& point : order.after)
        points_.erase(to_integer(point.event));
    if (flight.cancelled && chance(2)) {
        end(id, CopyEnd::cancelled);
        return;
    }
    if (flight.fails || chance(faults_.copy_fails)) {
        end(id, CopyEnd::failed);
        return;
    }
    const std::vector<std::byte>& source = blocks_.at(to_integer(order.source.id));
    std::vector<std::byte>& target = blocks_.at(to_integer(order.target.id));
    const Bytes part = std::min(chunk_, order.size - flight.done);
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(flight.done), part,
                target.begin() + static_cast<std::ptrdiff_t>(flight.done));
    flight.done += part;
    if (flight.done == order.size)
        end(id, CopyEnd::done);
}

void ManualTransfers::poll(std::vector<CopyDone>& ended) {
    const std::lock_guard lock(mutex_);
    if (automatic_) {
        std::vector<std::uint64_t> ids;
        for (const auto& [id, flight] : flights_)
            ids.push_back(id);
        for (const std::uint64_t id : ids)
            go_on(id);
    }
    for (CopyDone& done : ended_)
        ended.push_back(std::move(done));
    ended_.clear();
}

}  // namespace tidemark::support
