// Names, and runs on threads.
#include "replay/analysis/tiers/sweep_tiers.h"

#include <fmt/format.h>

#include "replay/analysis/sweep/each_setting.h"
#include "replay/analysis/sweep/unit.h"
#include "traces/tmk/wire.h"

namespace tidemark {

std::string tier_unit_name(std::uint64_t trace_hash, const TierSetting& setting, double scale,
                           std::string_view version) {
    tmk::ByteWriter writer;
    writer.put(kSweepFormat);
    writer.put_text("tiers");
    writer.put_text(version);
    writer.put(trace_hash);
    writer.put(setting.machine_hash);
    writer.put_text(setting.scenario.spill);
    writer.put_text(
        fmt::format("{} {} {}", setting.scenario.gpu_memory, setting.scenario.gpu_fraction, scale));
    return fmt::format("{:016x}", tmk::hash_bytes(writer.bytes()));
}

Result<void> run_tier_settings(
    const TierProgram& program, std::span<const TierSetting> settings,
    const std::function<Result<void>(std::size_t setting, const Result<TierRun>& result)>& keep,
    const SweepOptions& options) {
    const auto replay = [&](std::size_t i) {
        Result<TierRun> run = run_tiers(program, *settings[i].machine, settings[i].scenario);
        if (run) {
            run->elapsed = 0;
            run->machine_hash = settings[i].machine_hash;
        }
        return run;
    };
    return each_setting(settings.size(), options, replay, keep);
}

}  // namespace tidemark
