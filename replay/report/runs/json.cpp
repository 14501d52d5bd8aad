// Building the objects. Order of keys is the order of assignment, so that people can read them too.
#include "replay/report/runs/json.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "replay/analysis/advise/memory.h"
#include "replay/metrics/devices.h"
#include "replay/report/findings/out_of_memory_report.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/runs/ranks_report.h"

namespace tidemark {
namespace {

using namespace report;

Json anomalies(const Anomalies& odd) {
    return {{"unknown_frees", odd.unknown_frees}, {"double_frees", odd.double_frees},
            {"reused_live", odd.reused_live},     {"zero_sizes", odd.zero_sizes},
            {"giant_sizes", odd.giant_sizes},     {"unknown_actions", odd.unknown_actions},
            {"bad_records", odd.bad_records},     {"backward_times", odd.backward_times}};
}

Json number(const Measurement& measurement) {
    if (measurement.unit == Unit::ratio)
        return measurement.real;
    return measurement.whole;
}

Json refusals(const Run& run) {
    return list_of(run.refusals, [&](const Refusal& refusal) -> Json {
        return {{"event", refusal.event},
                {"bytes", refusal.what.size},
                {"stream", to_integer(refusal.what.stream)},
                {"cause", to_text(refusal.why.cause)},
                {"usage", usage_of(refusal.usage)},
                {"largest_free_bytes", refusal.largest_free}};
    });
}

Json hazards(const Run& run) {
    return list_of(run.hazards, [&](const HazardText& hazard) -> Json {
        return {{"kind", hazard.kind},
                {"what", hazard.what},
                {"first_event", hazard.first_event},
                {"second_event", hazard.second_event}};
    });
}

// What --touch found; null without it.
Json touch_of(const std::optional<TouchReport>& touch) {
    if (!touch)
        return nullptr;
    Json first = nullptr;
    if (const auto& difference = touch->first_difference)
        first = {{"event", difference->event},
                 {"granted_event", difference->granted},
                 {"address", fmt::format("{:#x}", to_integer(difference->address))},
                 {"expected", fmt::format("{:08x}", difference->expected)}};
    return {{"allocations", touch->allocations}, {"bytes", touch->bytes},
            {"damaged", touch->damaged},         {"differing_bytes", touch->differing},
            {"failures", touch->failures},       {"first_difference", std::move(first)}};
}

// An object for each device: its own peaks.
Json peaks_of(std::span<const DevicePeaks> devices) {
    Json list = Json::array();
    for (std::size_t i = 0; i < devices.size(); ++i)
        list.push_back({{"device", i},
                        {"peak_reserved_bytes", devices[i].reserved},
                        {"peak_allocated_bytes", devices[i].allocated},
                        {"peak_active_bytes", devices[i].active},
                        {"peak_requested_bytes", devices[i].requested},
                        {"peak_reserved_event", devices[i].event}});
    return list;
}

Json run_object(const Run& run) {
    Json object{
        {"trace", run.scenario.trace},
        {"policy", run.policy_name},
        {"spec", run.scenario.policy},
        {"options", pairs(run.policy_options)},
        {"device", run.scenario.device},
        {"device_name", run.device_name},
        {"profile", run.scenario.profile},
        {"scale", run.scenario.scale},
        {"memory_bytes", run.device_memory ? run.device_memory->total : run.scenario.memory},
        {"overhead_bytes", run.scenario.held()},
        {"limit_bytes", run.limit},
        {"limit_source", run.limit_text},
        {"as_recorded", run.as_recorded},
        {"probes_granted", run.summary.probes_granted},
        {"probes_out_of_memory", run.summary.refused_again},
        {"check", run.scenario.check},
        {"stop_at_out_of_memory", run.scenario.stop_at_refusal},
        {"stop_at_refusal", run.scenario.stop_at_refusal},
        {"events", run.summary.events},
        {"replayed", run.summary.replayed},
        {"skipped", run.summary.skipped},
        {"live_at_end", run.summary.live_at_end},
        {"elapsed_ns", run.summary.elapsed},
        {"elapsed_total_ns", run.summary.elapsed_total}};
    for (const Measurement& each : run.measurements)
        if (!is_of_device(each))
            object[std::string(each.name)] = number(each);
    object["devices"] = peaks_of(device_peaks(run.measurements));
    object["peak_reserved_spread"] = spread_of(run.peak_spread);
    object["out_of_memory_events"] = refusals(run);
    object["refusals"] = object["out_of_memory_events"];
    object["hazard_count"] = run.hazard_count;
    object["hazards"] = hazards(run);
    object["device_peak_bytes"] = run.device_memory ? Json(run.device_memory->peak) : Json();
    object["device_leak_bytes"] = run.device_memory ? Json(run.device_memory->leak) : Json();
    object["warnings"] = run.warnings;
    return object;
}

Json peak_of(const Peak& peak) {
    return {{"value", peak.value}, {"event", peak.event}, {"time_ns", peak.time}};
}

Json histogram_of(const Histogram& histogram) {
    return list_of(histogram, [&](const HistogramBin& bin) -> Json {
        return {{"from", bin.low}, {"count", bin.count}, {"bytes", bin.bytes}};
    });
}

Json devices_of(const TraceInfo& info, const TraceSummary& summary) {
    Json list = Json::array();
    for (std::size_t i = 0; i < info.devices.size(); ++i) {
        Json device{{"name", info.devices[i].name},
                    {"total_memory_bytes", info.devices[i].total_memory}};
        if (i < summary.devices.size()) {
            device["allocations"] = summary.devices[i].allocations;
            device["peak_requested"] = peak_of(summary.devices[i].requested);
            device["peak_recorded_reserved"] = peak_of(summary.devices[i].recorded_reserved);
        }
        list.push_back(std::move(device));
    }
    return list;
}

Json streams_of(const TraceSummary& summary) {
    return list_of(summary.streams, [&](const StreamSummary& stream) -> Json {
        return {{"stream", to_integer(stream.stream)},
                {"handle", stream.handle},
                {"events", stream.events},
                {"allocations", stream.allocations},
                {"allocated_bytes", stream.allocated}};
    });
}

Json pools_of(const TraceInfo& info, const TraceSummary& summary) {
    return list_of(summary.pools, [&](const PoolSummary& pool) -> Json {
        return {{"pool", to_integer(pool.pool)},
                {"name", pool_text(info, pool.pool)},
                {"allocations", pool.allocations},
                {"allocated_bytes", pool.allocated},
                {"peak_requested_bytes", pool.peak_requested}};
    });
}

Json jitter_of(const std::optional<JitteredPeaks>& jitter) {
    if (!jitter)
        return nullptr;
    return {
        {"variants", jitter->peak.runs},
        {"p5", jitter->peak.p5},
        {"p50", jitter->peak.p50},
        {"p95", jitter->peak.p95},
        {"lowest", jitter->lowest},
        {"out_of_memory", jitter->refused},
        {"saving",
         {{"p5", jitter->saving.p5}, {"p50", jitter->saving.p50}, {"p95", jitter->saving.p95}}}};
}

Json paired_of(const ComparisonTotal& total) {
    if (!total.paired)
        return nullptr;
    const PairedEffect& paired = *total.paired;
    return {{"answer", to_text(paired.answer)},
            {"traces", paired.traces},
            {"effect", paired.effect},
            {"low", paired.low},
            {"high", paired.high},
            {"p", paired.p},
            {"test", paired.is_exact ? "sign-flip" : "signed-rank"},
            {"more_traces", or_null(paired.more_traces)},
            {"verdict", total.paired_verdict}};
}

Json row_of(const ComparisonRow& row, const std::string& trace) {
    Json object = run_object(row.run);
    object["trace"] = trace;
    object["elapsed_ns"] = row.elapsed;
    object.erase("elapsed_total_ns");
    object["label"] = row.label;
    object["baseline"] = row.baseline;
    object["other_allocator"] = row.other_allocator;
    object["recommended"] = row.recommended;
    object["pareto"] = row.pareto;
    object["jitter"] = jitter_of(row.jitter);
    Json change = Json::object();
    Json best = Json::array();
    for (const ComparisonCell& cell : row.cells) {
        if (cell.comparable)
            change[std::string(cell.measurement.name)] = cell.change;
        if (cell.best)
            best.push_back(cell.measurement.name);
    }
    object["change"] = std::move(change);
    object["best"] = std::move(best);
    return object;
}

Json recorded_of(const TraceComparison& trace) {
    if (!trace.recorded)
        return {};
    const auto figure = [&trace](std::string_view name) {
        return trace.recorded->run.measurement(name).whole;
    };
    return {{"label", trace.recorded->label},
            {"peak_reserved_bytes", figure("peak_reserved_bytes")},
            {"out_of_memory", figure("out_of_memory")},
            {"retries", figure("retries")}};
}

Json total_of(const ComparisonTotal& total) {
    return {{"label", total.label},
            {"baseline", total.baseline},
            {"other_allocator", total.other_allocator},
            {"recommended", total.recommended},
            {"overhead_ratio", total.overhead_ratio},
            {"change", total.change},
            {"out_of_memory", total.out_of_memory},
            {"traces_out_of_memory", total.traces_refused},
            {"traces_refused", total.traces_refused},
            {"driver_ns", total.driver_time},
            {"stall_ns", total.stall_time},
            {"growth_ns", total.growth_time},
            {"makespan_ns", total.makespan},
            {"pareto", total.pareto},
            {"paired", paired_of(total)}};
}

Json mismatch_of(const Mismatch& mismatch) {
    return {{"event", mismatch.event},        {"kind", to_text(mismatch.what.kind)},
            {"bytes", mismatch.what.size},    {"stream", to_integer(mismatch.what.stream)},
            {"device", mismatch.what.device}, {"expected", mismatch.expected},
            {"actual", mismatch.actual},      {"neighbourhood", mismatch.neighbourhood}};
}

Json facts_of(std::span<const InferredFact> facts) {
    Json list = Json::array();
    for (const InferredFact& fact : facts) {
        Json object{{"kind", to_text(fact.kind)}, {"device", fact.device}, {"event", fact.event}};
        if (fact.pool != PoolId::default_pool)
            object["pool"] = to_integer(fact.pool);
        if (fact.kind == InferredFact::Kind::limit)
            object["bytes"] = fact.count;
        else if (fact.count != 0)
            object["count"] = fact.count;
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace

Json report::trace_of(const std::string& name, const Trace& trace, const TraceSummary& summary) {
    const TraceInfo& info = trace.info();
    Json object{{"trace", name},
                {"format", info.format},
                {"source", info.source},
                {"start_time_ns", info.start_time},
                {"duration_ns", info.duration},
                {"begins_inside", info.begins_inside},
                {"cut_off", info.cut_off},
                {"events", summary.events},
                {"preamble_events", info.preamble_count},
                {"preamble_live", summary.preamble_live}};
    Json kinds = Json::object();
    for (const KindCount& kind : summary.kinds)
        kinds[std::string(to_text(kind.kind))] = kind.count;
    object["kinds"] = std::move(kinds);
    object["devices"] = devices_of(info, summary);
    object["streams"] = streams_of(summary);
    object["pool_usage"] = pools_of(info, summary);
    object["pools"] = info.pools;
    object["allocations"] = summary.allocations;
    object["allocated_bytes"] = summary.allocated;
    object["never_freed"] = summary.never_freed;
    object["never_freed_bytes"] = summary.never_freed_bytes;
    object["unmatched"] = summary.unmatched;
    add_uses(object, summary.uses);
    object["out_of_memory"] = summary.out_of_memory;
    object["peak_requested"] = peak_of(summary.requested);
    object["peak_live"] = peak_of(summary.live);
    object["peak_recorded_reserved"] =
        summary.has_recorded_reserved ? peak_of(summary.recorded_reserved) : Json();
    object["sizes"] = histogram_of(summary.sizes);
    object["lifetime_events"] = histogram_of(summary.lifetime_events);
    object["lifetime_ns"] = histogram_of(summary.lifetime_times);
    object["range_names"] = summary.range_names;
    Json ranges = list_of(summary.ranges, [&](const RangeCount& range) -> Json {
        return {{"name", range.name}, {"count", range.count}};
    });
    object["ranges"] = std::move(ranges);
    object["stacks"] = info.stacks.size() - 1;
    object["settings"] = pairs(info.settings);
    object["metadata"] = pairs(info.metadata);
    object["anomalies"] = anomalies(info.anomalies);
    object["warnings"] = info.warnings;
    return object;
}

std::string trace_json(const std::string& name, const Trace& trace, const TraceSummary& summary,
                       const Provenance& provenance) {
    Json object = report::trace_of(name, trace, summary);
    object["provenance"] = provenance_of(provenance, {{"trace_hash", trace.recorded_hash()}});
    return text_of(object);
}

std::string run_json(const Run& run, const TraceInfo& info, const Provenance& provenance,
                     const OutOfMemoryReport& failure) {
    Json object = run_object(run);
    object["out_of_memory_cases"] = out_of_memory_json(failure);
    object["touch"] = touch_of(run.touch);
    object["decisions"] = run.decisions ? Json(run.decisions->count) : Json();
    object["decisions_hash"] = run.decisions ? Json(hash_text(run.decisions->hash)) : Json();
    object["anomalies"] = anomalies(info.anomalies);
    object["trace_warnings"] = info.warnings;
    object["provenance"] = provenance_of(
        provenance, {{"trace_hash", run.trace_hash}, {"profile_hash", run.profile_hash}});
    return text_of(object);
}

std::string comparison_json(const Comparison& comparison, const Provenance& provenance) {
    Json runs = Json::array();
    Json traces = Json::array();
    std::uint64_t profile_hash = 0;
    for (const TraceComparison& trace : comparison.traces) {
        traces.push_back({{"trace", trace.name},
                          {"trace_hash", hash_text(trace.trace_hash)},
                          {"events", trace.events},
                          {"verdict", trace.verdict},
                          {"notes", trace.notes}});
        for (const ComparisonRow& row : trace.rows) {
            runs.push_back(row_of(row, trace.name));
            profile_hash = row.run.profile_hash;
        }
        traces.back()["recorded_run"] = recorded_of(trace);
    }
    return text_of({{"verdict", comparison.verdict},
                    {"interrupted", comparison.interrupted},
                    {"ranks", ranks_of(comparison.ranks)},
                    {"runs", std::move(runs)},
                    {"traces", std::move(traces)},
                    {"totals", list_of(comparison.totals, total_of)},
                    {"provenance", provenance_of(provenance, {{"profile_hash", profile_hash}})}});
}

std::string verify_json(const std::string& name, const Trace& trace, const VerifyReport& report,
                        const Provenance& provenance) {
    Json devices = list_of(report.device_peaks, [&](const Usage& peak) -> Json {
        return {{"peak", usage_of(peak)}};
    });
    return text_of(
        {{"trace", name},
         {"policy", report.policy},
         {"events", report.events},
         {"decisions", report.decisions},
         {"compares", report.compares()},
         {"mismatches", report.mismatches},
         {"ties", report.stats.ties},
         {"first_mismatch", report.first_mismatch ? mismatch_of(*report.first_mismatch) : Json()},
         {"not_inferable", report.not_inferable},
         {"inferred_trims", report.inferred_trims},
         {"final_blocks", report.final_blocks},
         {"peak", report.device_peaks.size() == 1 ? usage_of(report.peak) : Json()},
         {"devices", std::move(devices)},
         {"retries", report.stats.retries},
         {"out_of_memory", report.stats.out_of_memory},
         {"segments_created", report.stats.segments_created},
         {"segments_released", report.stats.segments_released},
         {"maps", report.stats.maps},
         {"unmaps", report.stats.unmaps},
         {"synchronizations", report.stats.synchronizations},
         {"facts", facts_of(report.facts)},
         {"notes", report.notes},
         {"provenance", provenance_of(provenance, {{"trace_hash", trace.recorded_hash()}})}});
}

std::string policies_json(std::span<const PolicyInfo> policies, const Provenance& provenance) {
    Json list = list_of(policies, [&](const PolicyInfo& policy) -> Json {
        return {{"name", policy.name},
                {"summary", policy.summary},
                {"source", policy.source},
                {"only_read", policy.only_read},
                {"options", options_of(policy.options)}};
    });
    return text_of({{"policies", std::move(list)},
                    {"options_of_every_policy", options_of(wrapper_options())},
                    {"provenance", provenance_of(provenance)}});
}

std::string generators_json(std::span<const GeneratorInfo> generators,
                            const Provenance& provenance) {
    Json list = list_of(generators, [&](const GeneratorInfo& generator) -> Json {
        return {{"name", generator.name},
                {"summary", generator.summary},
                {"options", options_of(generator.options)}};
    });
    return text_of({{"generators", std::move(list)}, {"provenance", provenance_of(provenance)}});
}

std::string written_json(std::span<const WrittenFile> files, const Provenance& provenance) {
    Json list = list_of(files, [&](const WrittenFile& file) -> Json {
        return {{"source", file.source},
                {"source_format", file.info.format},
                {"target", file.target},
                {"format", file.format},
                {"events", file.events},
                {"left_out_truth", file.left_out_truth},
                {"left_out_events", file.left_out_events},
                {"backwards", file.backwards},
                {"bytes", file.bytes},
                {"cut_off", file.info.cut_off},
                {"anomalies", anomalies(file.info.anomalies)},
                {"warnings", file.info.warnings}};
    });
    return text_of({{"files", std::move(list)}, {"provenance", provenance_of(provenance)}});
}

}  // namespace tidemark
