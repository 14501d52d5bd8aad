// Keeps the stretches and marks that are steps, family by family.
#include "viz/model/timeline/step_index.h"

#include <algorithm>

#include "viz/model/timeline/merged_ranges.h"

namespace tidemark::viz {
namespace {

// A name without a number is a step's if it repeats.
constexpr std::size_t kLeastUnnumbered = 2;

}  // namespace

const std::vector<StepIndex::Found>& StepIndex::found() const {
    static const std::vector<Found> none;
    return best_ == nullptr ? none : best_->steps;
}

const std::optional<facts::StepName>& StepIndex::step_name(std::uint32_t name) {
    const auto [entry, fresh] = names_.try_emplace(name);
    if (fresh)
        entry->second = facts::parse_step_name(history_->strings()[name]);
    return entry->second;
}

bool StepIndex::follow(const std::shared_ptr<const History>& history, std::size_t most) {
    if (history_ != history) {
        *this = {};
        history_ = history;
    }
    const HistoryCounts there = history->counts();
    const std::size_t ranges = std::min(there.annotations, taken_ranges_ + most);
    for (; taken_ranges_ < ranges; ++taken_ranges_)
        take_range(static_cast<std::uint32_t>(taken_ranges_));
    const std::size_t marks = std::min(there.marks, taken_marks_ + most);
    for (; taken_marks_ < marks; ++taken_marks_)
        take_mark(static_cast<std::uint32_t>(taken_marks_));
    return taken_ranges_ < there.annotations || taken_marks_ < there.marks;
}

void StepIndex::take_range(std::uint32_t index) {
    const Annotation range = history_->annotation(index);
    const auto& name = step_name(range.name);
    if (!name)
        return;
    if (open_) {
        const Annotation open = history_->annotation(*open_);
        if (open.end > range.begin && facts::is_part_of(*step_name(open.name), *name))
            return;
    }
    if (name->kind == facts::StepName::Kind::step && name->number)
        open_ = index;
    add(ranges_[name->family], *name, index, false);
}

void StepIndex::take_mark(std::uint32_t index) {
    const Mark mark = history_->mark(index);
    if (mark.kind != MarkKind::point)
        return;
    if (const auto& name = step_name(mark.name))
        add(marks_[name->family], *name, index, true);
}

void StepIndex::add(Family& family, const facts::StepName& name, std::uint32_t index,
                    bool is_mark) {
    if (family.steps.empty())
        family.what = {name.kind, name.number.has_value(), is_mark, 0,
                       is_mark ? history_->mark(index).event : history_->annotation(index).begin};
    family.steps.push_back({name.number.value_or(family.steps.size() + 1), index});
    family.what.count = family.steps.size();
    const bool comes_again = name.number || family.steps.size() >= kLeastUnnumbered;
    if (comes_again && (best_ == nullptr || facts::goes_before(family.what, best_->what)))
        best_ = &family;
}

RunStep StepIndex::at(std::size_t i) const {
    const std::vector<Found>& all = found();
    if (!best_->what.is_mark) {
        const Annotation range = history_->annotation(all[i].index);
        return {range.begin, range.end, all[i].number};
    }
    const EventIndex end = i + 1 < all.size() ? history_->mark(all[i + 1].index).event : kNever;
    return {history_->mark(all[i].index).event, end, all[i].number};
}

Position StepIndex::position(std::size_t i, AxisUnit unit) const {
    const EventIndex begin = at(i).begin;
    return begin < history_->counts().events ? history_->position(unit, begin)
                                             : history_->end(unit);
}

std::size_t StepIndex::first_from(AxisUnit unit, Position at) const {
    return first_where(0, size(), [&](std::size_t i) { return position(i, unit) >= at; });
}

std::optional<std::size_t> StepIndex::find(std::uint64_t number) const {
    const std::vector<Found>& all = found();
    const auto there = std::ranges::find(all, number, &Found::number);
    if (there == all.end())
        return std::nullopt;
    return static_cast<std::size_t>(there - all.begin());
}

}  // namespace tidemark::viz
