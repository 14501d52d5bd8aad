// Starting a publisher and opening what it recorded, in tests that need both to succeed.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "traces/live/publisher.h"
#include "traces/open.h"

namespace tidemark::support {

inline std::unique_ptr<live::Publisher> must_start(const live::PublishOptions& options) {
    auto publisher = live::Publisher::start(options);
    if (!publisher)
        FAIL(to_text(publisher.error()));
    return std::move(*publisher);
}

inline std::unique_ptr<Trace> must_open(const std::string& path) {
    auto trace = open_trace(path);
    if (!trace)
        FAIL(to_text(trace.error()));
    return std::move(*trace);
}

}  // namespace tidemark::support
