// Writing, checking, and finding the first byte that differs.
#include "backends/wrap/touching.h"

#include <algorithm>
#include <vector>

namespace tidemark {
namespace {

constexpr Bytes kTouchingWord = 4;

}  // namespace

TouchReport& TouchReport::operator+=(const TouchReport& other) {
    allocations += other.allocations;
    bytes += other.bytes;
    damaged += other.damaged;
    differing += other.differing;
    failures += other.failures;
    if (other.first_difference &&
        (!first_difference || other.first_difference->event < first_difference->event))
        first_difference = other.first_difference;
    if (!first_failure)
        first_failure = other.first_failure;
    return *this;
}

tl::expected<Allocation, OutOfMemory> TouchingAllocator::allocate(const Request& request) {
    const auto allocation = WrappedAllocator::allocate(request);
    if (allocation && !device_.capturing())
        write(request, *allocation);
    return allocation;
}

void TouchingAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    if (const auto found = live_.find(to_integer(allocation.address)); found != live_.end()) {
        if (!device_.capturing())
            check(found->second);
        live_.erase(found);
    }
    WrappedAllocator::deallocate(allocation, stream);
}

// Exactly the requested bytes are written: a driver refuses writes beyond them, even if they are
// part of the piece that it returned.
void TouchingAllocator::write(const Request& request, const Allocation& allocation) {
    const Address begin{align_up(to_integer(allocation.address), kTouchingWord)};
    const Bytes lost = begin - allocation.address;
    if (allocation.size <= lost)
        return;
    const Bytes size = std::min(std::max<Bytes>(request.size, 1), allocation.size - lost);
    // An odd factor: every number below 2^32 has a word of its own.
    const auto word = static_cast<std::uint32_t>(++report_.allocations * 0x9e3779b1U);
    const Touched touched{{begin, size}, word, request.stream, event_};
    const auto [known, fresh] = live_.try_emplace(to_integer(allocation.address), touched);
    if (!fresh) {  // granted although it is live: the earlier content is lost
        damage(known->second, std::min(known->second.range.size, size), begin);
        known->second = touched;
    }
    if (const auto done = device_.write_pattern(begin, word, size, request.stream); !done) {
        fail(done.error());
        live_.erase(known);
        return;
    }
    report_.bytes += size;
}

void TouchingAllocator::check(const Touched& touched) {
    const auto& [range, word, stream, event] = touched;
    const DeviceResult<Bytes> differing =
        device_.check_pattern(range.begin, word, range.size, stream);
    if (!differing)
        return fail(differing.error());
    if (*differing > 0)
        damage(touched, *differing, report_.damaged == 0 ? find_first(touched) : range.begin);
}

void TouchingAllocator::damage(const Touched& touched, Bytes differing, Address first) {
    ++report_.damaged;
    report_.differing += differing;
    if (!report_.first_difference)
        report_.first_difference = TouchDifference{event_, touched.event, first, touched.word};
}

void TouchingAllocator::fail(const DeviceError& error) {
    ++report_.failures;
    if (!report_.first_failure)
        report_.first_failure = error;
}

// The first word of which a byte differs, by halving. O(bytes) in total.
Address TouchingAllocator::find_first(const Touched& touched) {
    Range range = touched.range;
    while (range.size > kTouchingWord) {
        const Bytes half = align_up(range.size / 2, kTouchingWord);
        const DeviceResult<Bytes> differing =
            device_.check_pattern(range.begin, touched.word, half, touched.stream);
        if (!differing)
            break;
        if (*differing > 0)
            range.size = half;
        else
            range = {range.begin + half, range.size - half};
    }
    return range.begin;
}

void TouchingAllocator::check_live() {
    std::vector<Touched> live;
    for (const auto& [address, touched] : live_)
        live.push_back(touched);
    std::sort(live.begin(), live.end(), [](const Touched& a, const Touched& b) {
        return a.event != b.event ? a.event < b.event : a.range.begin < b.range.begin;
    });
    for (const Touched& touched : live)
        check(touched);
    live_.clear();
}

}  // namespace tidemark
