// What tests of the truth share: one recorded log, held against a policy.
#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "replay/record/verify.h"
#include "traces/open.h"

namespace tidemark::support {

// traces/samples/`log`.tmk under that policy; where they part first is shown if the test fails.
inline VerifyReport verified(const std::string& log, const std::string& policy) {
    const auto trace = open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/" + log + ".tmk");
    if (!trace)
        FAIL(to_text(trace.error()));
    const auto spec = parse_policy(policy);
    if (!spec)
        FAIL(to_text(spec.error()));
    const auto report = verify(**trace, *spec, {});
    if (!report)
        FAIL(to_text(report.error()));
    if (report->first_mismatch) {
        UNSCOPED_INFO("event " << report->first_mismatch->event);
        UNSCOPED_INFO("expected " << report->first_mismatch->expected);
        UNSCOPED_INFO("actual   " << report->first_mismatch->actual);
    }
    return *report;
}

}  // namespace tidemark::support
