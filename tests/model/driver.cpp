// Addresses, capacities and refusals of the scripted driver.
#include "tests/model/driver.h"

#include <algorithm>
#include <iterator>
#include <ostream>

namespace tidemark::model {
namespace {

constexpr std::uint64_t kSegments = 0x7f00'0000'0000;
constexpr std::uint64_t kReservations = 0x3000'0000'0000;
constexpr Bytes kAlignment = 2_MiB;

constexpr std::array<std::string_view, 6> kEffectKinds{
    "segment_alloc", "segment_free", "segment_map", "segment_unmap", "reserve", "unreserve"};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Effect& effect) {
    return out << kEffectKinds[static_cast<std::size_t>(effect.kind)] << ' ' << std::hex << "0x"
               << to_integer(effect.range.begin) << std::dec << " +" << effect.range.size;
}

Driver::Driver(const DriverSetup& setup) : setup_(setup) {
    segments_.up = segments_.down = kSegments;
    reservations_.up = reservations_.down = kReservations;
}

void Driver::finish(StreamId stream, unsigned percent) {
    std::uint64_t& done = done_[stream];
    done = std::max(done, all_done_);
    done += (now_ - done) * percent / 100;
}

void Driver::begin_refusal(std::uint64_t after, std::uint64_t count) {
    refuse_after_ = after;
    refusals_ = count;
}

Bytes Driver::unused() const {
    const Bytes gone = used_ + taken_by_others_;
    return setup_.capacity > gone ? setup_.capacity - gone : 0;
}

bool Driver::take(Bytes size) {
    if (refusals_ != 0 && refuse_after_ == 0) {
        --refusals_;
        return false;
    }
    if (refusals_ != 0)
        --refuse_after_;
    if (size > unused())
        return false;
    used_ += size;
    return true;
}

Address Driver::choose_address(Addresses& addresses, Bytes size) const {
    const Bytes room = align_up(size, kAlignment);
    const bool below =
        setup_.placement == DriverSetup::Placement::alternating && (++addresses.count & 1U) == 0;
    std::uint64_t begin = addresses.up;
    if (below) {
        addresses.down -= room;
        begin = addresses.down;
    } else if (setup_.placement == DriverSetup::Placement::lowest_gap) {
        begin = addresses.down;
        for (const auto& [taken, taken_size] : addresses.taken) {
            if (to_integer(taken) - begin >= room)
                break;
            begin = to_integer(taken) + align_up(taken_size, kAlignment);
        }
    }
    addresses.up = std::max(addresses.up, begin + room);
    addresses.taken[Address{begin}] = size;
    return Address{begin};
}

std::optional<Address> Driver::segment_alloc(Bytes size) {
    if (!take(size))
        return std::nullopt;
    const Address begin = choose_address(segments_, size);
    note(Effect::Kind::segment_alloc, {begin, size});
    return begin;
}

bool Driver::segment_free(Address address) {
    const auto found = segments_.taken.find(address);
    if (found == segments_.taken.end())
        return false;
    if (setup_.free_waits)
        synchronize_all();
    give(found->second);
    note(Effect::Kind::segment_free, {address, found->second});
    segments_.taken.erase(found);
    return true;
}

Range Driver::reserve(Bytes size) {
    const Range range{choose_address(reservations_, size), size};
    note(Effect::Kind::reserve, range);
    return range;
}

bool Driver::unreserve(Range range) {
    const auto found = reservations_.taken.find(range.begin);
    if (found == reservations_.taken.end() || found->second != range.size)
        return false;
    note(Effect::Kind::unreserve, range);
    reservations_.taken.erase(found);
    return true;
}

bool Driver::map(Range range, Bytes page) {
    for (Bytes mapped = 0; mapped < range.size; mapped += page) {
        if (!take(page)) {
            give(mapped);
            return false;
        }
    }
    note(Effect::Kind::segment_map, range);
    return true;
}

void Driver::unmap(Range range) {
    give(range.size);
    note(Effect::Kind::segment_unmap, range);
}

bool Driver::done(StreamId stream, std::uint64_t step) const {
    const auto found = done_.find(stream);
    return step <= std::max(all_done_, found == done_.end() ? 0 : found->second);
}

}  // namespace tidemark::model
