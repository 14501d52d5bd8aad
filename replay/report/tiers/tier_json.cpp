// Replays over tiers as JSON. Names are described in docs/json.md.
#include <array>

#include "replay/report/forms/json_values.h"
#include "replay/report/tiers/tier_figures.h"
#include "replay/report/tiers/tier_report.h"

namespace tidemark {
namespace {

using namespace report;

Json links_of(const TierRun& run) {
    return list_of(run.links, [&](const TierLinkUse& link) -> Json {
        return {{"source", to_text(link.source)},
                {"target", to_text(link.target)},
                {"bytes", link.bytes},
                {"copies", link.copies},
                {"busy_ns", or_null(link.busy)}};
    });
}

Json spaces_of(const TierRun& run) {
    return list_of(run.spaces, [&](const TierSpacePeak& space) -> Json {
        return {{"space", to_text(space.space)},
                {"capacity_bytes", space.capacity},
                {"peak_bytes", space.peak}};
    });
}

// The question.
Json scenario_of(const TierRun& run) {
    const TierScenario& scenario = run.scenario;
    return {{"trace", scenario.trace},
            {"machine", run.machine_name},
            {"policy", run.policy},
            {"spec", scenario.spill},
            {"options", pairs(run.policy_options)},
            {"gpu_memory_bytes", scenario.gpu_memory},
            {"gpu_memory_share", or_null(scenario.gpu_fraction)},
            {"host_memory_bytes", or_null(scenario.host_memory)},
            {"prefetch", to_text(scenario.prefetch)},
            {"spill_start", scenario.spill_start},
            {"spill_stop", scenario.spill_stop},
            {"reservation", to_text(scenario.reservation)},
            {"over_reservation", to_text(scenario.over_reservation)},
            {"padding", scenario.padding},
            {"beyond_limit", scenario.beyond_limit},
            {"reservation_limit", scenario.reservation_limit},
            {"keep_copies", scenario.keep_copies}};
}

Json run_object(const TierRun& run) {
    Json object = scenario_of(run);
    const ReservationWaits& waits = run.reservations;
    object.update({{"events", run.events},
                   {"kernels", run.kernels},
                   {"kernels_not_run", run.kernels_not_run},
                   {"elapsed_ns", run.elapsed},
                   {"makespan_ns", run.makespan},
                   {"unlimited_makespan_ns", run.unlimited},
                   {"slowdown", run.slowdown()},
                   {"stall_ns", run.stalls.total()},
                   {"stall_fetch_ns", run.stalls.fetch},
                   {"stall_room_ns", run.stalls.room},
                   {"stall_reservation_ns", run.stalls.reservation},
                   {"needed_bytes", run.needed_bytes},
                   {"used_bytes", run.used_bytes},
                   {"hit_bytes", run.hit_bytes},
                   {"hit_ratio", run.hit_ratio()},
                   {"late_bytes", run.late_bytes},
                   {"spilled_bytes", run.spilled_bytes},
                   {"fetched_bytes", run.fetched_bytes},
                   {"copied_in_vain_bytes", run.vain_bytes},
                   {"moved_bytes", moved_bytes(run)},
                   {"prefetched_bytes", run.prefetched_bytes},
                   {"wasted_bytes", run.wasted_bytes},
                   {"dropped_bytes", run.dropped_bytes},
                   {"evictions", run.evictions},
                   {"out_of_memory", run.out_of_memory},
                   {"out_of_memory_events", run.refusals},
                   {"refusals", run.refusals},
                   {"deadlocks", run.deadlocks},
                   {"reservations", waits.requested},
                   {"reservations_waited", waits.waited},
                   {"reservations_failed", waits.refused},
                   {"reservations_refused", waits.refused},
                   {"reservations_short_bytes", waits.short_bytes},
                   {"reservation_wait_p50_ns", waits.p50},
                   {"reservation_wait_p99_ns", waits.p99},
                   {"reservation_wait_max_ns", waits.max},
                   {"forecast_right", run.forecast.right},
                   {"forecast_wrong", run.forecast.wrong},
                   {"forecast_silent", run.forecast.silent},
                   {"device", or_null(run.device)},
                   {"wrong_bytes", run.wrong_bytes},
                   {"failed_copies", run.failed_copies},
                   {"copy_failure", run.failed_copies > 0 ? Json(run.copy_failure) : Json()},
                   {"links", links_of(run)},
                   {"spaces", spaces_of(run)},
                   {"warnings", run.warnings}});
    return object;
}

Json row_of(const TierComparisonRow& row, const GpuMemory& memory) {
    Json object = run_object(row.run);
    object["elapsed_ns"] = row.elapsed;
    object["gpu_memory"] = to_text(memory);
    object["knows_future"] = row.knows_future;
    object["best"] = row.best;
    object["of_bound"] = or_null(row.of_bound);
    object["of_belady"] = or_null(row.of_belady);
    return object;
}

Json block_of(const TierComparisonBlock& block, const TierComparison& comparison) {
    Json sizes = Json::array();
    for (std::size_t i = 0; i < block.bounds.size(); ++i) {
        const TierBound& bound = block.bounds[i];
        sizes.push_back({{"gpu_memory", to_text(comparison.memories[i])},
                         {"gpu_memory_bytes", block.capacities[i]},
                         {"bound_bytes", bound.runs ? Json(bound.bytes) : Json()},
                         {"least_capacity_bytes", bound.least_capacity},
                         {"verdict", block.verdicts[i]}});
    }
    return {{"trace", block.name},
            {"trace_hash", hash_text(block.trace_hash)},
            {"events", block.events},
            {"program_peak_bytes", block.peak_bytes},
            {"sizes", std::move(sizes)}};
}

Json total_of(const TierTotal& total, const TierComparison& comparison) {
    return {{"spec", total.label},
            {"gpu_memory", to_text(comparison.memories[total.memory])},
            {"knows_future", total.knows_future},
            {"best", total.best},
            {"slowdown", total.slowdown},
            {"stall_ns", total.stall},
            {"moved_bytes", total.moved},
            {"of_bound", or_null(total.of_bound)},
            {"out_of_memory", total.out_of_memory}};
}

}  // namespace

Json report::tier_figures(const TierRun& run) {
    Json object = run_object(run);
    for (const char* of_one_replay : {"trace", "elapsed_ns", "device", "out_of_memory_events",
                                      "refusals", "links", "spaces", "warnings"})
        object.erase(of_one_replay);
    return object;
}

std::string tier_run_json(const TierRun& run, const TierProgram& program,
                          const Provenance& provenance, const TierRun* predicted) {
    Json object = run_object(run);
    const auto expected = [&](auto figure) {
        return predicted ? Json(figure(*predicted)) : Json();
    };
    object["predicted_slowdown"] = expected([](const TierRun& one) { return one.slowdown(); });
    object["predicted_makespan_ns"] = expected([](const TierRun& one) { return one.makespan; });
    object["predicted_spilled_bytes"] =
        expected([](const TierRun& one) { return one.spilled_bytes; });
    object["predicted_fetched_bytes"] =
        expected([](const TierRun& one) { return one.fetched_bytes; });
    object["predicted_moved_bytes"] = expected([](const TierRun& one) { return moved_bytes(one); });
    object["program_peak_bytes"] = program.peak_bytes;
    object["provenance"] = provenance_of(
        provenance, {{"trace_hash", run.trace_hash}, {"machine_hash", run.machine_hash}});
    return text_of(object);
}

std::string tier_comparison_json(const TierComparison& comparison, const Provenance& provenance) {
    Json runs = Json::array();
    Json traces = Json::array();
    Json totals = Json::array();
    for (const TierComparisonBlock& block : comparison.programs) {
        traces.push_back(block_of(block, comparison));
        for (const TierComparisonRow& row : block.rows)
            runs.push_back(row_of(row, comparison.memories[row.memory]));
    }
    for (const TierTotal& total : comparison.totals)
        totals.push_back(total_of(total, comparison));
    return text_of(
        {{"machine", comparison.machine},
         {"runs", std::move(runs)},
         {"traces", std::move(traces)},
         {"totals", std::move(totals)},
         {"provenance", provenance_of(provenance, {{"machine_hash", comparison.machine_hash}})}});
}

std::string victims_json(std::span<const VictimPolicyInfo> policies, const Provenance& provenance) {
    constexpr std::array<std::string_view, 3> kForesights{"none", "learned", "oracle"};
    Json list = list_of(policies, [&](const VictimPolicyInfo& policy) -> Json {
        return {{"name", policy.name},
                {"summary", policy.summary},
                {"source", policy.source},
                {"foresight", kForesights[static_cast<std::size_t>(policy.foresight)]},
                {"options", options_of(policy.options)}};
    });
    return text_of({{"victims", std::move(list)}, {"provenance", provenance_of(provenance)}});
}

}  // namespace tidemark
