// Living programs in words and as JSON. Pure.
#pragma once

#include <span>
#include <string>

#include "replay/report/model.h"
#include "traces/live/programs.h"

namespace tidemark {

// A table, and what can be done with them; a sentence if there are none.
std::string live_text(std::span<const live::LiveProgram> programs);

std::string live_json(std::span<const live::LiveProgram> programs, const Provenance& provenance);

}  // namespace tidemark
