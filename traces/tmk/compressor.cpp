// zstd at one level, without its own checksum: blocks have one.
#include <zstd.h>
#include <zstd_errors.h>

#include "core/base/caught.h"
#include "core/base/check.h"
#include "traces/tmk/number_stream.h"

namespace tidemark::tmk {

struct Compressor::State {
    State() : context(ZSTD_createCCtx()) { check_memory(context != nullptr); }

    ~State() { ZSTD_freeCCtx(context); }

    State(const State&) = delete;
    State& operator=(const State&) = delete;

    ZSTD_CCtx* context;
    std::vector<std::byte> target;
};

Compressor::Compressor() : state_(std::make_unique<State>()) {}

Compressor::~Compressor() = default;

std::span<const std::byte> Compressor::compress(std::span<const std::byte> bytes, int level) {
    const std::size_t bound = ZSTD_compressBound(bytes.size());
    if (state_->target.size() < bound)
        state_->target.resize(bound);
    const std::size_t size = ZSTD_compressCCtx(state_->context, state_->target.data(), bound,
                                               bytes.data(), bytes.size(), level);
    check_memory(ZSTD_getErrorCode(size) != ZSTD_error_memory_allocation);
    TM_CHECK(ZSTD_isError(size) == 0);
    return std::span(state_->target).first(size);
}

struct Decompressor::State {
    State() : context(ZSTD_createDCtx()) { check_memory(context != nullptr); }

    ~State() { ZSTD_freeDCtx(context); }

    State(const State&) = delete;
    State& operator=(const State&) = delete;

    ZSTD_DCtx* context;
};

Decompressor::Decompressor() : state_(std::make_unique<State>()) {}

Decompressor::~Decompressor() = default;

bool Decompressor::decompress(std::span<const std::byte> bytes, std::span<std::byte> target) {
    const std::size_t size = ZSTD_decompressDCtx(state_->context, target.data(), target.size(),
                                                 bytes.data(), bytes.size());
    check_memory(ZSTD_getErrorCode(size) != ZSTD_error_memory_allocation);
    return ZSTD_isError(size) == 0 && size == target.size();
}

}  // namespace tidemark::tmk
