// The objects. Order of keys is the order of assignment; every key is in docs/json.md.
#include <algorithm>

#include "replay/findings/find.h"
#include "replay/record/explained_record.h"
#include "replay/report/advise/advice_verdict.h"
#include "replay/report/advise/advise_report.h"
#include "replay/report/advise/growth_object.h"
#include "replay/report/findings/finding_json.h"
#include "replay/report/findings/out_of_memory_report.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/largest_steps_text.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using namespace report;

Json tried_of(const Tried& tried) {
    const TrialResult& result = tried.result;
    return {
        {"policy", tried.policy.text()},
        {"name", tried.name},
        {"conf", tried.policy.policy->name == "torch" ? torch_conf(tried.policy) : ""},
        {"line", tried.line},
        {"export",
         tried.line.starts_with("export ") || tried.line.starts_with("unset ") ? tried.line : ""},
        {"prime_bytes", tried.prime},
        {"one_graph_pool", tried.one_graph_pool},
        {"largest_graph_first", tried.largest_graph_first},
        {"peak_reserved_bytes", result.peak.reserved},
        {"peak_reserved_spread", spread_of(tried.peak_spread)},
        {"devices", device_peaks_of(result.device_peaks)},
        {"peak_allocated_bytes", result.peak.allocated},
        {"peak_active_bytes", result.peak.active},
        {"retries", result.stats.retries},
        {"out_of_memory", result.refusals()},
        {"device_calls", result.device_calls},
        {"driver_ns", result.driver_time},
        {"stall_ns", result.stall_time},
        {"growth_ns", result.growth_time}};
}

Json gpus_of(const Advice& advice) {
    return list_of(advice.gpus, [](const GpuRow& row) -> Json {
        return {{"peak_requested_bytes", row.peak_requested},
                {"peak_reserved_bytes", row.peak_reserved},
                {"out_of_memory", row.out_of_memory}};
    });
}

// The run itself, and whether it depended on where the driver put segments.
Json recorded_of(const Advice& advice) {
    if (!advice.recorded)
        return {};
    return {{"peak_reserved_bytes", advice.recorded->peak.reserved},
            {"out_of_memory", advice.recorded->refusals()},
            {"retries", advice.recorded->stats.retries},
            {"placements", advice.placements},
            {"placements_out_of_memory", advice.placements_refused}};
}

// What the card had room for, from the out-of-memory events of the first device that has any.
Json card_of(const Trace& trace) {
    RecordedCard card;
    if (const ExplainedRecord* const record = explained_record(trace); record != nullptr) {
        const auto device = std::ranges::find_if(
            record->devices, [](const RecordedDevice& each) { return each.card.room > 0; });
        card = device == record->devices.end() ? card : device->card;
    }
    return {{"room_bytes", card.room},         {"most_room_bytes", card.most_room},
            {"reserved_bytes", card.reserved}, {"free_bytes", card.free},
            {"total_bytes", card.total},       {"event", card.event}};
}

Json runner_ups(const SearchResult& search) {
    Json list = Json::array();
    const auto add = [&list](const Tried& tried, bool acceptable) {
        Json object = tried_of(tried);
        object["acceptable_price"] = acceptable;
        list.push_back(std::move(object));
    };
    for (const Tried& tried : search.others)
        add(tried, true);
    if (search.dear)
        add(*search.dear, false);
    return list;
}

Json memory_of(const facts::MemoryParts& parts) {
    return {{"reserved_bytes", parts.reserved},
            {"in_use_bytes", parts.in_use},
            {"rounding_bytes", parts.rounding},
            {"pending_free_bytes", parts.waiting},
            {"waiting_bytes", parts.waiting},  // its former name
            {"fragmentation_bytes", parts.fragmentation},
            {"cached_bytes", parts.cached},
            {"unused_bytes", parts.cached}};  // its former name
}

Json holders_of(const TraceInfo& info, const Advice& advice) {
    const Sites sites(info);
    return list_of(advice.holders, [&](const Holder& holder) -> Json {
        return {{"by", to_text(holder.kind)},
                {"name", holder.name},
                {"reserved_peak_bytes", holder.at_reserved_peak},
                {"allocated_peak_bytes", holder.at_allocated_peak},
                {"blocks", holder.blocks},
                {"largest_bytes", holder.largest},
                {"stack", sites.frames(holder.stack)}};
    });
}

Json pins_of(const TraceInfo& info, const Advice& advice) {
    const Sites sites(info);
    return list_of(advice.pins, [&](const PinningSite& pin) -> Json {
        return {{"name", pin.site},
                {"segments", pin.segments},
                {"free_bytes", pin.free},
                {"largest_gap_bytes", pin.largest_gap},
                {"in_use_bytes", pin.in_use},
                {"blocks", pin.blocks},
                {"block_bytes", pin.block_bytes},
                {"born_event", pin.born},
                {"born_time_ns", pin.born_time},
                {"ends_event", or_null(pin.ends, kNotInTrace)},
                {"ends_time_ns", pin.ends == kNotInTrace ? Json() : Json(pin.end_time)},
                {"stack", sites.frames(pin.stack)}};
    });
}

Json gaps_of(const Advice& advice) {
    const Gaps& gaps = advice.gaps;
    return {{"event", or_null(advice.snapshot.growth.event, kNotInTrace)},
            {"time_ns", advice.snapshot.growth.time},
            {"requested_bytes", gaps.requested},
            {"asked_bytes", gaps.requested},
            {"free_bytes", gaps.free},
            {"reachable_bytes", gaps.reachable},
            {"whole_segments_bytes", gaps.whole},
            {"largest_bytes", gaps.largest},
            {"count", gaps.count},
            {"other_streams_bytes", gaps.other_streams},
            {"other_pools_bytes", gaps.other_pools},
            {"other_sizes_bytes", gaps.other_sizes}};
}

