// StepIndex: the steps of a run: its named stretches that are called one and have a number
// ("step 12", "ProfilerStep#12", "iteration 3/90"), or, where it has none, the program's own marks
// that are. What markers over the timeline, the keys to the next one, "go to step 12" and the
// growth of a living program share.
//
// A step that lies within another one is a part of it and isn't counted.
//
// Grows with its history, a part at a time. Memory: 16 bytes a step. The screen's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark::viz {

// The number in the name of a step: a word that is or ends in step, iteration or iter, and digits
// right behind it or behind signs between them. None if it is no step's name.
std::optional<std::uint64_t> step_number(std::string_view name);

struct RunStep {
    EventIndex begin = 0;
    EventIndex end = kNever;  // of a mark: where the next one is
    std::uint64_t number = 0;

    friend bool operator==(const RunStep&, const RunStep&) = default;
};

class StepIndex {
  public:
    // Takes in what `history` has more of, at most `most` of its stretches and as many marks;
    // begins anew with another history. True: there is more to come. O(most).
    bool follow(const std::shared_ptr<const History>& history, std::size_t most);

    // So far, in order of their beginnings.
    std::size_t size() const { return found().size(); }

    // O(1).
    RunStep at(std::size_t i) const;

    std::uint64_t number(std::size_t i) const { return found()[i].number; }

    // Where it begins on the axis: at the run's end if that event isn't there yet.
    Position position(std::size_t i, AxisUnit unit) const;

    // The first step that begins at `position` or later; size() if none does. O(log steps).
    std::size_t first_from(AxisUnit unit, Position position) const;

    // The first one of that number. O(steps).
    std::optional<std::size_t> find(std::uint64_t number) const;

  private:
    struct Found {
        std::uint64_t number = 0;
        std::uint32_t index = 0;  // of the history's stretches, or marks
    };

    const std::vector<Found>& found() const { return ranges_.empty() ? marks_ : ranges_; }

    void take_range(std::uint32_t index);
    bool is_part(const Annotation& range, std::string_view wording, std::uint64_t number) const;

    std::shared_ptr<const History> history_;
    std::size_t taken_ranges_ = 0;
    std::size_t taken_marks_ = 0;
    std::vector<Found> ranges_;
    std::vector<Found> marks_;
    std::string wording_;  // of the last one of ranges_, without its number
};

}  // namespace tidemark::viz
