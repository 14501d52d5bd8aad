// Reading the names of steps, and keeping those that are some.
#include "viz/model/timeline/step_index.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "viz/model/timeline/merged_ranges.h"

namespace tidemark::viz {
namespace {

constexpr std::array<std::string_view, 3> kStepNames{"iteration", "step", "iter"};
constexpr std::string_view kBetween = " #_=:.-";  // a word and its number
constexpr std::size_t kMostBetween = 3;

bool is_upper_letter(char letter) {
    return letter >= 'A' && letter <= 'Z';
}

bool is_name_letter(char letter) {
    return is_upper_letter(letter) || (letter >= 'a' && letter <= 'z');
}

bool is_step_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

char lower_letter(char letter) {
    return is_upper_letter(letter) ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// Is there `word`, in whatever case, as a word of its own ("train_step", "ProfilerStep", but not
// "timestep")?
bool has_word(std::string_view name, std::size_t at, std::string_view word) {
    if (name.size() - at < word.size())
        return false;
    for (std::size_t i = 0; i < word.size(); ++i)
        if (lower_letter(name[at + i]) != word[i])
            return false;
    return at == 0 || !is_name_letter(name[at - 1]) ||
           (is_upper_letter(name[at]) && !is_upper_letter(name[at - 1]));
}

struct StepName {
    std::size_t digits = 0;  // where they begin
    std::uint64_t number = 0;
};

// The number behind the word that ends at `from`.
std::optional<StepName> number_at(std::string_view name, std::size_t from) {
    std::size_t at = from;
    while (at < name.size() && at - from < kMostBetween &&
           kBetween.find(name[at]) != std::string_view::npos)
        ++at;
    StepName read{at, 0};
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + at, end, read.number);
    if (parsed.ec != std::errc() || (parsed.ptr != end && is_name_letter(*parsed.ptr)))
        return std::nullopt;
    return read;
}

std::optional<StepName> parse_step(std::string_view name) {
    for (std::size_t at = 0; at < name.size(); ++at) {
        if (is_step_digit(name[at]))
            continue;
        for (const std::string_view word : kStepNames) {
            if (!has_word(name, at, word))
                continue;
            if (const auto read = number_at(name, at + word.size()))
                return read;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> step_number(std::string_view name) {
    const auto read = parse_step(name);
    return read ? std::optional(read->number) : std::nullopt;
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
    for (; taken_marks_ < marks; ++taken_marks_) {
        const Mark mark = history->mark(taken_marks_);
        if (mark.kind != MarkKind::point)
            continue;
        if (const auto number = step_number(history->strings()[mark.name]))
            marks_.push_back({*number, static_cast<std::uint32_t>(taken_marks_)});
    }
    return taken_ranges_ < there.annotations || taken_marks_ < there.marks;
}

void StepIndex::take_range(std::uint32_t index) {
    const Annotation range = history_->annotation(index);
    const std::string_view name = history_->strings()[range.name];
    const auto read = parse_step(name);
    if (!read)
        return;
    const std::string_view wording = name.substr(0, read->digits);
    if (is_part(range, wording, read->number))
        return;
    ranges_.push_back({read->number, index});
    wording_ = wording;
}

// Of the last step, which is still open. One that is called alike follows it, though: the end of
// the last one was lost, or another thread has it.
bool StepIndex::is_part(const Annotation& range, std::string_view wording,
                        std::uint64_t number) const {
    if (ranges_.empty())
        return false;
    const Found& last = ranges_.back();
    if (history_->annotation(last.index).end <= range.begin)
        return false;
    return wording != wording_ || number == last.number;
}

RunStep StepIndex::at(std::size_t i) const {
    const std::vector<Found>& all = found();
    if (!ranges_.empty()) {
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
