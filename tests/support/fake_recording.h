// What recording takes, all of it and none, for tests of what is said about it.
#pragma once

#include "replay/analysis/calibrate/doctor.h"

namespace tidemark::support {

inline RecordingFacts full_recording() {
    return {.library = std::string("/usr/lib/libtidemark-record.so"),
            .cupti = std::string("/usr/local/cuda/lib64/libcupti.so.13, version 130001"),
            .probes = std::string("of processes whose user we are, or root"),
            .compiler = std::string("/usr/bin/c++")};
}

inline RecordingFacts no_recording() {
    return {.library = fail(ErrorCode::unsupported, "is set already, to other.so",
                            "CUDA_INJECTION64_PATH", "unset it"),
            .cupti = fail(ErrorCode::not_found, "no CUPTI (none was found)", "",
                          "name it in TIDEMARK_CUPTI"),
            .probes = fail(ErrorCode::unsupported, "a ring of events is not permitted", "--attach",
                           "it takes root"),
            .compiler = fail(ErrorCode::not_found, "there is no C++ compiler", "", "install g++")};
}

}  // namespace tidemark::support
