// The overview's column of what to do: the first finding with its advice, the next ones by their
// titles, and the facts of the run.
#pragma once

#include "viz/views/overview_writer.h"

namespace tidemark::viz {

// Of the shown run. A click goes to the finding.
void draw_what_to_do(Frame& frame, Writer& writer);

void draw_run_facts(Frame& frame, Writer& writer);

}  // namespace tidemark::viz
