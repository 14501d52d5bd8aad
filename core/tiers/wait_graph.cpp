// The reduction that finds deadlocks, and its words.
#include "core/tiers/wait_graph.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

// The banker's reduction: those who fit are taken to be served and to give back all, until nobody
// else fits.
class Reduction {
  public:
    explicit Reduction(const WaitPicture& picture)
        : picture_(picture),
          gone_(picture.waiters.size()),
          blockers_(picture.held.size()),
          blocked_(picture.limits.size()) {
        for (const Waiter& waiter : picture.waiters)
            if (waiter.owner != OwnerId::nobody)
                ++owners_[waiter.owner].waiting;
        for (std::size_t at = 0; at < picture.held.size(); ++at)
            block(at);
    }

    // To the end; with the fair order's closures or without.
    void run(bool ordered) {
        while (pass(ordered)) {
        }
    }

    bool gone(std::size_t waiter) const { return gone_[waiter]; }

    // Whether it is held up by the order, as things are.
    bool closed_out(std::size_t waiter) const {
        SpaceMask closed = 0;
        for (std::size_t at = 0; at < waiter; ++at)
            closed |= closed_by(at);
        return (closed & picture_.waiters[waiter].spaces) != 0;
    }

    // Whether anything that he holds is missing to others.
    bool holds(OwnerId owner) const {
        const auto found = owners_.find(owner);
        return found != owners_.end() && !found->second.held.empty();
    }

    // What the space at `position` could still give.
    Bytes obtainable(std::size_t position) const {
        const Bytes limit = picture_.limits[position];
        return limit > blocked_[position] ? limit - blocked_[position] : 0;
    }

  private:
    struct Owner {
        std::size_t waiting = 0;        // requests
        std::vector<std::size_t> held;  // positions in the picture
    };

    void block(std::size_t at) {
        const HeldMemory& memory = picture_.held[at];
        for (const OwnerId owner : memory.owners) {
            const auto found = owners_.find(owner);
            if (found == owners_.end())
                continue;
            found->second.held.push_back(at);
            ++blockers_[at];
        }
        if (blockers_[at] != 0)
            blocked_[memory.space] += memory.size;
    }

    SpaceMask closed_by(std::size_t at) const {
        const Waiter& waiter = picture_.waiters[at];
        return !gone_[at] && waiter.standing.closes ? waiter.spaces : 0;
    }

    bool pass(bool ordered) {
        bool progress = false;
        SpaceMask closed = 0;
        for (std::size_t at = 0; at < picture_.waiters.size(); ++at) {
            const Waiter& waiter = picture_.waiters[at];
            const bool free = !ordered || waiter.standing.may_pass;
            if (!gone_[at] && fits(waiter, free ? waiter.spaces : waiter.spaces & ~closed)) {
                gone_[at] = true;
                progress = true;
                serve(waiter.owner);
            }
            closed |= closed_by(at);
        }
        return progress;
    }

    bool fits(const Waiter& waiter, SpaceMask open) const {
        for (std::size_t space = 0; space < picture_.limits.size(); ++space)
            if ((open & space_bit(space)) != 0 && waiter.size <= obtainable(space))
                return true;
        return false;
    }

    void serve(OwnerId id) {
        const auto found = owners_.find(id);
        if (found == owners_.end() || --found->second.waiting != 0)
            return;
        for (const std::size_t at : found->second.held)
            if (--blockers_[at] == 0)
                blocked_[picture_.held[at].space] -= picture_.held[at].size;
    }

    const WaitPicture& picture_;
    std::vector<bool> gone_;
    std::map<OwnerId, Owner> owners_;    // who wait
    std::vector<std::size_t> blockers_;  // of each held memory: owners who wait
    std::vector<Bytes> blocked_;         // by space: held by those who wait
};

