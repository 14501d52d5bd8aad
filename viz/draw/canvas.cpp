// Canvas: see the header.
#include "viz/draw/canvas.h"
