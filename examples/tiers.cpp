// How would a program perform with less GPU memory, and the rest on the host? Tries each victim
// policy on a known machine or one from a file (`tidemark machines --discover -o FILE`).
//
// Usage: tiers [TRACE [MACHINE]]
#include <cstdio>

#include <tidemark/backends/machines/machine_json.h>
#include <tidemark/replay/tiers/tier_run.h>
#include <tidemark/traces/open.h>

using namespace tidemark;

namespace {

Result<bool> example(const std::string& path, const std::string& machine_name) {
    TM_ASSIGN(const std::unique_ptr<Trace> trace, open_trace(path));
    TM_ASSIGN(const TierProgram program, make_tier_program(*trace));
    TM_ASSIGN(const MachineSpec machine, open_machine(machine_name));
    std::printf("%-10s %9s %12s\n", "spill", "slowdown", "bytes moved");
    bool slower = false;
    for (const VictimPolicyInfo& policy : all_victim_policies()) {
        TierScenario scenario;
        scenario.gpu_fraction = 0.6;
        scenario.spill = policy.name;
        TM_ASSIGN(const TierRun run, run_tiers(program, machine, scenario));
        std::printf("%-10s %9.3f %12llu\n", run.policy.c_str(), run.slowdown(),
                    static_cast<unsigned long long>(run.spilled_bytes + run.fetched_bytes));
        slower = slower || run.slowdown() > 1;
    }
    return slower;
}

}  // namespace

int main(int count, char** words) {
    const auto outcome = example(count > 1 ? words[1] : "generate:kv-cache:events=20000,weights=64MiB",
                                 count > 2 ? words[2] : "h200-node");
    if (!outcome)
        std::fprintf(stderr, "%s\n", to_text(outcome.error()).c_str());
    return outcome && *outcome ? 0 : 1;
}
