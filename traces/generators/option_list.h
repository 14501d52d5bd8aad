// Options of generators, each declared on one line. All texts must stay valid as long as the
// program runs.
#pragma once

#include <span>
#include <string_view>

#include "core/base/options.h"

namespace tidemark::generators {

// The smallest and the largest value, as text.
struct ValueRange {
    std::string_view least;
    std::string_view most;
};

constexpr OptionInfo count_option(std::string_view name, std::string_view default_value,
                                  ValueRange range, std::string_view summary,
                                  std::string_view unit = "") {
    return {.name = name,
            .type = OptionType::count,
            .unit = unit,
            .default_value = default_value,
            .minimum = range.least,
            .maximum = range.most,
            .summary = summary};
}

constexpr OptionInfo percent_option(std::string_view name, std::string_view default_value,
                                    ValueRange range, std::string_view summary) {
    return count_option(name, default_value, range, summary, "%");
}

constexpr OptionInfo bytes_option(std::string_view name, std::string_view default_value,
                                  ValueRange range, std::string_view summary) {
    OptionInfo option = count_option(name, default_value, range, summary, "bytes");
    option.type = OptionType::bytes;
    return option;
}

constexpr OptionInfo boolean_option(std::string_view name, std::string_view default_value,
                                    std::string_view summary) {
    return {.name = name,
            .type = OptionType::boolean,
            .default_value = default_value,
            .summary = summary};
}

constexpr OptionInfo choice_option(std::string_view name, std::string_view default_value,
                                   std::span<const std::string_view> choices,
                                   std::string_view summary, std::string_view source = "") {
    return {.name = name,
            .type = OptionType::choice,
            .default_value = default_value,
            .choices = choices,
            .summary = summary,
            .source = source};
}

// What every generator has.
constexpr OptionInfo events_option(std::string_view default_value, std::string_view least,
                                   std::string_view summary) {
    return count_option("events", default_value, {least, "1000000000000"}, summary);
}

constexpr OptionInfo seed_option(std::string_view summary) {
    return count_option("seed", "1", {}, summary);
}

}  // namespace tidemark::generators
