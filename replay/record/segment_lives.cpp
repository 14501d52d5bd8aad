// From births and deaths of segments to the pools that they were in.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "replay/record/device_record.h"

namespace tidemark {
namespace {

// A live segment, or a reservation with the addresses that it has had pages at.
struct Held {
    Address end = Address::null;  // of the segment; the highest end of pages so far
    Bytes mapped = 0;
    std::size_t life = 0;
    bool is_seed = false;
    bool small = false;  // of a seed
};

using HeldMap = std::map<Address, Held>;

HeldMap::iterator holder(HeldMap& held, Address address) {
    auto found = held.upper_bound(address);
    if (found == held.begin())
        return held.end();
    --found;
    return address <= found->second.end ? found : held.end();
}

// An entry that frees memory, and the lifetime that it ends; kSeed: of an allocation that was live
// before.
struct Release {
    static constexpr std::size_t kSeed = ~std::size_t{0};

    std::size_t step = 0;
    std::size_t life = kSeed;
    bool small = false;
    bool unmaps = false;
    StreamId stream = StreamId::default_stream;
    Bytes size = 0;
    Address begin = Address::null;
};

// The walk that finds births and deaths.
class Lives {
  public:
    explicit Lives(DeviceRecord& record) : record_(record) {
        for (const SeedSegment& seed : record.seeds) {
            const Address begin = seed.expandable ? seed.reserved : seed.range.begin;
            Held& held = held_[begin];
            held.end = std::max(held.end, seed.range.begin + seed.range.size);
            held.mapped += seed.range.size;
            held.is_seed = true;
            held.small = seed.expandable ? seed.small : seed.range.size == 2_MiB;
        }
    }

    // Every release, in order. Whether a life is of small blocks is known after the walk.
    std::vector<Release> take_releases() {
        for (Release& release : releases_) {
            if (release.life != Release::kSeed)
                release.small = record_.lives[release.life].small;
        }
        return std::move(releases_);
    }

    void walk() {
        for (std::size_t i = 0; i < record_.steps.size(); ++i) {
            const TraceEvent& event = record_.steps[i].event;
            const Range range{Address{event.address}, event.size};
            if (event.kind == EventKind::segment_alloc)
                bear(i, range, event);
            else if (event.kind == EventKind::segment_map)
                map(i, range, event);
            else if (event.kind == EventKind::segment_free ||
                     event.kind == EventKind::segment_unmap)
                release(i, range, event);
            else if (event.kind == EventKind::allocate)
                note_request(i, range);
        }
    }

    // The life of what is held at `address` at the end, if it was born within the trace.
    SegmentLife* alive_at(Address address) {
        const auto found = holder(held_, address);
        return found == held_.end() || found->second.is_seed ? nullptr
                                                             : &record_.lives[found->second.life];
    }

  private:
    void bear(std::size_t step, Range range, const TraceEvent& event) {
        record_.births[step] = record_.lives.size();
        held_[range.begin] = {range.begin + range.size, range.size, record_.lives.size(), false,
                              false};
        SegmentLife life;
        life.birth = step;
        life.begin = range.begin;
        life.stream = event.stream;
        life.small = range.size == 2_MiB;
        life.pool = PoolId{event.aux};
        record_.lives.push_back(life);
    }

    void map(std::size_t step, Range range, const TraceEvent& event) {
        const auto found = holder(held_, range.begin);
        if (found == held_.end() || !same_reservation(found->second, event)) {
            bear(step, range, event);
            return;
        }
        found->second.end = std::max(found->second.end, range.begin + range.size);
        found->second.mapped += range.size;
    }

    bool same_reservation(const Held& held, const TraceEvent& event) const {
        return held.is_seed || record_.lives[held.life].stream == event.stream;
    }

    void release(std::size_t step, Range range, const TraceEvent& event) {
        const auto found = holder(held_, range.begin);
        if (found == held_.end())
            return;
        const Held& held = found->second;
        releases_.push_back({step, held.is_seed ? Release::kSeed : held.life, held.small,
                             event.kind == EventKind::segment_unmap, event.stream, range.size,
                             range.begin});
        found->second.mapped -= std::min(held.mapped, range.size);
        if (held.mapped != 0)
            return;
        if (!held.is_seed)
            record_.lives[held.life].death = step;
        held_.erase(found);
    }

