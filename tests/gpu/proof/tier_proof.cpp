// tier_proof: is the replay over tiers true? Runs traces on a GPU as the replay decides, with
// kernels of the recorded duration and real copies, and compares slowdown and bytes with what the
// replay predicts for the link as it is measured here.
//
// Usage: tier_proof [--memory FRACTION] [--spill POLICY]... TRACE...
// Prints a line for each, and JSON lines with --json. Exit code 1 if bytes differ, content is
// wrong or a slowdown is off by more than 10 %; 77 without a GPU.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backends/machines/machine_json.h"
#include "core/base/stopwatch.h"
#include "replay/tiers/tier_run.h"
#include "tests/gpu/proof/real_tiers.h"
#include "traces/open.h"

namespace tidemark::gpu {
namespace {

constexpr int kNoGpu = 77;
constexpr double kTolerance = 0.10;

struct Wishes {
    double memory = 0.6;
    bool json = false;
    std::vector<std::string> policies;
    std::vector<std::string> traces;
};

struct Stand {
    std::unique_ptr<CudaDevice> device;
    std::unique_ptr<GpuPacing> pacing;
    Range gpu;
    Range host;
};

// Bytes per second of copies in a row, as the executor makes them.
double bandwidth(CudaDevice& device, Address target, Address source, Bytes size, Bytes chunk) {
    constexpr StreamId kStream{62};
    double best = 0;
    for (int round = 0; round < 5; ++round) {
        static_cast<void>(device.synchronize_device());
        const Stopwatch watch;
        for (Bytes done = 0; done < size; done += chunk)
            static_cast<void>(
                device.copy(target + done, source + done, std::min(chunk, size - done), kStream));
        static_cast<void>(device.synchronize(kStream));
        best =
            std::max(best, static_cast<double>(size) * 1e9 / static_cast<double>(watch.elapsed()));
    }
    return best;
}

// The machine's links as they are here: large chunks give the bandwidth, small copies what each
// costs beside it.
void measure(const Stand& stand, MachineSpec& machine) {
    constexpr Bytes kLarge = 1_GiB;
    constexpr Bytes kSmall = 64_KiB;
    for (LinkSpec& link : machine.links) {
        const bool out = link.source.tier == Tier::gpu && link.target.tier == Tier::host;
        if (!out && !(link.source.tier == Tier::host && link.target.tier == Tier::gpu))
            continue;
        const Address target = out ? stand.host.begin : stand.gpu.begin;
        const Address source = out ? stand.gpu.begin : stand.host.begin;
        link.bytes_per_second = bandwidth(*stand.device, target, source, kLarge, 16_MiB);
        const double small = bandwidth(*stand.device, target, source, 64_MiB, kSmall);
        const double each =
            static_cast<double>(kSmall) * (1e9 / small - 1e9 / link.bytes_per_second);
        link.overhead = std::max<Nanoseconds>(0, std::llround(each));
        link.latency = 0;
        std::fprintf(stderr, "%s: %.2f GB/s, %lld ns a copy\n", out ? "out" : "in",
                     link.bytes_per_second / 1e9, static_cast<long long>(link.overhead));
    }
}

struct Outcome {
    TierRun run;
    RealTiersFigures real;
};

Result<Outcome> play(Stand& stand, const TierProgram& program, const MachineSpec& machine,
                     const TierScenario& scenario) {
    RealTiers real(*stand.device, *stand.pacing, program.buffers, stand.gpu, stand.host);
    Outcome outcome;
    TM_ASSIGN(outcome.run, run_tiers(program, machine, scenario, {}, &real));
    outcome.real = real.finish();
    if (!outcome.real.failure.empty())
        return fail(ErrorCode::driver, outcome.real.failure, "the real run");
    return outcome;
}

Result<bool> prove(Stand& stand, const Wishes& wishes, const MachineSpec& machine,
                   const std::string& path) {
    TM_ASSIGN(const std::unique_ptr<Trace> trace, open_trace(path));
    TM_ASSIGN(const TierProgram program, make_tier_program(*trace));
    TierScenario scenario;
    scenario.gpu_memory = 2 * program.peak_bytes;
    TM_ASSIGN(const Outcome unlimited, play(stand, program, machine, scenario));
    bool holds = true;
    for (const std::string& policy : wishes.policies) {
        const std::size_t mark = policy.find('+');
        scenario.gpu_memory = 0;
        scenario.gpu_fraction = wishes.memory;
        scenario.spill = policy.substr(0, mark);
        scenario.prefetch = mark == std::string::npos ? Prefetch::none : Prefetch::learned;
        TM_ASSIGN(const Outcome outcome, play(stand, program, machine, scenario));
        const double real = static_cast<double>(outcome.real.makespan) /
                            static_cast<double>(unlimited.real.makespan);
        const double predicted = outcome.run.slowdown();
        const Bytes moved = outcome.run.spilled_bytes + outcome.run.fetched_bytes;
        const Bytes copied = outcome.real.copied_out + outcome.real.copied_in;
        const bool near = std::abs(real / predicted - 1) <= kTolerance;
        const bool whole = moved == copied && outcome.real.wrong_bytes == 0;
        holds = holds && near && whole;
        std::printf(
            wishes.json
                ? "{\"trace\":\"%s\",\"policy\":\"%s\",\"memory\":%.2f,\"predicted_slowdown\":"
                  "%.4f,\"real_slowdown\":%.4f,\"unlimited_ns\":%lld,\"real_unlimited_ns\":"
                  "%lld,\"bytes\":%llu,\"real_bytes\":%llu,\"wrong_bytes\":%llu,\"holds\":%s}\n"
                : "%-40s %-14s %.2f predicted %.4f real %.4f (unlimited %lld, real %lld ns) "
                  "bytes %llu = %llu, wrong %llu: %s\n",
            path.substr(path.rfind('/') + 1).c_str(), policy.c_str(), wishes.memory, predicted,
            real, static_cast<long long>(outcome.run.unlimited),
            static_cast<long long>(unlimited.real.makespan), static_cast<unsigned long long>(moved),
            static_cast<unsigned long long>(copied),
            static_cast<unsigned long long>(outcome.real.wrong_bytes),
            near && whole ? (wishes.json ? "true" : "holds") : (wishes.json ? "false" : "FAILS"));
        std::fflush(stdout);
    }
    return holds;
}

Wishes read(int count, char** words) {
    Wishes wishes;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word == "--memory" && i + 1 < count)
            wishes.memory = std::atof(words[++i]);
        else if (word == "--spill" && i + 1 < count)
            wishes.policies.emplace_back(words[++i]);
        else if (word == "--json")
            wishes.json = true;
        else
            wishes.traces.push_back(word);
    }
    if (wishes.policies.empty())
        wishes.policies = {"lru", "largest", "learned+prefetch"};
    return wishes;
}

