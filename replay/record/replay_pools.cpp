// DeviceReplay: to which pool each segment belongs, and the comparison of the state at the end.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "replay/record/device_replay.h"

namespace tidemark {
namespace {

constexpr std::size_t kNeighbours = 6;

std::string describe(const TraceEvent& event) {
    return fmt::format("{} {} bytes at {:#x} on stream {}", to_text(event.kind), event.size,
                       event.address, to_integer(event.stream));
}

std::string describe(const ScriptedDevice::Call& call) {
    const std::string_view name = call.call == DeviceCall::malloc       ? "segment_alloc"
                                  : call.call == DeviceCall::free       ? "segment_free"
                                  : call.call == DeviceCall::set_access ? "segment_map"
                                                                        : "segment_unmap";
    return fmt::format("{} {} bytes at {:#x}", name, call.range.size, to_integer(call.range.begin));
}

}  // namespace

const DeviceReplay::Held* DeviceReplay::held_at(Address address) const {
    auto found = held_.upper_bound(address);
    if (found == held_.begin())
        return nullptr;
    --found;
    return address <= found->second.end ? &found->second : nullptr;
}

const SegmentLife* DeviceReplay::life_born_at(std::size_t step) const {
    const auto found = record_->births.find(step);
    return found == record_->births.end() ? nullptr : &record_->lives[found->second];
}

PoolId DeviceReplay::pool_of(const SegmentLife& life) const {
    return tidemark::pool_of(*record_, life, findings_.chosen);
}

PoolId DeviceReplay::pool_of(const TraceEvent& request) const {
    if (!setup_.infers_pools)
        return PoolId{request.aux};
    for (const std::size_t step : segments_) {
        if (const SegmentLife* const life = life_born_at(step))
            return pool_of(*life);
    }
    const Held* const held = held_at(Address{request.address});
    return held != nullptr ? held->pool : PoolId{request.aux};
}

// Of the next request that was granted.
PoolId DeviceReplay::next_pool() const {
    for (std::size_t step = position_ + 1; step < record_->steps.size(); ++step) {
        if (event(step).kind != EventKind::allocate)
            continue;
        const std::size_t life = record_->life_of_request[step];
        return life == DeviceRecord::kNoLife ? PoolId{event(step).aux}
                                             : pool_of(record_->lives[life]);
    }
    return PoolId::default_pool;
}

std::vector<std::uint32_t> DeviceReplay::open_choices() const {
    std::vector<std::uint32_t> open;
    if (!setup_.infers_pools || at_end() || event(position_).kind != EventKind::allocate)
        return open;
    for (const std::size_t step : segments_) {
        const SegmentLife* const life = life_born_at(step);
        if (life == nullptr || life->known)
            continue;
        for (const std::uint32_t key : {group_key(*life), life_key(*record_, *life)}) {
            if (findings_.chosen.count(key) == 0)
                open.push_back(key);
        }
    }
    return open;
}

void DeviceReplay::follow_segment(std::size_t step) {
    const TraceEvent& entry = event(step);
    const Address begin{entry.address};
    const Address end = begin + entry.size;
    if (const SegmentLife* const life = life_born_at(step)) {
        held_[begin] = {end, entry.size, pool_of(*life), life->known ? nullptr : life};
        return;
    }
    auto found = held_.upper_bound(begin);
    if (found == held_.begin() || begin > (--found)->second.end)
        return;
    Held& held = found->second;
    if (entry.kind == EventKind::segment_map) {
        held.end = std::max(held.end, end);
        held.mapped += entry.size;
        return;
    }
    held.mapped -= std::min(held.mapped, entry.size);
    if (held.mapped == 0)
        held_.erase(found);
}

// Forks are known by the segment that they are about; groups have small numbers.
std::uint32_t DeviceReplay::choice_about(Address address) const {
    constexpr std::uint32_t kFork = 0x80000000U;
    const auto after = held_.upper_bound(address);
    const Address begin = after == held_.begin() ? address : std::prev(after)->first;
    return kFork | static_cast<std::uint32_t>(to_integer(begin) >> 21U & (kFork - 1));
}

// What a contradiction is about: first the segments on which the model and the record differ, then
// those that both name.
void DeviceReplay::find_suspects(const Attempt& attempt) {
    suspects_ = {};
    std::vector<ScriptedDevice::Call> recorded = script();
    for (const ScriptedDevice::Call& call : recorded) {
        const bool both =
            std::find(attempt.calls.begin(), attempt.calls.end(), call) != attempt.calls.end();
        suspect(call.range.begin, both);
    }
    for (const ScriptedDevice::Call& call : attempt.calls) {
        if (std::find(recorded.begin(), recorded.end(), call) == recorded.end())
            suspect(call.range.begin, false);
    }
    for (const std::size_t step : segments_) {
        const SegmentLife* const life = life_born_at(step);
        if (life != nullptr && !life->known)
            add_keys(*life, suspects_.prime);
    }
    const bool same =
        at_end() || (attempt.granted && granted_as_recorded(attempt, event(position_)));
    if (same)
        return;
    if (attempt.granted && *attempt.granted)
        suspect((*attempt.granted)->address, false);
    if (event(position_).kind == EventKind::allocate)
        suspect(Address{event(position_).address}, false);
}

void DeviceReplay::add_keys(const SegmentLife& life, std::vector<std::uint32_t>& keys) const {
    keys.push_back(group_key(life));
    keys.push_back(life_key(*record_, life));
}

void DeviceReplay::suspect(Address address, bool is_common) {
    std::vector<std::uint32_t>& tier = is_common ? suspects_.common : suspects_.prime;
    const Held* const held = held_at(address);
    if (held != nullptr && held->life != nullptr)
        add_keys(*held->life, tier);
    if (setup_.infers_switches)
        tier.push_back(choice_about(address));
}

// The private pools to which the segments belong that the record gives back here.
std::vector<PoolId> DeviceReplay::ended_pools() const {
    std::vector<PoolId> pools;
    if (!setup_.infers_pools)
        return pools;
    for (const std::size_t step : segments_) {
        const EventKind kind = event(step).kind;
        if (!is_release(kind))
            continue;
        const Held* const held = held_at(Address{event(step).address});
        if (held != nullptr && held->pool != PoolId::default_pool &&
            std::find(pools.begin(), pools.end(), held->pool) == pools.end())
            pools.push_back(held->pool);
    }
    return pools;
}

void DeviceReplay::explain(const Attempt& attempt, const TraceEvent* request) {
    if (findings_.first_mismatch)
        return;
    const std::size_t at = request != nullptr || segments_.empty() ? position_ : segments_.front();
    const std::size_t step = std::min(at, record_->steps.size() - 1);
    Mismatch mismatch;
    mismatch.event = record_->steps[step].index;
    mismatch.what = event(step);
    for (const std::size_t entry : segments_)
        mismatch.expected += describe(event(entry)) + "; ";
    mismatch.expected += request != nullptr ? describe(*request) : "";
    if (attempt.explanation.emptied)
        mismatch.actual = "cached memory released; ";
    for (const ScriptedDevice::Call& call : attempt.calls)
        mismatch.actual += describe(call) + "; ";
    if (attempt.granted && *attempt.granted)
        mismatch.actual += fmt::format("granted at {:#x}", to_integer((*attempt.granted)->address));
    else if (attempt.granted)
        mismatch.actual +=
            fmt::format("out of memory ({})", to_text(attempt.granted->error().cause));
    for (std::size_t i = step - std::min(step, kNeighbours); i <= step; ++i)
        mismatch.neighbourhood.push_back("recorded  " + describe(event(i)));
    for (std::string& line : blocks_near(Address{event(step).address}))
        mismatch.neighbourhood.push_back(std::move(line));
    findings_.first_mismatch = std::move(mismatch);
}

std::vector<std::string> DeviceReplay::blocks_near(Address address) const {
    std::vector<Region> regions;
    model_.allocator->for_each_region([&](const Region& region) {
        if (address >= region.segment.begin && address < region.segment.begin + region.segment.size)
            regions.push_back(region);
    });
    const auto after = std::find_if(regions.begin(), regions.end(), [&](const Region& region) {
        return region.range.begin > address;
    });
    const auto at = after - regions.begin();
    std::vector<std::string> lines;
    for (auto i = std::max<std::ptrdiff_t>(0, at - 3);
         i < std::min<std::ptrdiff_t>(std::ssize(regions), at + 3); ++i) {
        const Region& region = regions[static_cast<std::size_t>(i)];
        static constexpr std::string_view kStates[] = {"allocated", "waiting", "free", "hole"};
        lines.push_back(fmt::format("model     {:#x} {:>12} bytes {} (stream {}, pool {})",
                                    to_integer(region.range.begin), region.range.size,
                                    kStates[static_cast<std::size_t>(region.state)],
                                    to_integer(region.stream), to_integer(region.pool)));
    }
    return lines;
}

// The state at the end against the snapshot's own list of blocks.
std::uint64_t DeviceReplay::compare_end() {
    std::vector<Region> regions;
    model_.allocator->for_each_region([&](const Region& region) { regions.push_back(region); });
    std::sort(regions.begin(), regions.end(),
              [](const Region& a, const Region& b) { return a.range.begin < b.range.begin; });
    std::uint64_t different = 0;
    const std::vector<TraceEvent>& blocks = record_->final_blocks;
    for (std::size_t i = 0; i < std::max(regions.size(), blocks.size()); ++i) {
        bool same = i < regions.size() && i < blocks.size();
        if (same) {
            // A block that was let go before the trace began stays allocated in the model until it
            // is finished: the same bytes.
            const bool held = (blocks[i].flags & (kActive | kPending)) != 0;
            same = to_integer(regions[i].range.begin) == blocks[i].address &&
                   regions[i].range.size == blocks[i].size &&
                   held == (regions[i].state != Region::State::free);
        }
        ++findings_.final_blocks;
        ++findings_.decisions;
        if (same)
            continue;
        ++different;
        if (!findings_.first_mismatch) {
            Mismatch mismatch;
            mismatch.event = record_->steps.empty() ? 0 : record_->steps.back().index + 1;
            mismatch.what = i < blocks.size() ? blocks[i] : TraceEvent{};
            mismatch.expected = i < blocks.size() ? describe(blocks[i]) : "nothing";
            mismatch.actual = i < regions.size() ? fmt::format("a block of {} bytes at {:#x}",
                                                               regions[i].range.size,
                                                               to_integer(regions[i].range.begin))
                                                 : "nothing";
            mismatch.neighbourhood = blocks_near(Address{mismatch.what.address});
            findings_.first_mismatch = std::move(mismatch);
        }
    }
    findings_.mismatches += different;
    return different;
}

}  // namespace tidemark
