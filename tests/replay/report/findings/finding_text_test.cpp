// What findings say: sentences that are true of their figures.
#include "replay/report/findings/finding_text.h"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

bool says(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("no hole serves a request that it is too small for", "[report][findings]") {
    findings::Finding finding;
    finding.kind = findings::Kind::growth_while_free;
    finding.event = 7;
    finding.figures = {{"requested_bytes", 643_MiB},
                       {"free_bytes", 2200_MiB},
                       {"usable_bytes", 2130_MiB},
                       {"gaps", 58},
                       {"largest_free_bytes", 574_MiB}};
    CHECK(says(finding_text(finding).detail,
               "2.08 GiB was free where such a request can be served, in 58 holes, none large "
               "enough: the largest has 574 MiB."));
    finding.figures[3].value = 1;
    CHECK(says(finding_text(finding).detail, "in 1 hole, too small: the largest has 574 MiB."));
}