std::size_t choose_victim(const WaitPicture& picture, const Reduction& reduction,
                          const std::vector<std::size_t>& stuck) {
    const auto rank = [&](std::size_t at) {
        const Waiter& waiter = picture.waiters[at];
        return std::pair(reduction.holds(waiter.owner), waiter.arrival);
    };
    return *std::max_element(stuck.begin(), stuck.end(),
                             [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
}

// The words of one report.
class Words {
  public:
    Words(const WaitPicture& picture, const WaitVerdict& verdict, std::span<const SpaceId> spaces,
          const std::map<OwnerId, std::string>& names)
        : picture_(picture), verdict_(verdict), spaces_(spaces), names_(names) {}

    std::string all() const {
        std::string text =
            fmt::format("deadlock of {} request{}", verdict_.stuck.size(),
                        verdict_.stuck.size() == 1 ? " that waits for what its own owner holds"
                                                   : "s that wait for each other's memory");
        SpaceMask wanted = 0;
        for (const std::size_t at : verdict_.stuck) {
            text += fmt::format("\n  {}{}", wish(picture_.waiters[at]),
                                at == verdict_.victim ? " (the last to come)" : "");
            wanted |= picture_.waiters[at].spaces;
        }
        for (std::size_t space = 0; space < spaces_.size(); ++space)
            if ((wanted & space_bit(space)) != 0)
                text += "\n  " + holders(space);
        return text;
    }

  private:
    std::string name(OwnerId owner) const {
        if (const auto named = names_.find(owner); named != names_.end())
            return named->second;
        const auto labelled = std::find_if(
            picture_.waiters.begin(), picture_.waiters.end(), [owner](const Waiter& waiter) {
                return waiter.owner == owner && !waiter.label.empty();
            });
        if (owner != OwnerId::nobody && labelled != picture_.waiters.end())
            return std::string(labelled->label);
        return owner == OwnerId::nobody ? "somebody" : fmt::format("owner {}", to_integer(owner));
    }

    std::string wish(const Waiter& waiter) const {
        std::string places;
        for (std::size_t space = 0; space < spaces_.size(); ++space)
            if ((waiter.spaces & space_bit(space)) != 0)
                places += (places.empty() ? "" : " or ") + to_text(spaces_[space]);
        const std::string who =
            waiter.label.empty() ? name(waiter.owner) : std::string(waiter.label);
        return fmt::format("{} waits for {} of {}", who, format_bytes(waiter.size), places);
    }

    bool is_stuck(OwnerId owner) const {
        return std::any_of(verdict_.stuck.begin(), verdict_.stuck.end(),
                           [&](std::size_t at) { return picture_.waiters[at].owner == owner; });
    }

    // One space: what those who are stuck keep of it.
    std::string holders(std::size_t space) const {
        std::map<OwnerId, Bytes> held;
        Bytes kept = 0;
        for (const HeldMemory& memory : picture_.held) {
            if (memory.space != space)
                continue;
            bool counted = false;
            for (const OwnerId owner : memory.owners) {
                if (!is_stuck(owner))
                    continue;
                held[owner] += memory.size;
                kept += counted ? 0 : memory.size;
                counted = true;
            }
        }
        const Bytes limit = picture_.limits[space];
        std::string text =
            fmt::format("{}: at most {} of {} can come free", to_text(spaces_[space]),
                        format_bytes(limit > kept ? limit - kept : 0), format_bytes(limit));
        for (auto entry = held.begin(); entry != held.end(); ++entry)
            text += fmt::format("{}{} holds {}", entry == held.begin() ? "; " : ", ",
                                name(entry->first), format_bytes(entry->second));
        return text;
    }

    const WaitPicture& picture_;
    const WaitVerdict& verdict_;
    std::span<const SpaceId> spaces_;
    const std::map<OwnerId, std::string>& names_;
};

}  // namespace

WaitVerdict find_deadlock(const WaitPicture& picture) {
    Reduction ordered(picture);
    ordered.run(true);
    std::vector<std::size_t> left;
    for (std::size_t at = 0; at < picture.waiters.size(); ++at)
        if (!ordered.gone(at))
            left.push_back(at);
    WaitVerdict verdict;
    if (left.empty())
        return verdict;
    Reduction free(picture);
    free.run(false);
    for (const std::size_t at : left) {
        const Waiter& waiter = picture.waiters[at];
        if (!free.gone(at))
            verdict.stuck.push_back(at);
        else if (!waiter.standing.may_pass && free.holds(waiter.owner) && ordered.closed_out(at))
            verdict.let_pass.push_back(at);
    }
    if (!verdict.stuck.empty())
        verdict.victim = choose_victim(picture, free, verdict.stuck);
    return verdict;
}

std::string deadlock_text(const WaitPicture& picture, const WaitVerdict& verdict,
                          std::span<const SpaceId> spaces,
                          const std::map<OwnerId, std::string>& names) {
    return Words(picture, verdict, spaces, names).all();
}

WaitGraph::WaitGraph(std::vector<const MemorySpace*> spaces) : spaces_(std::move(spaces)) {
    TM_CHECK(spaces_.size() <= kMaskedSpaces);
    std::transform(spaces_.begin(), spaces_.end(), std::back_inserter(ids_),
                   [](const MemorySpace* space) { return space->id(); });
}

void WaitGraph::set_name(OwnerId owner, std::string name) {
    const std::lock_guard lock(mutex_);
    if (name.empty())
        names_.erase(owner);
    else
        names_[owner] = std::move(name);
}

void WaitGraph::hold(OwnerId owner, std::size_t space, std::uint64_t thing, Bytes size) {
    TM_CHECK(space < spaces_.size() && owner != OwnerId::nobody);
    const std::lock_guard lock(mutex_);
    Thing& held = things_[{space, thing}];
    TM_CHECK(held.owners.empty() || held.size == size);
    held.size = size;
    ++held.owners[owner];
}

void WaitGraph::let_go(OwnerId owner, std::size_t space, std::uint64_t thing) {
    const std::lock_guard lock(mutex_);
    const auto found = things_.find({space, thing});
    TM_CHECK(found != things_.end());
    const auto holder = found->second.owners.find(owner);
    TM_CHECK(holder != found->second.owners.end());
    if (--holder->second != 0)
        return;
    found->second.owners.erase(holder);
    if (found->second.owners.empty())
        things_.erase(found);
}

WaitPicture WaitGraph::picture(std::span<const Waiter> waiters) const {
    WaitPicture picture;
    picture.waiters.assign(waiters.begin(), waiters.end());
    for (std::size_t at = 0; at < spaces_.size(); ++at) {
        const MemorySpace& space = *spaces_[at];
        // Every size of the space is a multiple of its granularity, and so is what it can give.
        const Bytes limit = space.thresholds().limit;
        picture.limits.push_back(limit - limit % space.spec().granularity);
        for (const ReservationFacts& facts : space.reservations())
            if (facts.owner != OwnerId::nobody)
                picture.held.push_back({at, std::max(facts.size, facts.used), {facts.owner}});
    }
    const std::lock_guard lock(mutex_);
    for (const auto& [key, thing] : things_) {
        HeldMemory& memory = picture.held.emplace_back(HeldMemory{key.first, thing.size, {}});
        for (const auto& holder : thing.owners)
            memory.owners.push_back(holder.first);
    }
    return picture;
}

WaitFindings WaitGraph::find(std::span<const Waiter> waiters) {
    const WaitPicture now = picture(waiters);
    WaitVerdict verdict = find_deadlock(now);
    WaitFindings findings;
    if (!verdict.stuck.empty()) {
        const std::lock_guard lock(mutex_);
        findings.report = deadlock_text(now, verdict, ids_, names_);
    }
    findings.stuck = std::move(verdict.stuck);
    findings.victim = verdict.victim;
    findings.let_pass = std::move(verdict.let_pass);
    return findings;
}

}  // namespace tidemark
