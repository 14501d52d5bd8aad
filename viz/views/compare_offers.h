// Shown when there are not two runs to compare: what comparing is, and how to get a second run.
#pragma once

#include "viz/draw/frame.h"

namespace tidemark::viz {

void draw_compare_offers(Frame& frame);

}  // namespace tidemark::viz
