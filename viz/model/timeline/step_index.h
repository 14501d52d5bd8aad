// StepIndex: the steps of a run: its stretches, or marks, whose family of names is that of its
// steps (replay/facts/step_names.h). Used by markers over the timeline, the keys to the next one,
// "go to step 12" and the growth of a live program. Steps without numbers are counted from 1.
//
// Grows with its history, a part at a time. Memory: 16 bytes a step. The screen's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/facts/step_names.h"
#include "replay/timeline/history.h"

namespace tidemark::viz {

struct RunStep {
    EventIndex begin = 0;
    EventIndex end = kNever;  // of a mark: where the next one is
    std::uint64_t number = 0;

    friend bool operator==(const RunStep&, const RunStep&) = default;
};

class StepIndex {
  public:
    StepIndex() = default;
    StepIndex(const StepIndex&) = delete;
    StepIndex& operator=(const StepIndex&) = delete;
    StepIndex(StepIndex&&) = default;
    StepIndex& operator=(StepIndex&&) = default;
    ~StepIndex() = default;

    // Adds what is new in `history`, at most `most` of its stretches and as many marks; starts over
    // with another history. True: there is more to come. O(most).
    bool follow(const std::shared_ptr<const History>& history, std::size_t most);

    // So far, in order of their starts.
    std::size_t size() const { return found().size(); }

    // O(1).
    RunStep at(std::size_t i) const;

    std::uint64_t number(std::size_t i) const { return found()[i].number; }

    // Its start on the axis: the run's end if that event does not exist yet.
    Position position(std::size_t i, AxisUnit unit) const;

    // The first step that starts at `position` or later; size() if none does. O(log steps).
    std::size_t first_from(AxisUnit unit, Position position) const;

    // The first one of that number. O(steps).
    std::optional<std::size_t> find(std::uint64_t number) const;

  private:
    struct Found {
        std::uint64_t number = 0;
        std::uint32_t index = 0;  // of the history's stretches, or marks
    };

    struct Family {
        facts::StepFamily what;
        std::vector<Found> steps;
    };

    const std::vector<Found>& found() const;
    const std::optional<facts::StepName>& step_name(std::uint32_t name);
    void take_range(std::uint32_t index);
    void take_mark(std::uint32_t index);
    void add(Family& family, const facts::StepName& name, std::uint32_t index, bool is_mark);

    std::shared_ptr<const History> history_;
    std::size_t taken_ranges_ = 0;
    std::size_t taken_marks_ = 0;
    std::unordered_map<std::uint32_t, std::optional<facts::StepName>> names_;  // by string
    std::map<std::string, Family> ranges_;                                     // by family
    std::map<std::string, Family> marks_;
    const Family* best_ = nullptr;
    std::optional<std::uint32_t> open_;  // the last step: a stretch that may be open
};

}  // namespace tidemark::viz
