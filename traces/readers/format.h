// FormatInfo: a file format that Tidemark reads. To add one, add a file here and one line in
// formats.inc: TIDEMARK_FORMAT(name).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "traces/io/byte_source.h"
#include "traces/model/trace.h"

namespace tidemark {

struct FormatInfo {
    std::string_view name;     // "torch-snapshot"
    std::string_view summary;  // one line
    // Whether a file that starts with `head` (up to 4 KiB, uncompressed) has this format.
    bool (*recognises)(std::span<const std::byte> head);
    // Reads all of `source` into `sink` (append only, never finish) and returns the information.
    // Errors: bad_input with name and offset or line, what was expected and what to do; io; those
    // of `sink`. The caller discards what was appended before an error. One thread per source.
    Result<TraceInfo> (*read)(ByteSource& source, TraceSink& sink, const ReadOptions& options);
    // How many recordings a source holds, of which ReadOptions::part is one; null: always one.
    Result<std::size_t> (*count)(ByteSource& source) = nullptr;
};

// The catalogue (formats.cpp); if two formats recognise a head, the first one reads it.
std::span<const FormatInfo> all_formats();

}  // namespace tidemark
