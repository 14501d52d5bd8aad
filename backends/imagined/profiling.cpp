// CUPTI and cuFFT's plans: there is nothing to profile, and nothing to plan.
#include <cstddef>
#include <cstdint>

#include "backends/imagined/api.h"
#include "backends/imagined/settings.h"

using namespace tidemark::imagined;

IMAGINED(int, cuptiGetVersion)(unsigned* version) {
    *version = static_cast<unsigned>(settings().cuda) * 10;
    return kSuccess;
}

IMAGINED(int, cuptiGetResultString)(int, const char** text) {
    *text = "refused by the imagined GPU";
    return kSuccess;
}
