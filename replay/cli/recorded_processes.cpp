// The recording is completed, then read as any other trace.
#include "replay/cli/recorded_processes.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include <unistd.h>

#include "replay/analysis/trace/tagged_frees.h"
#include "replay/cli/trace_input.h"
#include "traces/live/kept_recordings.h"
#include "traces/live/programs.h"
#include "traces/live/remainder.h"

namespace tidemark::commands {
namespace {

namespace fs = std::filesystem;

// The file that a recording begins with: of one in pieces, the oldest that is there.
std::string first_file(const std::string& recording) {
    std::error_code ignored;
    if (fs::exists(recording, ignored))
        return recording;
    const std::string folder = fs::path(recording).parent_path().string();
    for (const live::KeptRecording& kept : live::list_recordings(folder, {})) {
        if (live::text_of(kept.header.recording) == recording)
            return kept.files.front();
    }
    return recording;
}

Result<RecordedCalls> read_calls(Front& front, const std::string& path) {
    TM_ASSIGN(const std::unique_ptr<Trace> trace, open_recording(front, path, {}));
    RecordedCalls calls;
    calls.info = trace->info();
    TM_ASSIGN(calls.summary, summarize(*trace));
    // By then the program had not freed it.
    TM_ASSIGN(const TaggedFrees ended, tagged_frees(*trace, inject::kContextEndTag));
    calls.ended_with_context = ended.count;
    calls.ended_with_context_bytes = ended.bytes;
    return calls;
}

// What a process left in memory; nothing if it ended its recording itself. Others than the one that
// was waited for may be about to die of the same signal: a moment is given to them.
std::optional<live::LiveProgram> left_behind(const inject::ProcessReport& report) {
    constexpr int kLooks = 20;
    constexpr unsigned kMicrosecondsBetween = 10'000;
    std::optional<live::LiveProgram> found;
    for (int look = 0; look < kLooks; ++look) {
        found.reset();
        for (live::LiveProgram& program : live::list_programs()) {
            if (program.process() == report.process && program.recording() == report.recording)
                found = std::move(program);
        }
        if (!found || !found->alive)
            break;
        ::usleep(kMicrosecondsBetween);
    }
    return found;
}

}  // namespace

RecordedProcess look_at_recorded(Front& front, const inject::ProcessReport& report) {
    RecordedProcess process;
    process.process = report.process;
    process.problem = report.problem;
    process.untimed = report.untimed;
    if (report.recording.empty())
        return process;
    if (const auto program = left_behind(report)) {
        process.running = program->alive;
        const Result<live::Remainder> rest =
            program->alive ? live::Remainder{} : live::recover(*program);
        if (!rest && rest.error().code != ErrorCode::not_found)
            front.note(to_text(rest.error()));
    }
    process.recording = first_file(report.recording);
    Result<RecordedCalls> calls = read_calls(front, process.recording);
    if (calls)
        process.calls = std::move(*calls);
    else if (process.problem.empty())
        process.problem = to_text(calls.error());
    return process;
}

}  // namespace tidemark::commands
