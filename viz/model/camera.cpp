// Camera: see the header.
#include "viz/model/camera.h"
