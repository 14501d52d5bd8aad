// What the views show of a session, as figures: for `--figures`, and for programs that read a page.
#pragma once

#include <string>

#include "viz/model/session/session.h"

namespace tidemark::viz {

// JSON, of format "tidemark-figures". Pure; sweeps over each run's history.
std::string session_figures(const Session& session);

}  // namespace tidemark::viz