Json range_of(const TraceInfo& info, const PeakSnapshot& snapshot, const RangeVisit& range) {
    return {{"name", info.strings[range.name]},
            {"visit", range.visit},
            {"of", snapshot.range_visits[range.name]}};
}

Json moment_of(const TraceInfo& info, const PeakSnapshot& snapshot, const Moment& moment) {
    Json inside = list_of(moment.inside, [&](const RangeVisit& range) -> Json {
        return range_of(info, snapshot, range);
    });
    Json object{{"event", or_null(moment.event, kNotInTrace)},
                {"time_ns", moment.time},
                {"reserved_bytes", moment.usage.reserved},
                {"allocated_bytes", moment.usage.allocated},
                {"requested_bytes", moment.requested},
                {"text", printable(findings::range_text(info, snapshot, moment))}};
    object["inside"] = std::move(inside);
    object["after"] = moment.after.name == 0 ? Json() : range_of(info, snapshot, moment.after);
    object["mark"] = moment.mark < info.strings.size() ? info.strings[moment.mark] : "";
    return object;
}

Json others_of(const Advice& advice) {
    return list_of(advice.others, [&](const OtherPolicy& other) -> Json {
        return {{"policy", other.name},
                {"peak_reserved_bytes", other.result.peak.reserved},
                {"out_of_memory", other.result.refusals()},
                {"driver_ns", other.result.driver_time}};
    });
}

Json held_of(const Held& held) {
    return {{"bytes", held.bytes}, {"blocks", held.blocks}};
}

Json side_of(const std::string& name, const GrowthSide& side) {
    return {{"trace", name},
            {"policy", side.policy},
            {"end", held_of(side.end)},
            {"peak", held_of(side.peak)},
            {"peak_reserved_bytes", side.peak_reserved}};
}

}  // namespace

std::string advice_json(const std::string& name, const Trace& trace, const Advice& advice,
                        const Provenance& provenance) {
    const TraceInfo& info = trace.info();
    const SearchResult& search = advice.search;
    const std::vector<findings::Finding> found =
        findings::find({.info = &info, .advice = &advice, .runs = {}});
    Json object{{"trace", name},
                {"events", info.event_count},
                {"is_state", info.is_state()},
                {"verdict", advice_verdict(info, advice)},
                {"allocator", advice.family},
                {"findings", findings_json(found)},
                {"gpu", advice.gpus.empty() ? Json() : Json(advice.gpu)},
                {"gpus", gpus_of(advice)},
                {"before", tried_of(search.before)},
                {"improves", search.improves},
                {"recorded_run", recorded_of(advice)},
                {"card", card_of(trace)},
                {"best", tried_of(search.best)},
                {"spread_verdict", advice.spread_verdict},
                {"runner_ups", runner_ups(search)},
                {"floor_bytes", search.floor},
                {"peak_requested_bytes", advice.peak_requested},
                {"largest_steps", largest_steps_of(advice.largest_steps)},
                {"offline_bound_bytes", or_null(advice.offline.packed)},
                {"offline_lower_bytes", advice.offline.lower},
                {"trials", search.trials},
                {"interrupted", search.interrupted},
                {"device_memory_bytes", advice.memory},
                {"limit_bytes", advice.limit},
                {"limit_is_inferred", advice.limit_source == LimitSource::inferred},
                {"limit_source", advice.limit_text},
                {"overhead_bytes", advice.overhead},
                {"out_of_memory", advice.out_of_memory.count},
                {"out_of_memory_cases", out_of_memory_json(advice.out_of_memory)},
                {"recorded_peak_reserved_bytes", advice.recorded_peak},
                {"recorded_out_of_memory", advice.recorded_refusals},
                {"from_torch", advice.from_torch},
                {"has_stacks", advice.has_stacks},
                {"memory", memory_of(advice.parts)},
                {"holders", holders_of(info, advice)},
                {"gaps", gaps_of(advice)},
                {"pins", pins_of(info, advice)}};
    object["steps"] = {{"reserved", moment_of(info, advice.snapshot, advice.snapshot.reserved)},
                       {"fullest", moment_of(info, advice.snapshot, advice.snapshot.fullest)},
                       {"allocated", moment_of(info, advice.snapshot, advice.snapshot.allocated)}};
    object["other_policies"] = others_of(advice);
    object["warnings"] = advice.warnings;
    object["notes"] = advice.notes;
    object["trace_warnings"] = info.warnings;
    object["provenance"] = provenance_of(provenance, {{"trace_hash", trace.recorded_hash()}});
    return text_of(object);
}

Json report::growth_object(const std::string& before, const std::string& after,
                           const Growth& growth) {
    Json entries = list_of(growth.entries, [&](const GrowthEntry& entry) -> Json {
        return {{"name", entry.name},
                {"change", to_text(entry.change)},
                {"end_before", held_of(entry.end_before)},
                {"end_after", held_of(entry.end_after)},
                {"peak_before", held_of(entry.peak_before)},
                {"peak_after", held_of(entry.peak_after)}};
    });
    return {{"before", side_of(before, growth.before)},
            {"after", side_of(after, growth.after)},
            {"by", growth.by_site ? "place" : "size"},
            {"entries", std::move(entries)},
            {"more", growth.more},
            {"warnings", growth.warnings}};
}

std::string growth_json(const std::string& before, const std::string& after, const Growth& growth,
                        const Provenance& provenance) {
    Json object = growth_object(before, after, growth);
    object["provenance"] = provenance_of(provenance);
    return text_of(object);
}

}  // namespace tidemark
