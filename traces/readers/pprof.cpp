// pprof: recognised only to say what it is. jax.profiler.save_device_memory_profile writes how much
// each call site holds at one moment, in the format of github.com/google/pprof/proto/profile.proto.
// It has no order of allocations and frees, so it is not a trace.
#include <array>
#include <string>

#include "traces/readers/format.h"

namespace tidemark::formats {
namespace {

// A profile begins with its sample types, each a message (field 1) of two numbers (fields 1, 2).
bool recognise_pprof(std::span<const std::byte> head) {
    constexpr std::size_t kType = 6;  // bytes of one, with numbers of one byte
    if (head.size() < 2 * kType)
        return false;
    const auto is_type = [head](std::size_t at) {
        const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(head[at + i]); };
        return byte(0) == 0x0a && byte(1) == 4 && byte(2) == 0x08 && byte(3) < 0x80 &&
               byte(4) == 0x10 && byte(5) < 0x80;
    };
    return is_type(0) && is_type(kType);
}

Result<TraceInfo> refuse_pprof(ByteSource& source, TraceSink& /*sink*/,
                               const ReadOptions& /*options*/) {
    return fail(ErrorCode::unsupported,
                "is a pprof profile: what was held at one moment, not what was allocated and freed",
                source.name(),
                "record the run instead: XLA_PYTHON_CLIENT_ALLOCATOR=platform tidemark record -o "
                "run.tml -- python train.py");
}

}  // namespace

FormatInfo pprof() {
    return {"pprof", "a memory profile of JAX: recognised, but not a trace", recognise_pprof,
            refuse_pprof};
}

}  // namespace tidemark::formats