    // Pages come in pieces of 2 MiB for small blocks and 20 MiB for large ones; where both would
    // do, the blocks decide.
    void note_request(std::size_t step, Range range) {
        const auto found = holder(held_, range.begin);
        if (found == held_.end() || found->second.is_seed)
            return;
        SegmentLife& life = record_.lives[found->second.life];
        record_.life_of_request[step] = found->second.life;
        life.whole = life.whole && range.begin == life.begin;
        if (record_.has_pages && range.size > 0)
            life.small = range.size <= 1_MiB;
    }

    DeviceRecord& record_;
    HeldMap held_;
    std::vector<Release> releases_;
};

bool is_before(const Release& a, const Release& b) {
    return std::tie(a.unmaps, a.stream, a.size, a.begin) <
           std::tie(b.unmaps, b.stream, b.size, b.begin);
}

// Can they follow each other when one pool of one kind releases its segments?
bool goes_on(const Release& a, const Release& b) {
    return a.small == b.small && is_before(a, b);
}

// One run of releases: which of them are of private pools, as far as the order shows.
class RunOfReleases {
  public:
    RunOfReleases(std::span<const Release> run, bool captures) : run_(run), captures_(captures) {}

    // The first release that must be of a private pool: large ones of the default pool come before
    // its small ones, and those before anything else. run.size(): there is none.
    std::size_t first_private() const {
        std::size_t change = 1;
        while (change < run_.size() && !(run_[change - 1].small && !run_[change].small))
            ++change;
        if (change >= run_.size())
            return run_.size();
        // The small ones before the change: of the default pool, of the private one, or of both.
        std::size_t begin = change;
        while (begin > 0 && run_[begin - 1].small) {
            --begin;
            if (begin > 0 && run_[begin - 1].small && !goes_on(run_[begin - 1], run_[begin]))
                return begin;
        }
        return begin == 0 ? 0 : change;
    }

    // In a process that captures graphs, other streams than the default are those of captures.
    bool is_private(std::size_t i, std::size_t first) const {
        return captures_ ? run_[i].stream != StreamId::default_stream || i >= first : i >= first;
    }

  private:
    std::span<const Release> run_;
    bool captures_;
};

// Do large ones of another stream than the default follow small ones? They were captured, then.
bool shows_capture(std::span<const Release> run) {
    for (std::size_t i = 1; i < run.size(); ++i) {
        if (run[i - 1].small && !run[i].small && run[i].stream != StreamId::default_stream)
            return true;
    }
    return false;
}

class Assumption {
  public:
    explicit Assumption(DeviceRecord& record) : record_(record), next_pool_(record.next_pool) {}

    void assume(std::span<const Release> run) {
        const RunOfReleases order(run, record_.captures);
        const std::size_t first = order.first_private();
        bool was_private = false;
        for (std::size_t i = 0; i < run.size(); ++i) {
            const bool is_private = order.is_private(i, first);
            const bool same = i > 0 && is_private == was_private && goes_on(run[i - 1], run[i]) &&
                              run[i - 1].stream == run[i].stream;
            if (!same)
                ++record_.groups;
            if (i > 0 && was_private && is_private && is_another_pool(run[i - 1], run[i]))
                ++next_pool_;
            was_private = is_private;
            if (run[i].life != Release::kSeed)
                decide(record_.lives[run[i].life], is_private);
        }
        ++next_pool_;
    }

    std::uint32_t next_pool() const { return next_pool_; }

  private:
    // A pool releases its small ones first, in order, then its large ones, in order.
    static bool is_another_pool(const Release& before, const Release& now) {
        return before.small == now.small ? !is_before(before, now) : now.small;
    }

    void decide(SegmentLife& life, bool is_private) {
        if (life.known)
            return;
        life.group = record_.groups - 1;
        const PoolId own{next_pool_};
        life.pool = is_private ? own : PoolId::default_pool;
        life.instead = is_private ? PoolId::default_pool : own;
        record_.has_unknown_pools = true;
    }

