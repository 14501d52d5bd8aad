// Living programs in words and as JSON.
#include "replay/report/live_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/json_values.h"
#include "replay/report/table.h"

namespace tidemark {
namespace {

using report::Json;

// The oldest file of the recording that is still there.
std::string first_piece(const live::LiveProgram& program) {
    return live::segment_path(program.header, std::max(program.counters.first_segment, 1U));
}

}  // namespace

std::string live_text(std::span<const live::LiveProgram> programs) {
    if (programs.empty())
        return "No program publishes here. docs/guide/live.md says how one does.\n";
    Table table({{"process"},
                 {"name", Align::left},
                 {"", Align::left},
                 {"since"},
                 {"events"},
                 {"lost"},
                 {"ring"},
                 {"recording", Align::left}});
    bool any_dead = false;
    for (const live::LiveProgram& program : programs) {
        any_dead = any_dead || !program.alive;
        table.add({{fmt::format("{}", program.process())},
                   {program.name()},
                   {program.alive ? "runs" : "died"},
                   {format_duration(program.age)},
                   {format_count(program.counters.sequence)},
                   {format_count(program.counters.dropped)},
                   {fmt::format("{:.0f} %", program.counters.fullest_ring * 100)},
                   {first_piece(program)}});
    }
    std::string text = table.ruled(Emphasis::none);
    text += "\nTo see one: tidemark view --attach NAME. Every command reads its recording.\n";
    if (any_dead)
        text +=
            "What the dead left behind: tidemark live --recover puts it into their recordings.\n";
    return text;
}

std::string live_json(std::span<const live::LiveProgram> programs, const Provenance& provenance) {
    Json list = Json::array();
    for (const live::LiveProgram& program : programs) {
        const live::ProgramCounters& counters = program.counters;
        list.push_back({{"process", program.process()},
                        {"name", program.name()},
                        {"alive", program.alive},
                        {"age_ns", program.age},
                        {"events", counters.sequence},
                        {"recorded", counters.written},
                        {"lost", counters.dropped},
                        {"forgotten", counters.forgotten},
                        {"ring_share", counters.fullest_ring},
                        {"recording", first_piece(program)},
                        {"write_failures", counters.failures}});
    }
    return report::text_of(
        {{"programs", std::move(list)}, {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
