// The figures of a Run as bytes, for keeping them with its history.
#pragma once

#include "replay/scenario/scenario.h"
#include "traces/tmk/wire.h"

namespace tidemark {

// All but what only checks and real hardware report (touch, decisions, device_memory, hazards).
void put_run(tmk::ByteWriter& writer, const Run& run);

// As put_run() wrote it; `reader` is not ok() afterwards if it was something else. Names of
// measurements live as long as the process.
Run get_run(tmk::ByteReader& reader);

}  // namespace tidemark
