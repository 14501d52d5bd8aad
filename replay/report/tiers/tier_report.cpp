// The text of one replay over tiers, and of the catalogue of victim policies.
#include "replay/report/tiers/tier_report.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "replay/report/forms/wording.h"
#include "replay/report/runs/text.h"

namespace tidemark {
namespace {

std::string share_text(Nanoseconds part, Nanoseconds whole) {
    return format_share(static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(whole));
}

std::string memory_text(const TierRun& run, const TierProgram& program) {
    std::string text = format_bytes(run.scenario.gpu_memory);
    if (program.peak_bytes > 0)
        text += fmt::format(", {} of the program's peak ({})",
                            format_share(run.scenario.gpu_memory, program.peak_bytes),
                            format_bytes(program.peak_bytes));
    return text;
}

std::string head(const std::string& name, const TierRun& run, const TierProgram& program) {
    std::string text =
        fmt::format("{} on {} under {}: {} replayed in {}", printable(name),
                    printable(run.machine_name), printable(run.scenario.spill),
                    format_counted(run.events, "event"), format_duration(run.elapsed));
    if (run.elapsed > 0)
        text += fmt::format(" ({:.1f} million/s)", static_cast<double>(run.events) /
                                                       static_cast<double>(run.elapsed) * 1e3);
    return text + fmt::format("\nGPU memory: {}\n", memory_text(run, program));
}

std::string time_text(const TierRun& run) {
    Table table = Table::untitled("lrl");
    table.row("length of the run", format_duration(run.makespan));
    table.row("with unlimited GPU memory", format_duration(run.unlimited));
    const std::uint64_t kernels = run.kernels + run.kernels_not_run;
    table.row("slowdown", fmt::format("{:.3f}", run.slowdown()),
              run.kernels_not_run == 0
                  ? std::string()
                  : fmt::format("of what ran: {} of {}", format_count(run.kernels),
                                format_counted(kernels, "kernel")));
    // Streams stall side by side, so the sum may exceed the length of the run.
    const TierStalls& stalls = run.stalls;
    table.row("stalled, sum of all streams", format_duration(stalls.total()),
              share_text(stalls.total(), run.makespan));
    if (stalls.total() > 0) {
        table.row("  until a buffer was fetched", format_duration(stalls.fetch),
                  share_text(stalls.fetch, run.makespan));
        table.row("  until others were evicted", format_duration(stalls.room),
                  share_text(stalls.room, run.makespan));
        table.row("  until a reservation was granted", format_duration(stalls.reservation),
                  share_text(stalls.reservation, run.makespan));
    }
    return table.section("Time");
}

std::string bytes_text(const TierRun& run) {
    Table table = Table::untitled("lrl");
    table.row("used by kernels", format_bytes(run.used_bytes),
              format_counted(run.kernels, "kernel"));
    if (run.kernels_not_run > 0)
        table.row("  not run", "",
                  fmt::format("{} that use failed allocations, or don't fit",
                              format_counted(run.kernels_not_run, "kernel")));
    table.row("  resident in time", format_bytes(run.hit_bytes), format_percent(run.hit_ratio()));
    if (run.late_bytes > 0)
        table.row("  on their way, but late", format_bytes(run.late_bytes),
                  format_share(run.late_bytes, run.used_bytes));
    table.row("out of GPU memory", format_bytes(run.spilled_bytes),
              fmt::format("{} evictions", format_count(run.evictions)));
    table.row("into GPU memory", format_bytes(run.fetched_bytes));
    if (run.prefetched_bytes > 0) {
        table.row("  before they were needed", format_bytes(run.prefetched_bytes),
                  format_share(run.prefetched_bytes, run.fetched_bytes));
        table.row("  of these, never used", format_bytes(run.wasted_bytes),
                  format_share(run.wasted_bytes, run.prefetched_bytes));
    }
    if (run.vain_bytes > 0)
        table.row("copied for nothing", format_bytes(run.vain_bytes), "freed or used meanwhile");
    table.row("dropped without a copy", format_bytes(run.dropped_bytes));
    table.row("largest kernel needs", format_bytes(run.needed_bytes));
    return table.section("Bytes");
}

std::string links_text(const TierRun& run) {
    Table table = Table::untitled("lrl");
    for (const TierLinkUse& link : run.links) {
        if (link.copies == 0)
            continue;
        std::string how = "in " + format_counted(link.copies, "copy", "copies");
        if (link.busy)
            how += fmt::format(", busy {}, {} of the run", format_duration(*link.busy),
                               share_text(*link.busy, run.makespan));
        table.row(fmt::format("{} to {}", to_text(link.source), to_text(link.target)),
                  format_bytes(link.bytes), how);
    }
    return table.section("Links");
}

std::string spaces_text(const TierRun& run) {
    Table table = Table::untitled("lrl");
    for (const TierSpacePeak& space : run.spaces) {
        if (space.peak > 0)
            table.row(to_text(space.space), format_bytes(space.peak),
                      fmt::format("of {}", format_bytes(space.capacity)));
    }
    return table.section("Memory at its peak");
}

std::string reservations_text(const TierRun& run) {
    const ReservationWaits& waits = run.reservations;
    Table table = Table::untitled("lrl");
    if (waits.requested > 0) {
        table.row("requested", format_count(waits.requested));
        table.row("that had to wait", format_count(waits.waited));
        table.row("wait, median", format_duration(waits.p50));
        table.row("wait, 99th percentile", format_duration(waits.p99));
        table.row("wait, longest", format_duration(waits.max));
        if (waits.refused > 0)
            table.row("failed", format_count(waits.refused));
        if (waits.short_bytes > 0)
            table.row("requested and not granted", format_bytes(waits.short_bytes));
    }
    return table.section("Reservations");
}

std::string forecast_text(const TierRun& run) {
    const ForecastScore& score = run.forecast;
    const std::uint64_t all = score.right + score.wrong + score.silent;
    if (all == 0 || run.scenario.prefetch == Prefetch::oracle)
        return {};
    return fmt::format("\nForecast: {} of {} operations predicted right, {} wrong, {} not at all\n",
                       format_share(score.right, all), format_count(all),
                       format_share(score.wrong, all), format_share(score.silent, all));
}

constexpr std::size_t kTierReportRefusalsShown = 5;  // --json has more

std::string refusals_text(const TierRun& run) {
    std::string text;
    if (run.out_of_memory > 0)
        text = fmt::format(
            "\nOut of memory: {}\n",
            format_counted(run.out_of_memory, "allocation or kernel", "allocations and kernels"));
    const std::size_t shown = std::min(run.refusals.size(), kTierReportRefusalsShown);
    for (const std::string& refusal : std::span(run.refusals).first(shown))
        text += fmt::format("  {}\n", printable(refusal));
    const std::uint64_t refused = run.out_of_memory + run.deadlocks;
    if (refused > shown)
        text += fmt::format("  and {} more\n", format_count(refused - shown));
    if (run.deadlocks > 0)
        text += fmt::format("\nDeadlocks among reservations: {}\n", format_count(run.deadlocks));
    return text;
}

std::string rules_text(const TierScenario& scenario) {
    std::string text = fmt::format("\nPrefetching: {}; reservations: {}, beyond them: {}",
                                   to_text(scenario.prefetch), to_text(scenario.reservation),
                                   to_text(scenario.over_reservation));
    if (scenario.over_reservation == OverReservationMode::increase &&
        (scenario.padding != kDefaultPadding || scenario.beyond_limit))
        text += fmt::format(" by {:g} times what is missing{}", scenario.padding,
                            scenario.beyond_limit ? ", or from what is free" : "");
    if (scenario.reservation_limit > 0 && scenario.reservation_limit < 1)
        text +=
            fmt::format("; at most {} are reserved", format_percent(scenario.reservation_limit));
    if (scenario.spill_start > 0 && scenario.spill_start < 1)
        text +=
            fmt::format("; spilling in the background from {} down to {}",
                        format_percent(scenario.spill_start), format_percent(scenario.spill_stop));
    if (!scenario.keep_copies)
        text += "; copies are dropped when a buffer is fetched back";
    return text + "\n";
}

}  // namespace

std::string tier_run_text(const std::string& name, const TierRun& run, const TierProgram& program,
                          const TraceInfo& info) {
    std::string text = head(name, run, program);
    text += time_text(run);
    text += bytes_text(run);
    text += links_text(run);
    text += spaces_text(run);
    text += reservations_text(run);
    text += forecast_text(run);
    text += refusals_text(run);
    text += rules_text(run.scenario);
    std::string notes = trace_notes(info);
    for (const std::string& warning : run.warnings)
        notes += fmt::format("note: {}\n", printable(warning));
    return notes.empty() ? text : fmt::format("{}\n{}", text, notes);
}

std::string tier_prediction_text(const TierRun& run, const TierRun& predicted) {
    const auto off = [](double real, double expected) {
        return expected == 0 ? std::string() : "  " + format_change(real / expected - 1);
    };
    const Bytes moved = run.spilled_bytes + run.fetched_bytes;
    const Bytes expected = predicted.spilled_bytes + predicted.fetched_bytes;
    std::string text = fmt::format("\nOn {}, and as predicted for {}\n", printable(run.device),
                                   printable(predicted.machine_name));
    text += fmt::format("  slowdown     {:.3f}, predicted {:.3f}{}\n", run.slowdown(),
                        predicted.slowdown(), off(run.slowdown(), predicted.slowdown()));
    text += fmt::format("  bytes moved  {}, predicted {}{}\n", format_bytes(moved),
                        format_bytes(expected),
                        off(static_cast<double>(moved), static_cast<double>(expected)));
    if (run.failed_copies > 0)
        text += fmt::format("  failed       {}, the last: {}\n",
                            format_counted(run.failed_copies, "copy", "copies"),
                            printable(run.copy_failure));
    return text + fmt::format("  content      {}\n",
                              run.wrong_bytes == 0
                                  ? "every byte that was compared is correct"
                                  : format_bytes(run.wrong_bytes) + " of wrong content");
}

std::string victims_text(std::span<const VictimPolicyInfo> policies) {
    Table table = Table::untitled("ll");
    for (const VictimPolicyInfo& policy : policies) {
        std::string options;
        for (const OptionInfo& option : policy.options)
            options += fmt::format("{}{}", options.empty() ? "" : ", ", option.name);
        table.row(policy.name, policy.summary);
        if (!options.empty())
            table.row("", fmt::format("options: {}", options));
    }
    return table.bare("") + "\n`tidemark victims NAME` explains a policy's options.\n";
}

std::string victim_text(const VictimPolicyInfo& policy) {
    constexpr std::array<std::string_view, 3> kForesights{
        "nothing of the future",
        "what it learns from the program's past",
        "the trace's own future: for replays only, as a bound",
    };
    std::string text =
        fmt::format("{}: {}\nfollows: {}\nknows: {}\n", policy.name, policy.summary, policy.source,
                    kForesights[static_cast<std::size_t>(policy.foresight)]);
    if (policy.options.empty())
        return text + "no options\n";
    return text +
           fmt::format("\nOptions, as in --spill {}:{}={}\n", policy.name,
                       policy.options.front().name, policy.options.front().default_value) +
           options_text(policy.options);
}

std::string_view to_text(Prefetch prefetch) {
    switch (prefetch) {
        case Prefetch::automatic:
            return "auto";
        case Prefetch::none:
            return "none";
        case Prefetch::learned:
            return "learned";
        case Prefetch::oracle:
            return "oracle";
    }
    return "none";
}

std::string_view to_text(ReservationMode mode) {
    switch (mode) {
        case ReservationMode::wait:
            return "wait";
        case ReservationMode::up_to:
            return "up-to";
        case ReservationMode::ignore:
            return "ignore";
    }
    return "wait";
}

std::string_view to_text(OverReservationMode policy) {
    switch (policy) {
        case OverReservationMode::ignore:
            return "ignore";
        case OverReservationMode::fail:
            return "fail";
        case OverReservationMode::increase:
            return "increase";
    }
    return "ignore";
}

}  // namespace tidemark
