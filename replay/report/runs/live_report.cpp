// Running programs and kept recordings as text and as JSON.
#include "replay/report/runs/live_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;

// The oldest file of the recording that still exists.
std::string first_piece(const live::LiveProgram& program) {
    return live::segment_path(program.header, std::max(program.counters.first_segment, 1U));
}

std::string_view word_for(live::RecordingState state) {
    switch (state) {
        case live::RecordingState::in_use:
            return "in use";
        case live::RecordingState::unrecovered:
            return "not recovered";
        default:
            return "ended";
    }
}

std::string count_of(std::size_t count) {
    return format_counted(count, "recording");
}

}  // namespace

std::string live_text(std::span<const live::LiveProgram> programs) {
    if (programs.empty())
        return "No program publishes here. docs/guide/live.md says how to make one.\n";
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
        table.row(fmt::format("{}", program.process()), one_line(program.name()),
                  program.alive ? "runs" : "died", format_duration(program.age),
                  format_count(program.counters.sequence), format_count(program.counters.dropped),
                  fmt::format("{:.0f} %", program.counters.fullest_ring * 100),
                  printable(first_piece(program)));
    }
    std::string text = table.ruled(Emphasis::none);
    text += "\nTo see one: tidemark view --attach NAME. Every command reads its recording.\n";
    if (any_dead)
        text += "tidemark live --recover completes the recordings of the programs that died.\n";
    return text;
}

std::string live_json(std::span<const live::LiveProgram> programs, const Provenance& provenance) {
    Json list = report::list_of(programs, [](const live::LiveProgram& program) -> Json {
        const live::ProgramCounters& counters = program.counters;
        return {{"process", program.process()},
                {"name", program.name()},
                {"alive", program.alive},
                {"age_ns", program.age},
                {"events", counters.sequence},
                {"recorded", counters.written},
                {"lost", counters.dropped},
                {"forgotten", counters.forgotten},
                {"ring_share", counters.fullest_ring},
                {"recording", first_piece(program)},
                {"write_failures", counters.failures}};
    });
    return report::text_of(
        {{"programs", std::move(list)}, {"provenance", report::provenance_of(provenance)}});
}

std::string recordings_text(std::span<const ListedRecording> recordings,
                            const std::string& folder) {
    if (recordings.empty())
        return fmt::format("No recordings in {}.\n", printable(folder));
    Table table({{"program", Align::left},
                 {"process"},
                 {"state", Align::left},
                 {"last written"},
                 {"size"},
                 {"files"},
                 {"first file", Align::left}});
    Bytes bytes = 0;
    for (const auto& [recording, removed] : recordings) {
        bytes += recording.bytes;
        table.row(one_line(live::text_of(recording.header.name)),
                  fmt::format("{}", recording.header.process), word_for(recording.state),
                  format_duration(recording.age) + " ago", format_bytes(recording.bytes),
                  fmt::format("{}", recording.files.size()), printable(recording.files.front()));
    }
    return table.ruled(Emphasis::none) +
           fmt::format("\n{}, {}, in {}. tidemark live --clean removes those that have ended.\n",
                       count_of(recordings.size()), format_bytes(bytes), printable(folder));
}

std::string removed_text(std::span<const ListedRecording> recordings, const std::string& folder) {
    std::string text;
    std::size_t removed = 0;
    std::size_t unrecovered = 0;
    Bytes bytes = 0;
    for (const ListedRecording& listed : recordings) {
        if (listed.recording.state == live::RecordingState::unrecovered)
            ++unrecovered;
        if (!listed.removed)
            continue;
        ++removed;
        bytes += listed.recording.bytes;
        text += fmt::format("removed {} ({})\n", printable(listed.recording.files.front()),
                            format_bytes(listed.recording.bytes));
    }
    text += fmt::format("{} removed from {}, {}; {} kept.\n", count_of(removed), printable(folder),
                        format_bytes(bytes), recordings.size() - removed);
    if (unrecovered != 0)
        text += fmt::format(
            "{} not recovered: the program died and left events in memory. --recover --clean "
            "completes the recording and removes it.\n",
            count_of(unrecovered));
    return text;
}

std::string recordings_json(std::span<const ListedRecording> recordings, const std::string& folder,
                            const Provenance& provenance) {
    Json list = Json::array();
    for (const auto& [recording, removed] : recordings)
        list.push_back({{"name", live::text_of(recording.header.name)},
                        {"process", recording.header.process},
                        {"state", word_for(recording.state)},
                        {"age_ns", recording.age},
                        {"bytes", recording.bytes},
                        {"files", recording.files},
                        {"removed", removed}});
    return report::text_of({{"folder", folder},
                            {"recordings", std::move(list)},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
