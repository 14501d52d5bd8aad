// Random settings: every key of PYTORCH_ALLOC_CONF that changes a decision, at values that matter.
#include <fmt/format.h>

#include "tests/model/torch_program.h"

namespace tidemark::model {
namespace {

bool chance(Random& random, unsigned percent) {
    return random.below(100) < percent;
}

template <std::size_t count>
std::uint64_t one_of(Random& random, const std::uint64_t (&values)[count]) {
    return values[random.below(count)];
}

// A single number of divisions, or a list by interval.
std::string make_divisions(Random& random) {
    static constexpr std::uint64_t kDivisions[] = {1, 2, 4, 8, 16, 32, 64};
    if (chance(random, 50))
        return fmt::format("{}", one_of(random, kDivisions));
    std::string list;
    unsigned key = static_cast<unsigned>(random.below(3));
    for (unsigned i = 0; i < 4 && key < 16; ++i) {
        list += fmt::format("{}:{},", 1U << key, one_of(random, kDivisions));
        key += 1 + static_cast<unsigned>(random.below(4));
    }
    if (chance(random, 50))
        list += fmt::format(">:{},", one_of(random, kDivisions));
    list.pop_back();
    return "[" + list + "]";
}

void add_limits(Random& random, Bytes capacity, DuelSettings& settings) {
    SlowSettings& values = settings.values;
    if (chance(random, 45)) {
        values.limit = capacity / 16 + random.below(capacity);
        if (chance(random, 50))
            values.limit = align_up(values.limit, 2_MiB);
        settings.text += fmt::format("limit={},", values.limit);
    }
    if (chance(random, 20)) {
        const std::uint64_t hundredths = chance(random, 20) ? 100 : 10 + random.below(90);
        values.fraction = static_cast<double>(hundredths) / 100;
        settings.text += fmt::format("per_process_memory_fraction={}.{:02},", hundredths / 100,
                                     hundredths % 100);
    }
}

}  // namespace

unsigned make_version(Random& random) {
    static constexpr std::uint64_t kMinors[] = {3, 8, 9, 10};
    return static_cast<unsigned>(200 + (chance(random, 75) ? 11 : one_of(random, kMinors)));
}

DuelSettings make_settings(Random& random, Bytes capacity, unsigned version) {
    DuelSettings settings{.values = {.version = version}, .text = "torch:"};
    SlowSettings& values = settings.values;
    if (version != SlowSettings().version)
        settings.text += fmt::format("version=2.{},", version - 200);
    values.expandable = chance(random, 45);
    settings.text += fmt::format("expandable_segments={},", values.expandable ? "True" : "False");
    if (chance(random, 15)) {
        static constexpr std::uint64_t kSegments[] = {12, 14, 22, 32, 40};
        values.large_segment = one_of(random, kSegments) * 1_MiB;
        settings.text += fmt::format("large_segment_size_mb={},", values.large_segment / 1_MiB);
    }
    if (chance(random, 35)) {
        static constexpr std::uint64_t kAbove[] = {0, 0, 1, 4, 12, 44, 108};
        const std::uint64_t base = std::max(values.large_segment, 20_MiB) / 1_MiB;
        const std::uint64_t split = base + one_of(random, kAbove);
        values.max_split = split * 1_MiB;
        settings.text += fmt::format("max_split_size_mb={},", split);
    }
    if (version >= 209 && chance(random, 20)) {  // fixed in "older versions"
        static constexpr std::uint64_t kRoundings[] = {20, 21, 30, 64};
        const std::uint64_t rounding = one_of(random, kRoundings);
        values.max_non_split_rounding = rounding * 1_MiB;
        settings.text += fmt::format("max_non_split_rounding_mb={},", rounding);
    }
    if (chance(random, 40)) {
        const std::uint64_t hundredths = 1 + random.below(99);
        values.gc_threshold = static_cast<double>(hundredths) / 100;
        settings.text += fmt::format("garbage_collection_threshold=0.{:02},", hundredths);
    }
    if (chance(random, 35)) {
        const std::string divisions = make_divisions(random);
        values.divisions = parse_divisions(divisions);
        settings.text += fmt::format("roundup_power2_divisions={},", divisions);
    }
    add_limits(random, capacity, settings);
    settings.text.pop_back();
    return settings;
}

}  // namespace tidemark::model
