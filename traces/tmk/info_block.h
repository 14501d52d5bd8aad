// The info block of a .tmk file: all of TraceInfo, strings and stacks included, compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "traces/model/trace.h"
#include "traces/tmk/wire.h"

namespace tidemark::tmk {

struct EncodedInfo {
    ByteWriter payload;
    // What events refer to and what it means; not where the trace came from.
    std::uint64_t content_hash = 0;
};

EncodedInfo encode_info(const TraceInfo& info);

struct DecodedInfo {
    TraceInfo info;
    std::uint64_t content_hash = 0;
};

// Errors: bad_input, without `where`. Memory: at most a few thousand times `payload`.
Result<DecodedInfo> decode_info(std::span<const std::byte> payload);

}  // namespace tidemark::tmk
