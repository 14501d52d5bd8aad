// Which stretches and marks of a program are its steps, by their names: what advise, the ranks, the
// viewer and its keys call a step.
//
// Pure; O(length of the name).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::facts {

struct StepName {
    // What the word says: a step or iteration; a batch; an epoch, which has many of both.
    enum class Kind : std::uint8_t { step, batch, epoch };

    Kind kind = Kind::step;
    std::string family;                   // its name with N for each number: "step N"
    std::optional<std::uint64_t> number;  // "step 12": 12

    friend bool operator==(const StepName&, const StepName&) = default;
};

// A name one of whose words is, or ends in, step, iteration, iter, batch or epoch, in any case:
// "step 12", "ProfilerStep#12", "timestep 9", "iteration 3/90", "Optimizer.step#AdamW.step". Its
// number follows directly after the word, or after at most three other characters. None: it is not
// the name of a step.
std::optional<StepName> parse_step_name(std::string_view name);

// Whether what is called `name` and begins while `open` is open is a part of that step ("micro step
// 1" of "step 4"), and not a step itself. The next step is not a part: the end of the last one was
// lost.
bool is_part_of(const StepName& open, const StepName& name);

// Names of one family, stretches or marks.
struct StepFamily {
    StepName::Kind kind = StepName::Kind::step;
    bool numbered = false;
    bool is_mark = false;
    std::size_t count = 0;    // of its steps
    std::uint64_t first = 0;  // at which event its first one began
};

// Of two families of a program, the one whose members are its steps. Numbered names take
// precedence; then ranges before marks, steps before batches before epochs, the larger family, and
// the one that came first.
bool goes_before(const StepFamily& one, const StepFamily& other);

}  // namespace tidemark::facts
