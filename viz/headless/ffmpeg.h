// FFmpeg's libraries, looked up when an MP4 is wanted: some hundred libraries come with them, which
// nobody who looks at a trace should wait for. The headers are needed to build, the libraries, of
// the headers' versions, to run.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include "core/base/result.h"

namespace tidemark::viz {

struct Ffmpeg {
    // Errors: unsupported, with what to install. Once loaded they stay. Thread-safe.
    static Result<const Ffmpeg*> load();

#define TIDEMARK_FFMPEG(library, name) decltype(&::name) name = nullptr;
#include "viz/headless/ffmpeg_calls.inc"
#undef TIDEMARK_FFMPEG
};

}  // namespace tidemark::viz
