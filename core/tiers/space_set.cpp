// The spaces, and the bells that tell the queue of freed capacity.
#include "core/tiers/space_set.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace tidemark {
namespace {

std::vector<std::unique_ptr<MemorySpace>> make_spaces(const MachineSpec& machine) {
    std::vector<std::unique_ptr<MemorySpace>> spaces;
    std::transform(machine.spaces.begin(), machine.spaces.end(), std::back_inserter(spaces),
                   [](const SpaceSpec& spec) { return std::make_unique<MemorySpace>(spec); });
    return spaces;
}

void add(SpaceCounters& sum, const SpaceCounters& counters) {
    sum.allocated += counters.allocated;
    sum.reserved += counters.reserved;
    sum.unused_reserved += counters.unused_reserved;
    sum.used += counters.used;
    sum.peak_used += counters.peak_used;
    sum.reservations += counters.reservations;
    sum.charges += counters.charges;
}

}  // namespace

class SpaceSet::Bell final : public CapacityListener {
  public:
    Bell(WaitQueue& queue, SpaceMask space) : queue_(queue), space_(space) {}

    void capacity_freed(SpaceId) override { queue_.notify(space_); }

  private:
    WaitQueue& queue_;
    SpaceMask space_;
};

Result<std::unique_ptr<SpaceSet>> SpaceSet::make(const MachineSpec& machine, WaitOptions options,
                                                 bool detect_deadlocks) {
    TM_TRY(machine.validate());
    if (machine.spaces.empty())
        return fail(ErrorCode::bad_input, "a machine without memory spaces", machine.name);
    if (machine.spaces.size() > kMaskedSpaces)
        return fail(ErrorCode::bad_input,
                    fmt::format("{} memory spaces; {} at most can be waited for",
                                machine.spaces.size(), kMaskedSpaces),
                    machine.name);
    return std::unique_ptr<SpaceSet>(new SpaceSet(machine, options, detect_deadlocks));
}

SpaceSet::SpaceSet(const MachineSpec& machine, WaitOptions options, bool detect_deadlocks)
    : machine_(machine), spaces_(make_spaces(machine)), graph_(views()), queue_([&] {
          if (options.detector == nullptr && detect_deadlocks)
              options.detector = &graph_;
          return options;
      }()) {
    for (std::size_t at = 0; at < spaces_.size(); ++at) {
        bells_.push_back(std::make_unique<Bell>(queue_, space_bit(at)));
        spaces_[at]->set_capacity_listener(bells_.back().get());
    }
}

SpaceSet::~SpaceSet() {
    queue_.shut_down();
    for (const auto& space : spaces_)
        space->set_capacity_listener(nullptr);
}

std::vector<const MemorySpace*> SpaceSet::views() const {
    std::vector<const MemorySpace*> views;
    std::transform(spaces_.begin(), spaces_.end(), std::back_inserter(views),
                   [](const auto& space) { return space.get(); });
    return views;
}

std::optional<std::size_t> SpaceSet::position(SpaceId id) const {
    const auto found = std::find_if(spaces_.begin(), spaces_.end(),
                                    [id](const auto& space) { return space->id() == id; });
    if (found == spaces_.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - spaces_.begin());
}

MemorySpace* SpaceSet::find(SpaceId id) const {
    const auto at = position(id);
    return at ? spaces_[*at].get() : nullptr;
}

std::vector<MemorySpace*> SpaceSet::of_tier(Tier tier) const {
    std::vector<MemorySpace*> found;
    for (const auto& space : spaces_)
        if (space->id().tier == tier)
            found.push_back(space.get());
    return found;
}

SpaceCounters SpaceSet::counters() const {
    SpaceCounters sum;
    for (const auto& space : spaces_)
        add(sum, space->counters());
    return sum;
}

SpaceCounters SpaceSet::counters(Tier tier) const {
    SpaceCounters sum;
    for (const MemorySpace* space : of_tier(tier))
        add(sum, space->counters());
    return sum;
}

Bytes SpaceSet::available() const {
    Bytes sum = 0;
    for (const auto& space : spaces_)
        sum += space->available();
    return sum;
}

Bytes SpaceSet::available(Tier tier) const {
    Bytes sum = 0;
    for (const MemorySpace* space : of_tier(tier))
        sum += space->available();
    return sum;
}

}  // namespace tidemark
