// RecordedSteps: the steps of a recorded program, kept so that they can be repeated, in another
// order and with other sizes.
//
// A block that one step frees and an earlier one made is identified by its position
// (SizeLaws::positions) and by how many steps ago that was, so a step can follow any other. Blocks
// that were never freed stay live each time their step comes: caches and leaks grow.
//
// Immutable; may be shared by threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/vacant_ids.h"
#include "replay/analysis/scale/size_laws.h"
#include "replay/analysis/scale/step_requests.h"
#include "traces/model/trace.h"

namespace tidemark {

// A step that comes behind others.
struct AddedStep {
    std::size_t step = 0;  // of StepRequests::steps; their number: what came after the last one
    ScaleFactors growth;   // of it
};

class RecordedSteps {
  public:
    // Keeps those of `wanted`, to follow the first steps, as many as one of `before` says (at least
    // 1); both rising. `requests` and `laws` must be of `trace`. O(events); memory O(events of
    // these steps + live). Errors: those of the cursor.
    static Result<RecordedSteps> read(const Trace& trace, const StepRequests& requests,
                                      const SizeLaws& laws, std::span<const std::size_t> wanted,
                                      std::span<const std::size_t> before);

    // Events of the trace up to the end of its first `before` steps, as one that was given.
    std::uint64_t events_of(std::size_t before) const { return bases_.at(before).events; }

    // Of that step, which must be one of those requested. O(1).
    std::size_t events_in(std::size_t step) const { return steps_.at(step).events.size(); }

    // Of the growing bytes that are live at some moment of that step, the part that outlives it, 0
    // to 1: near 1 they are caches. O(1); the step must be one of those requested.
    double outliving(std::size_t step) const { return steps_.at(step).outliving; }

  private:
    friend class AddedSteps;

    static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();  // lifetimes

    enum class Maker : std::uint8_t { none, own, ago, step };

    // What the slot of `event` means, by which step made its allocation: no slot; the number of an
    // allocation of this step; else the key of an allocation, of so many steps ago or of a certain
    // step.
    struct StepEvent {
        TraceEvent event;
        std::uint32_t step = 0;
        Maker maker = Maker::none;
    };

    // An allocation of a step.
    struct Made {
        std::uint32_t key = 0;            // its position; what has none has a key of its own
        std::uint32_t lifetime = kNever;  // in steps
        std::uint32_t request = std::numeric_limits<std::uint32_t>::max();  // none: not one
    };

    struct Step {
        std::vector<StepEvent> events;
        std::vector<Made> made;
        Nanoseconds begin = 0, length = 0;
        double outliving = 0;
    };

    // An allocation that is live where others come.
    struct Left {
        std::uint32_t step = 0, key = 0, slot = 0;
        std::uint32_t lifetime = kNever;
    };

    // The end of some first steps.
    struct Base {
        std::uint64_t events = 0;
        Nanoseconds time = 0;
        std::vector<Left> left;
        std::vector<std::uint32_t> vacant;  // slots
    };

    class Reader;

    std::map<std::size_t, Step> steps_;
    std::map<std::size_t, Base> bases_;  // by how many steps
};

// The events of added steps, one step at a time. One thread.
class AddedSteps {
  public:
    // What is given must outlive this; `steps` has kept what is added, and that it comes behind
    // the first `before`.
    AddedSteps(const RecordedSteps& steps, const StepRequests& requests, const SizeLaws& laws,
               std::size_t before, std::span<const AddedStep> added, double unknown);

    // The events of the next step instead of those in `events`; false: there is none.
    bool next(std::vector<TraceEvent>& events);

    // Every slot so far is below this.
    std::uint32_t slot_count() const { return slots_.count(); }

  private:
    // The step that made it, counted through, and its position.
    using Key = std::pair<std::uint64_t, std::uint32_t>;

    void live(const Key& key, std::uint32_t slot, std::uint32_t lifetime);
    void allocate(const RecordedSteps::Made& made, const ScaleFactors& growth, TraceEvent& event);
    std::uint32_t find(const RecordedSteps::StepEvent& recorded);

    const RecordedSteps& steps_;
    const StepRequests& requests_;
    const SizeLaws& laws_;
    std::span<const AddedStep> added_;
    double unknown_;
    VacantIds slots_;

    struct Living {
        std::uint32_t slot = 0;
        bool ends = false;  // some step lets it go
    };

    std::map<Key, Living> living_;                   // from step to step
    std::map<std::uint64_t, std::vector<Key>> due_;  // freed at the end of that step at the latest
    std::vector<std::uint32_t> own_;                 // slots of the step's allocations
    std::uint64_t step_;
    Nanoseconds time_;
    std::size_t next_ = 0;
};

}  // namespace tidemark
