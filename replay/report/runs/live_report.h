// Running programs and the recordings that others left, as text and as JSON. Pure.
#pragma once

#include <span>
#include <string>

#include "replay/report/forms/model.h"
#include "traces/live/kept_recordings.h"
#include "traces/live/programs.h"

namespace tidemark {

// A table, and the commands for them; a sentence if there are none.
std::string live_text(std::span<const live::LiveProgram> programs);

std::string live_json(std::span<const live::LiveProgram> programs, const Provenance& provenance);

// A recording in a folder, and what became of it.
struct ListedRecording {
    live::KeptRecording recording;
    bool removed = false;
};

// A table, or only what was removed and why the rest wasn't; a sentence if there are none.
std::string recordings_text(std::span<const ListedRecording> recordings, const std::string& folder);
std::string removed_text(std::span<const ListedRecording> recordings, const std::string& folder);

std::string recordings_json(std::span<const ListedRecording> recordings, const std::string& folder,
                            const Provenance& provenance);

}  // namespace tidemark
