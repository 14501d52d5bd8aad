// Looking FFmpeg's functions up.
#include "viz/headless/ffmpeg.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tidemark::viz {
namespace {

class FfmpegLibraries {
  public:
    FfmpegLibraries()
        : avutil_(open("avutil", LIBAVUTIL_VERSION_MAJOR)),
          avcodec_(open("avcodec", LIBAVCODEC_VERSION_MAJOR)),
          avformat_(open("avformat", LIBAVFORMAT_VERSION_MAJOR)),
          swscale_(open("swscale", LIBSWSCALE_VERSION_MAJOR)) {
#define TIDEMARK_FFMPEG(library, name) look_up(library##_, #name, calls_.name);
#include "viz/headless/ffmpeg_calls.inc"
#undef TIDEMARK_FFMPEG
        if (missing_.empty())
            calls_.av_log_set_level(AV_LOG_FATAL);  // errors come back as values
    }

    const Ffmpeg& calls() const {
        return calls_;
    }

    // The first of what isn't there; empty: all is.
    const std::string& missing() const {
        return missing_;
    }

  private:
    void* open(const char* name, int version) {
        const std::string file = fmt::format("lib{}.so.{}", name, version);
        void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr && missing_.empty())
            missing_ = file;
        return library;
    }

    template <class Function>
    void look_up(void* library, const char* name, Function& function) {
        if (library != nullptr)
            function = reinterpret_cast<Function>(dlsym(library, name));
        if (function == nullptr && missing_.empty())
            missing_ = name;
    }

    std::string missing_;
    void* avutil_;
    void* avcodec_;
    void* avformat_;
    void* swscale_;
    Ffmpeg calls_;
};

}  // namespace

Result<const Ffmpeg*> Ffmpeg::load() {
    static const FfmpegLibraries libraries;
    if (libraries.missing().empty())
        return &libraries.calls();
    return fail(ErrorCode::unsupported,
                fmt::format("no MP4 can be written: {} is not there", libraries.missing()),
                "--animate",
                fmt::format("install FFmpeg's libraries (Debian: libavformat{} and libswscale{}), "
                            "or name it OUT.webp or OUT.gif",
                            LIBAVFORMAT_VERSION_MAJOR, LIBSWSCALE_VERSION_MAJOR));
}

}  // namespace tidemark::viz
