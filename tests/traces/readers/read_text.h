// Reading a text as a trace, for tests of formats.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include "tests/support/checking_sink.h"
#include "tests/traces/readers/strictness.h"
#include "traces/readers/format.h"

namespace tidemark::support {

// What a reader made of a text; `info` is an Error if it refused.
struct ReadText {
    Result<TraceInfo> info;
    CheckingSink sink;

    const TraceEvent& event(std::size_t i) const {
        REQUIRE(i < sink.events().size());
        return sink.events()[i];
    }

    std::size_t count() const { return sink.events().size(); }
};

// Requires that the events keep the promises of the model.
inline ReadText read_text(const FormatInfo& format, std::string_view text,
                          const ReadOptions& options = {}) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    const auto source = open_memory(bytes, "test");
    REQUIRE(source);
    ReadText result{{}, {}};
    result.info = format.read(**source, result.sink, options);
    if (result.info)
        REQUIRE(result.sink.finish(*result.info));
    CHECK(result.sink.problem() == "");
    return result;
}

// The same for a text that must be readable.
inline ReadText must_read(const FormatInfo& format, std::string_view text,
                          const ReadOptions& options = {}) {
    ReadText result = read_text(format, text, options);
    if (!result.info)
        FAIL(to_text(result.info.error()));
    return result;
}

// The Error, as one line, that reading `text` must give.
inline std::string must_refuse(const FormatInfo& format, std::string_view text,
                               const ReadOptions& options = {}) {
    const ReadText result = read_text(format, text, options);
    REQUIRE_FALSE(result.info);
    return to_text(result.info.error());
}

}  // namespace tidemark::support
