// All combinations.
#include "replay/cli/sweep_settings.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "backends/machines/machine_json.h"
#include "core/base/text.h"
#include "core/tiers/victims/victim_policy.h"
#include "replay/analysis/sweep/grid.h"
#include "replay/analysis/tiers/compare_tiers.h"

namespace tidemark {
namespace {

// What options repeat, and nothing in between where they don't.
template <class Value>
std::vector<Value> or_one(std::vector<Value> values, Value usual) {
    if (values.empty())
        values.push_back(std::move(usual));
    return values;
}

Result<Bytes> typed_size(Front& front, const std::string& text, const char* option) {
    TM_ASSIGN(const TypedSize size, parse_typed_size(text).map_error([option](Error error) {
        error.where = option;
        return error;
    }));
    if (!size.note.empty())
        front.note(fmt::format("note: {}", size.note));
    return size.bytes;
}

Result<std::vector<std::string>> all_policies_given(const SweepSpec& spec) {
    std::vector<std::string> policies;
    for (const std::string& text : spec.policies) {
        TM_ASSIGN(const PolicySpec policy, parse_policy(text));
        policies.push_back(policy.text());
    }
    for (const std::string& grid : spec.grids) {
        TM_ASSIGN(const std::vector<std::string> settings, expand_grid(grid));
        policies.insert(policies.end(), settings.begin(), settings.end());
    }
    std::vector<std::string> once;
    for (const std::string& policy : policies)
        if (std::ranges::find(once, policy) == once.end())
            once.push_back(policy);
    if (once.empty())
        return fail(ErrorCode::bad_option, "there is no setting to try", "sweep",
                    "give --policy or --grid 'torch:max_split_size_mb=64,128', or --machine for a "
                    "sweep over tiers");
    return spec.random ? draw_settings(once, *spec.random, spec.seed) : once;
}

// "80%,60GiB" and several of such.
Result<std::vector<std::string>> sizes_given(const SweepSpec& spec) {
    std::vector<std::string> sizes;
    for (const std::string& text : spec.gpu_memories)
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find(',', begin), text.size());
            sizes.emplace_back(trimmed(std::string_view(text).substr(begin, end - begin)));
            TM_TRY(parse_gpu_memory(sizes.back()));
            begin = end + 1;
        }
    return sizes;
}

Result<void> refuse_cards(const SweepSpec& spec) {
    const auto refuse = [](bool given, const char* option) -> Result<void> {
        if (given)
            return fail(ErrorCode::bad_option, "is not for a sweep over tiers", option,
                        "over tiers --machine, --gpu-memory and --spill are swept");
        return {};
    };
    TM_TRY(refuse(!spec.policies.empty(), "--policy"));
    TM_TRY(refuse(!spec.grids.empty(), "--grid"));
    TM_TRY(refuse(!spec.memories.empty(), "--memory"));
    TM_TRY(refuse(!spec.limits.empty(), "--limit"));
    TM_TRY(refuse(!spec.profiles.empty(), "--profile"));
    return refuse(spec.random.has_value(), "--random");
}

}  // namespace

bool is_over_tiers(const SweepSpec& spec) {
    return !spec.machines.empty() || !spec.gpu_memories.empty() || !spec.spills.empty();
}

Result<std::vector<SweepSetting>> policy_settings(Front& front, const SweepSpec& spec) {
    TM_ASSIGN(const std::vector<std::string> policies, all_policies_given(spec));
    std::vector<Bytes> memories;
    for (const std::string& text : spec.memories) {
        TM_ASSIGN(const Bytes size, typed_size(front, text, "--memory"));
        memories.push_back(size);
    }
    std::vector<std::optional<Bytes>> limits;
    for (const std::string& text : spec.limits) {
        TM_ASSIGN(const Bytes size,
                  text == "none" ? Result<Bytes>(0) : typed_size(front, text, "--limit"));
        limits.emplace_back(size);
    }
    std::vector<SweepSetting> settings;
    for (const std::string& policy : policies)
        for (const std::string& profile : or_one(spec.profiles, std::string("h200")))
            for (const Bytes memory : or_one(memories, Bytes{0}))
                for (const auto& limit : or_one(limits, std::optional<Bytes>()))
                    settings.push_back({.policy = policy,
                                        .profile = profile,
                                        .scale = spec.scale,
                                        .memory = memory,
                                        .limit = limit});
    return settings;
}

Result<std::vector<TierSetting>> tier_settings(Front& front, const SweepSpec& spec) {
    TM_TRY(refuse_cards(spec));
    TM_ASSIGN(const std::vector<std::string> sizes, sizes_given(spec));
    const std::vector<std::string> spills = or_one(spec.spills, TierScenario{}.spill);
    for (const std::string& spill : spills)
        TM_TRY(parse_victim_policy(spill));
    std::vector<TierSetting> settings;
    for (const std::string& name : or_one(spec.machines, TierScenario{}.machine)) {
        TM_ASSIGN(MachineSpec machine, open_machine(name));
        const std::uint64_t hash = machine_hash(machine);
        const auto shared = std::make_shared<const MachineSpec>(std::move(machine));
        for (const std::string& size : or_one(sizes, std::string()))
            for (const std::string& spill : spills) {
                TierSetting setting{.machine = shared, .machine_hash = hash, .gpu_memory = size};
                setting.scenario.machine = shared->name;
                setting.scenario.spill = spill;
                if (!size.empty()) {
                    TM_ASSIGN(const GpuMemory memory, parse_gpu_memory(size));
                    if (const auto typed = parse_typed_size(size); typed && !typed->note.empty())
                        front.note(fmt::format("note: --gpu-memory: {}", typed->note));
                    setting.scenario.gpu_memory = memory.bytes;
                    setting.scenario.gpu_fraction = memory.share;
                }
                settings.push_back(std::move(setting));
            }
    }
    return settings;
}

}  // namespace tidemark
