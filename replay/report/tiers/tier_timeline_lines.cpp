// The JSON library writes the header; spans, of which there may be millions, are written by hand.
#include "replay/report/tiers/tier_timeline_lines.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/base/printable.h"
#include "replay/report/forms/json_values.h"

namespace tidemark {
namespace {

using report::Json;

// Ordered by start; without stalls that took no time.
std::vector<const TierSpan*> sorted(const std::vector<TierSpan>& timeline) {
    std::vector<const TierSpan*> spans;
    spans.reserve(timeline.size());
    for (const TierSpan& span : timeline) {
        const bool moment = span.kind == SpanKind::drop || span.kind == SpanKind::kernel;
        if (moment || span.begin < span.end)
            spans.push_back(&span);
    }
    const auto key = [](const TierSpan* span) {
        return std::tuple(span->begin, span->kind, span->track, span->end, span->buffer);
    };
    std::stable_sort(spans.begin(), spans.end(),
                     [&key](const TierSpan* a, const TierSpan* b) { return key(a) < key(b); });
    return spans;
}

Json header_of(const TierRun& run, const TraceInfo& info, const Provenance& provenance) {
    Json streams =
        report::list_of(info.streams, [&](const std::uint64_t handle) -> Json { return handle; });
    Json links = report::list_of(run.links, [&](const TierLinkUse& link) -> Json {
        return {{"source", to_text(link.source)}, {"target", to_text(link.target)}};
    });
    Json spaces = report::list_of(run.spaces, [&](const TierSpacePeak& space) -> Json {
        return {{"space", to_text(space.space)}, {"capacity_bytes", space.capacity}};
    });
    return {{"type", "header"},
            {"format", "tidemark-timeline"},
            {"version", 1},
            {"unit", "ns"},
            {"trace", run.scenario.trace},
            {"machine", run.machine_name},
            {"spec", run.scenario.spill},
            {"gpu_memory_bytes", run.scenario.gpu_memory},
            {"makespan_ns", run.makespan},
            {"unlimited_makespan_ns", run.unlimited},
            {"streams", std::move(streams)},
            {"links", std::move(links)},
            {"spaces", std::move(spaces)},
            {"trace_hash", report::hash_text(run.trace_hash)},
            {"machine_hash", report::hash_text(run.machine_hash)},
            {"tidemark", provenance.version},
            {"command", provenance.command}};
}

// A copy's kind by where it goes: away from the GPU, towards it, or neither.
std::string_view copy_kind(const TierRun& run, std::uint32_t track) {
    if (track >= run.links.size())
        return "move";
    const Tier source = run.links[track].source.tier;
    const Tier target = run.links[track].target.tier;
    if (source == target)
        return "move";
    return source < target ? "spill" : "fetch";
}

// The kind and the track of a span, as members of its object.
std::string track_text(const TierRun& run, const TierSpan& span) {
    switch (span.kind) {
        case SpanKind::kernel:
            return fmt::format(R"("kind":"kernel","stream":{})", span.track);
        case SpanKind::fetch_stall:
            return fmt::format(R"("kind":"stall","cause":"fetch","stream":{})", span.track);
        case SpanKind::room_stall:
            return fmt::format(R"("kind":"stall","cause":"room","stream":{})", span.track);
        case SpanKind::reservation_stall:
            return fmt::format(R"("kind":"stall","cause":"reservation","stream":{})", span.track);
        case SpanKind::copy:
            return fmt::format(R"("kind":"{}","link":{})", copy_kind(run, span.track), span.track);
        case SpanKind::drop:
            return fmt::format(R"("kind":"drop","space":{})", span.track);
    }
    return {};
}

std::string span_line(const TierRun& run, const TierSpan& span) {
    std::string line = fmt::format(R"({{"begin":{},"end":{},{},"bytes":{})", span.begin, span.end,
                                   track_text(run, span), span.bytes);
    if (span.buffer != kNoUse)
        line += fmt::format(R"(,"buffer":{})", span.buffer);
    return line + "}\n";
}

std::string level_line(const TierLevel& level) {
    return fmt::format(R"({{"begin":{0},"end":{0},"kind":"level","space":{1},"bytes":{2},)"
                       R"("reserved_bytes":{3}}})"
                       "\n",
                       level.time, level.space, level.used, level.reserved);
}

}  // namespace

Result<void> write_timeline(const TierRun& run, const TraceInfo& info, const Provenance& provenance,
                            OutputFile& file) {
    const std::vector<const TierSpan*> spans = sorted(run.timeline);
    Json header = header_of(run, info, provenance);
    header["spans"] = spans.size() + run.levels.size();
    TM_TRY(file.write(printable_json(header.dump(-1, ' ', false, Json::error_handler_t::replace)) +
                      "\n"));
    auto level = run.levels.begin();
    for (const TierSpan* span : spans) {
        for (; level != run.levels.end() && level->time < span->begin; ++level)
            TM_TRY(file.write(level_line(*level)));
        TM_TRY(file.write(span_line(run, *span)));
    }
    for (; level != run.levels.end(); ++level)
        TM_TRY(file.write(level_line(*level)));
    return {};
}

}  // namespace tidemark
