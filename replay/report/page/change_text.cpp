// Changes as text.
#include "replay/report/page/change_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/shares.h"
#include "core/base/text.h"

namespace tidemark::report {
namespace {

std::uint64_t apart(std::uint64_t one, std::uint64_t other) {
    return one > other ? one - other : other - one;
}

// "1.71 GiB less", in the figure's unit.
std::string amount_text(const Measurement& now, const Measurement& before) {
    const bool is_less = now.value() < before.value();
    const char* const word = is_less ? "less" : "more";
    const std::uint64_t whole = apart(now.whole, before.whole);
    switch (now.unit) {
        case Unit::bytes:
            return fmt::format("{} {}", format_bytes(whole), word);
        case Unit::nanoseconds:
            return fmt::format("{} {}", format_duration(static_cast<Nanoseconds>(whole)), word);
        case Unit::count:
            return fmt::format("{} {}", format_count(whole), is_less ? "fewer" : "more");
        case Unit::ratio:
            break;
    }
    const double real = std::abs(now.real - before.real);
    if (now.name.ends_with("_ratio"))
        return fmt::format("{:.3f} {}", real, word);
    return fmt::format("{:.1f} points {}", 100 * real, word);
}

const Measurement& figure(const ComparedRun& run, std::string_view name) {
    const auto found = std::ranges::find(run.figures, name, &Measurement::name);
    TM_CHECK(found != run.figures.end());
    return *found;
}

std::string refusals_text(std::uint64_t count) {
    return count == 0 ? std::string("never runs out of memory")
                      : "runs out of memory " + format_times(count);
}

// What it costs; "" if that is about the same.
std::string price_text(const ComparedRun& now, const ComparedRun& before) {
    constexpr double kAboutTheSame = 0.1;
    const auto driver = [](const ComparedRun& run) {
        const auto found = std::ranges::find(run.figures, "driver_ns", &Measurement::name);
        return found == run.figures.end() ? std::uint64_t{0} : found->whole;
    };
    const std::uint64_t time = driver(now);
    const std::uint64_t other = driver(before);
    if (time == 0 || other == 0 || share_of(apart(time, other), other) < kAboutTheSame)
        return {};
    return fmt::format(", for {} in the driver against {}",
                       format_duration(static_cast<Nanoseconds>(time)),
                       format_duration(static_cast<Nanoseconds>(other)));
}

}  // namespace

Change change_of(const Measurement& now, const Measurement& before) {
    if (now.value() == before.value())
        return {"the same", Judgement::same};
    Change change;
    change.text = amount_text(now, before);
    const bool is_amount = now.unit == Unit::bytes || now.unit == Unit::nanoseconds;
    if (is_amount && before.value() > 0)
        change.text += fmt::format(" ({})", format_change(now.value() / before.value() - 1));
    if (now.better != Better::neither) {
        const bool is_less = now.value() < before.value();
        change.judgement =
            is_less == (now.better == Better::less) ? Judgement::better : Judgement::worse;
    }
    return change;
}

std::string comparison_sentence(const ComparedRun& now, const ComparedRun& before) {
    const Bytes peak = figure(now, "peak_reserved_bytes").whole;
    const Bytes other = figure(before, "peak_reserved_bytes").whole;
    const std::uint64_t refused = figure(now, "out_of_memory").whole;
    const std::uint64_t refused_before = figure(before, "out_of_memory").whole;
    std::string text;
    if (refused != refused_before)
        text = fmt::format("{} {}, {} {}; ", now.name, refusals_text(refused), before.name,
                           refusals_text(refused_before));
    if (peak == other)
        return text + fmt::format("{} peaks at {} reserved, as {} does", now.name,
                                  format_bytes(peak), before.name);
    text += fmt::format("{} peaks {} {} than {}", now.name, format_bytes(apart(peak, other)),
                        peak < other ? "lower" : "higher", before.name);
    if (other > 0)
        text += fmt::format(
            " ({})", format_change(static_cast<double>(peak) / static_cast<double>(other) - 1));
    return text + fmt::format(": {} reserved against {}{}", format_bytes(peak), format_bytes(other),
                              price_text(now, before));
}

}  // namespace tidemark::report