Result<Stand> make_stand() {
    Stand stand;
    TM_ASSIGN(const auto driver, CudaDriver::open());
    TM_ASSIGN(stand.device, CudaDevice::open(driver, {}));
    driver->cuCtxSetCurrent(stand.device->native_context());
    TM_ASSIGN(GpuPacing pacing, GpuPacing::open(*stand.device));
    stand.pacing = std::make_unique<GpuPacing>(pacing);
    const Bytes gpu = stand.device->memory().free / 4 * 3;
    const Bytes host = 40_GiB;
    const auto gpu_memory = stand.device->malloc(gpu);
    const auto host_memory = stand.device->host_malloc(host);
    if (!gpu_memory || !host_memory)
        return fail(ErrorCode::driver, "there is not enough memory for the proof");
    stand.gpu = {*gpu_memory, gpu};
    stand.host = {*host_memory, host};
    return stand;
}

int run(int count, char** words) {
    const Wishes wishes = read(count, words);
    Result<Stand> stand = make_stand();
    if (!stand) {
        std::fprintf(stderr, "%s\n", to_text(stand.error()).c_str());
        return kNoGpu;
    }
    Result<MachineSpec> machine = open_machine("h200-node");
    if (!machine) {
        std::fprintf(stderr, "%s\n", to_text(machine.error()).c_str());
        return 1;
    }
    measure(*stand, *machine);
    bool holds = true;
    for (const std::string& path : wishes.traces) {
        const Result<bool> outcome = prove(*stand, wishes, *machine, path);
        if (!outcome)
            std::fprintf(stderr, "%s: %s\n", path.c_str(), to_text(outcome.error()).c_str());
        holds = holds && outcome && *outcome;
    }
    return holds ? 0 : 1;
}

}  // namespace
}  // namespace tidemark::gpu

int main(int count, char** words) {
    return tidemark::gpu::run(count, words);
}