    DeviceRecord& record_;
    std::uint32_t next_pool_;
};

// Inside the scope of a private pool, PyTorch releases only that pool's own blocks of
// max_split_size and above to make room, one or several from the largest down: such releases just
// before a new segment of a private pool belong to that pool.
void follow_requests(DeviceRecord& record, std::span<const Release> run) {
    const auto born = record.births.find(run.back().step + 1);
    if (born == record.births.end() || record.max_split == 0)
        return;
    const SegmentLife next = record.lives[born->second];
    bool own_room = next.pool != PoolId::default_pool;
    for (std::size_t i = 0; i < run.size(); ++i)
        own_room = own_room && run[i].size >= record.max_split && run[i].stream == next.stream &&
                   (i == 0 || is_before(run[i], run[i - 1]));
    if (!own_room)
        return;
    for (const Release& release : run) {
        if (release.life == Release::kSeed || record.lives[release.life].known)
            continue;
        record.lives[release.life].pool = next.pool;
        record.lives[release.life].instead = PoolId::default_pool;
    }
}

// Private pools in which several small requests were live, and never two in one segment.
void find_whole_pools(DeviceRecord& record) {
    constexpr std::size_t kEnough = 3;
    std::map<PoolId, std::size_t> small_lives;
    std::set<PoolId> split;
    for (const SegmentLife& life : record.lives) {
        small_lives[life.pool] += life.small ? 1U : 0U;
        if (!life.whole)
            split.insert(life.pool);
    }
    for (const auto& [pool, count] : small_lives) {
        if (pool != PoolId::default_pool && count >= kEnough && split.count(pool) == 0)
            record.whole_pools.insert(pool);
    }
}

}  // namespace

void assume_pools(DeviceRecord& record) {
    record.life_of_request.assign(record.steps.size(), DeviceRecord::kNoLife);
    Lives lives(record);
    lives.walk();
    for (const TraceEvent& segment : record.final_segments) {
        if (SegmentLife* life = lives.alive_at(Address{segment.address})) {
            life->pool = PoolId{segment.aux};
            life->small = (segment.flags & kSmallPool) != 0;
        }
    }
    for (SegmentLife& life : record.lives)
        life.known = life.death == SegmentLife::kAlive || life.pool != PoolId::default_pool;
    const std::vector<Release> releases = lives.take_releases();
    std::vector<std::span<const Release>> runs;
    for (std::size_t begin = 0; begin < releases.size();) {
        std::size_t end = begin + 1;
        const auto follows = [&](std::size_t i) {
            for (std::size_t step = releases[i - 1].step; step < releases[i].step; ++step) {
                if (!is_release(record.steps[step].event.kind))
                    return false;
            }
            return true;
        };
        while (end < releases.size() && follows(end))
            ++end;
        runs.push_back(std::span(releases).subspan(begin, end - begin));
        record.captures = record.captures || shows_capture(runs.back());
        begin = end;
    }
    Assumption assumption(record);
    for (const std::span<const Release> run : runs)
        assumption.assume(run);
    // Later segments first: earlier ones are assumed to have the same pool.
    for (auto run = runs.rbegin(); run != runs.rend(); ++run)
        follow_requests(record, *run);
    record.first_own_pool = assumption.next_pool();
    find_whole_pools(record);
}

PoolId pool_of(const DeviceRecord& record, const SegmentLife& life, const PoolChoices& chosen) {
    if (life.known)
        return life.pool;
    for (const std::uint32_t key : {life_key(record, life), group_key(life)}) {
        const auto choice = chosen.find(key);
        if (choice == chosen.end() || choice->second == PoolChoice::likelier)
            continue;
        return choice->second == PoolChoice::instead ? life.instead
                                                     : PoolId{record.first_own_pool + key};
    }
    return life.pool;
}

std::vector<std::pair<std::size_t, PoolId>> changed_pools(const DeviceRecord& record,
                                                          const PoolChoices& chosen) {
    std::vector<std::pair<std::size_t, PoolId>> changes;
    for (std::size_t step = 0; step < record.life_of_request.size(); ++step) {
        if (record.life_of_request[step] == DeviceRecord::kNoLife)
            continue;
        const PoolId pool = pool_of(record, record.lives[record.life_of_request[step]], chosen);
        if (pool != PoolId{record.steps[step].event.aux})
            changes.emplace_back(step, pool);
    }
    return changes;
}

}  // namespace tidemark
