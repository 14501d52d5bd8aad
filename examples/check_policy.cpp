// Checks whether a policy is correct. A random program with three streams runs on a simulated
// device that checks every allocation and every use. It then runs once more for each device call,
// and that call fails. The example prints each fault with the device calls that led to it.
//
// Usage: check_policy [POLICY]       ./libown_policy.so, torch:expandable_segments=True, ...
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <tidemark/backends/sim/sim_device.h>
#include <tidemark/backends/wrap/checked.h>
#include <tidemark/backends/wrap/faulty.h>
#include <tidemark/backends/wrap/traced.h>
#include <tidemark/core/allocator/policy_file.h>
#include <tidemark/core/allocator/spec.h>

using namespace tidemark;

namespace {

struct Outcome {
    std::uint64_t calls = 0;   // of the device
    std::uint64_t faults = 0;  // hazards, and memory that was not released
};

void random_program(Allocator& allocator, Checker& checker) {
    std::mt19937_64 random(1);
    std::vector<std::pair<Allocation, StreamId>> live;
    const auto any = [&](std::uint64_t below) { return random() % below; };
    const auto free_one = [&](std::size_t which) {
        allocator.deallocate(live[which].first, live[which].second);
        live[which] = live.back();
        live.pop_back();
    };
    std::uint64_t event = 0;
    for (; event < 2000; ++event) {
        checker.set_event(event);
        const StreamId stream{static_cast<std::uint32_t>(any(3))};
        if (live.size() < 40 && any(2) == 0) {
            const Bytes size = 1 + any(Bytes{1} << (10 + any(14)));
            if (const auto granted = allocator.allocate({.size = size, .stream = stream}))
                live.emplace_back(*granted, stream);
        } else if (!live.empty()) {
            const std::size_t which = any(live.size());
            if (any(8) == 0)
                allocator.record_use(live[which].first, stream);
            else
                free_one(which);
        }
    }
    checker.set_event(event);
    while (!live.empty())
        free_one(live.size() - 1);
    allocator.trim(TrimLevel::all);
}

// Runs the whole program; the `failing`-th device call fails (0: none).
Result<Outcome> attempt(const PolicySpec& policy, std::uint64_t failing) {
    SimDevice sim({.capacity = 256_MiB});
    FaultyDevice faulty(sim, {.nth = failing});
    TracedDevice traced(faulty, 20);
    Checker checker;
    CheckedDevice device(traced, checker);
    Outcome outcome;
    {
        TM_ASSIGN(std::unique_ptr<Allocator> made, policy.make(device));
        CheckedAllocator allocator(std::move(made), checker);
        faulty.set_plan({.nth = failing});
        random_program(allocator, checker);
        outcome.calls = faulty.calls();
        const Usage& usage = allocator.usage();
        if (usage.allocated != 0 || usage.active != 0)
            ++outcome.faults;
    }
    checker.finish();
    outcome.faults += checker.count();
    if (outcome.faults == 0)
        return outcome;
    for (const Hazard& hazard : checker.hazards())
        std::printf("%s\n", hazard.what.c_str());
    std::printf("after call %llu failed; the last calls:\n",
                static_cast<unsigned long long>(failing));
    for (const CallRecord& call : traced.log())
        std::printf("    %s\n", to_text(call).c_str());
    return outcome;
}

Result<std::uint64_t> check(const std::string& text) {
    if (const std::string_view file = policy_file_of(text); !file.empty())
        TM_TRY(load_policy_file(file));
    TM_ASSIGN(const PolicySpec policy, parse_policy(text));
    TM_ASSIGN(const Outcome plain, attempt(policy, 0));
    std::uint64_t faults = plain.faults;
    for (std::uint64_t failing = 1; failing <= plain.calls && faults == 0; ++failing) {
        TM_ASSIGN(const Outcome outcome, attempt(policy, failing));
        faults += outcome.faults;
    }
    std::printf("%s: %llu device calls, each of which failed once: %s\n", policy.text().c_str(),
                static_cast<unsigned long long>(plain.calls), faults == 0 ? "correct" : "WRONG");
    return faults;
}

}  // namespace

int main(int count, char** words) {
    const auto faults = check(count > 1 ? words[1] : "torch");
    if (!faults)
        std::fprintf(stderr, "%s\n", to_text(faults.error()).c_str());
    return faults && *faults == 0 ? 0 : 1;
}
