// RecordedSteps: steps of a recorded program, kept so that they can come once more behind its last
// one: a larger step after those recorded, or many more steps.
//
// What a step lets go that an earlier one made is known by its position (SizeLaws::positions) and
// by how many steps ago that was, so a step can follow any other. What never was let go lives on,
// as often as its step comes: caches and leaks grow.
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

// A step that comes once more.
struct AddedStep {
    std::size_t step = 0;  // of StepRequests::steps
    ScaleFactors growth;   // of it
};

class RecordedSteps {
  public:
    // Keeps those of `wanted`, rising. `requests` and `laws` must be of `trace`. O(events); memory
    // O(events of these steps + live). Errors: those of the cursor.
    static Result<RecordedSteps> read(const Trace& trace, const StepRequests& requests,
                                      const SizeLaws& laws, std::span<const std::size_t> wanted);

    // Events of the trace up to the end of its last step.
    std::uint64_t end() const { return end_; }

    // Of the growing bytes that live at some moment of that step the part that outlives it, 0 to 1:
    // near 1 are caches. O(1); that step was wanted.
    double outliving(std::size_t step) const { return steps_.at(step).outliving; }

  private:
    friend class AddedSteps;

    static constexpr std::uint32_t kOwn = 0;  // ages
    static constexpr std::uint32_t kLivesOn = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::uint32_t kNever = kLivesOn;  // lifetimes

    // `event.slot` is, by age: the number of an allocation of this step; of kLivesOn, a slot; else
    // the key of an allocation so many steps ago.
    struct StepEvent {
        TraceEvent event;
        std::uint32_t age = kOwn;
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

    // An allocation of a recorded step that lives at the end of the last one.
    struct Left {
        std::uint32_t step = 0, key = 0, slot = 0;
        std::uint32_t lifetime = kNever;
    };

    class Reader;

    std::map<std::size_t, Step> steps_;
    std::vector<Left> left_;
    std::vector<std::uint32_t> vacant_;  // slots, at the end
    std::uint32_t slot_count_ = 0;
    std::uint64_t end_ = 0;
    Nanoseconds end_time_ = 0;
    std::size_t recorded_ = 0;  // steps
};

// The events of added steps, one step at a time. One thread.
class AddedSteps {
  public:
    // What is given must outlive this; `added` are steps that `steps` has kept.
    AddedSteps(const RecordedSteps& steps, const StepRequests& requests, const SizeLaws& laws,
               std::span<const AddedStep> added, UnknownSizes unknown);

    // The events of the next step instead of those in `events`; false: there is none.
    bool next(std::vector<TraceEvent>& events);

    // Every slot so far is below this.
    std::uint32_t slot_count() const { return slots_.count(); }

  private:
    // The step that made it, counted through, and its position.
    using Key = std::pair<std::uint64_t, std::uint32_t>;

    void live(const Key& key, std::uint32_t slot, std::uint64_t until);
    void allocate(const RecordedSteps::Made& made, const ScaleFactors& growth, TraceEvent& event);
    std::uint32_t find(const TraceEvent& event, std::uint32_t age);

    const RecordedSteps& steps_;
    const StepRequests& requests_;
    const SizeLaws& laws_;
    std::span<const AddedStep> added_;
    UnknownSizes unknown_;
    VacantIds slots_;
    std::map<Key, std::uint32_t> living_;            // slots of what lives from step to step
    std::map<std::uint64_t, std::vector<Key>> due_;  // gone at the end of that step at the latest
    std::vector<std::uint32_t> own_;                 // slots of the step's allocations
    std::uint64_t step_;
    Nanoseconds time_;
    std::size_t next_ = 0;
};

}  // namespace tidemark
