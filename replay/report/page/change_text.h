// How a run differs from another, as text: a figure's change, and both runs in a sentence. Pure;
// O(length).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "replay/metrics/metric.h"

namespace tidemark::report {

enum class Judgement : std::uint8_t { none, same, better, worse };

struct Change {
    std::string text;  // "1.71 GiB less (-20.6 %)", "2 fewer", "the same"
    Judgement judgement = Judgement::none;
};

// A figure, compared with that of another run.
Change change_of(const Measurement& now, const Measurement& before);

// A run by its name, with figures that include peak_reserved_bytes and out_of_memory.
struct ComparedRun {
    std::string_view name;
    std::span<const Measurement> figures;
};

// "vpmm peaks 1.69 GiB lower than torch (-20.4 %): 6.60 GiB reserved against 8.30 GiB, for 120 ms
// in the driver against 4.19 ms". If one runs out of memory more often than the other, that
// comes first. The driver is left out if its time isn't known or is about the same.
std::string comparison_sentence(const ComparedRun& now, const ComparedRun& before);

}  // namespace tidemark::report
