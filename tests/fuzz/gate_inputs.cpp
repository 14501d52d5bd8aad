// What a gate reads, of any bytes: a condition and a baseline.
#include <string_view>

#include "core/base/check.h"
#include "replay/report/gate/baseline.h"
#include "tests/fuzz/targets.h"

namespace tidemark::fuzz {

void gate_inputs(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    static const std::vector<Measurement> kFigures = gate_figures();
    const Result<BudgetCondition> condition = parse_budget(text, kFigures);
    if (condition)
        TM_CHECK(find_figure(kFigures, condition->metric) != nullptr);
    else
        TM_CHECK(!condition.error().what.empty());
    const Result<Baseline> baseline = read_baseline(text, "fuzzed");
    Run run;
    run.measurements = kFigures;
    if (baseline)
        TM_CHECK(gate(run, {}, &*baseline).has_value());
    else
        TM_CHECK(baseline.error().where == "fuzzed");
}

}  // namespace tidemark::fuzz
