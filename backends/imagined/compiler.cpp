// NVRTC, if the real compiler is missing: every compilation gives an empty result.
#include <cstddef>

#include "backends/imagined/api.h"
#include "backends/imagined/settings.h"

using namespace tidemark::imagined;

IMAGINED(int, nvrtcVersion)(int* major, int* minor) {
    *major = settings().cuda / 1000;
    *minor = settings().cuda % 1000 / 10;
    return kSuccess;
}

IMAGINED(int, nvrtcCreateProgram)

(void** out, const char*, const char*, int, const char* const*, const char* const*) {
    *out = new char[8]{};
    return kSuccess;
}

IMAGINED(int, nvrtcCompileProgram)(void*, int, const char* const*) {
    return kSuccess;
}

IMAGINED(int, nvrtcGetLoweredName)(void*, const char* expression, const char** name) {
    *name = expression;
    return kSuccess;
}

IMAGINED(int, nvrtcGetPTXSize)(void*, std::size_t* size) {
    *size = 1;
    return kSuccess;
}

IMAGINED(int, nvrtcGetPTX)(void*, char* to) {
    *to = '\0';
    return kSuccess;
}

IMAGINED(int, nvrtcGetCUBINSize)(void*, std::size_t* size) {
    *size = 1;
    return kSuccess;
}

IMAGINED(int, nvrtcGetCUBIN)(void*, char* to) {
    *to = '\0';
    return kSuccess;
}

IMAGINED(int, nvrtcGetProgramLogSize)(void*, std::size_t* size) {
    *size = 1;
    return kSuccess;
}

IMAGINED(int, nvrtcGetProgramLog)(void*, char* to) {
    *to = '\0';
    return kSuccess;
}

IMAGINED(const char*, nvrtcGetErrorString)(int) {
    return "refused by the imagined compiler";
}
