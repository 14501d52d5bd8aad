// What every allocator promises, for every policy of the catalogue: on random programs, on several
// devices, with its default options and others, with and without failures of the device.
//
// A new policy is in it by being in the catalogue. Its options are varied one at a time: to their
// ends, to each choice, to the other truth value; kVariants adds combinations that matter more.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/allocator/spec.h"
#include "tests/support/policy.h"
#include "tests/support/program_run.h"
#include "tests/support/property.h"

namespace tidemark {
namespace {

using support::counterexample;
using support::effort;
using support::Program;
using support::ProgramRun;
using support::RunSetup;

constexpr std::string_view kVariants[] = {
    "bump:segment=4MiB",
    "bump:segment=2MiB,alignment=4KiB,release_empty=false",
    "best-fit:segment=2MiB,split=64KiB",
    "buddy:segment=2MiB,min_block=4KiB",
    "torch:max_split_size_mb=20",
    "torch:expandable_segments=true",
    "torch:expandable_segments=true,max_split_size_mb=20,limit=90MiB",
    "torch:expandable_segments=true,garbage_collection_threshold=0.5,limit=60MiB",
    "torch:max_split_size_mb=40,max_non_split_rounding_mb=30",
    "torch:garbage_collection_threshold=0.5,limit=60MiB",
    "torch:roundup_power2_divisions=[1:8,4:4,>:2],limit=90MiB",
    "arena:arena=8MiB",
    "arena:mode=planned,share=sequence",
    "arena:free_list_cap_mb=4,pool_release_threshold_mb=0",
    "vpmm:harvest=source,growth=cost,worth_waiting=8MiB,waste=4",
    "vpmm:growth=cost,worth_waiting=8MiB,soft_limit=30MiB,limit=40MiB",
    "vpmm:growth=grow,limit=30MiB",
    "vpmm:page=4MiB,va_size=16MiB,growth=grow,harvest=source",
    "vpmm:va_size=8MiB,waste=2",
    "extent:slack=0,handle=2MiB,slab=64KiB",
    "extent:handle=4MiB,mappings=2,limit=40MiB",
    "extent:expect=24MiB,limit=48MiB",
    "extent:va_size=16MiB,handle=2MiB",
    "extent:threads=3",
    "extent:private_pools=torch",
    "torch:defer_frees=10",
    "extent:defer_frees=3,defer_share=0.01,threads=2",
    "cuda-malloc:defer_frees=10",
    "torch:threads=2,thread_cache=64KiB",
    "rmm-pool:initial=4MiB,maximum=24MiB",
    "rmm-pool:initial=768",
    "rmm-arena:size=20MiB",
    "rmm-binning:min=12,max=14",
    "rmm-fixed:block=1281,preallocate=3",
    "rmm-fixed:block=2MiB,preallocate=2",
    "cupy:limit=20MiB",
    "bfc:limit=24MiB,max_internal_frag=1MiB",
    "bfc:limit=20MiB,growth=false,gc=false",
    "quick-pool:first=8MiB,next=2MiB,threshold=50",
    "quick-pool:first=1MiB,next=1000000,coalesce=blocks_releasable,threshold=2",
    "tlsf:segment=4MiB,steps=4",
    "kv-pages:slot=4MiB",
    "kv-pages:page=4MiB,limit=20MiB",
};

void add_if_possible(std::vector<std::string>& variants, std::string text) {
    SimDevice device(support::small_device(64_MiB));
    const Result<PolicySpec> spec = parse_policy(text);
    if (spec && spec->make(device))
        variants.push_back(std::move(text));
}

// The policies with their defaults, each with each option changed, and kVariants.
std::vector<std::string> all_variants() {
    std::vector<std::string> variants;
    for (const PolicyInfo& policy : all_policies()) {
        add_if_possible(variants, std::string(policy.name));
        for (const OptionInfo& option : policy.options) {
            std::vector<std::string_view> values{option.minimum, option.maximum};
            if (option.type == OptionType::boolean)
                values = {"true", "false"};
            if (option.type == OptionType::choice)
                values.assign(option.choices.begin(), option.choices.end());
            for (const std::string_view value : values) {
                if (!value.empty() && value != option.default_value)
                    add_if_possible(variants,
                                    fmt::format("{}:{}={}", policy.name, option.name, value));
            }
        }
    }
    for (const std::string_view text : kVariants) {
        REQUIRE(parse_policy(text));
        add_if_possible(variants, std::string(text));
    }
    return variants;
}

struct DeviceVariant {
    std::string_view name;
    SimConfig config;
};

// A device that is soon full, one that isn't, and one with the prices of a real one.
std::vector<DeviceVariant> all_devices() {
    static const CostProfile kProfile = *load_profile("h200");
    SimConfig tight = support::small_device(48_MiB);
    SimConfig roomy = support::small_device(4_GiB);
    roomy.granularity = 64_KiB;
    return {
        {"tight", tight}, {"roomy", roomy}, {"h200", {.capacity = 256_MiB, .profile = &kProfile}}};
}

// Runs `property(setup)` for every variant on every device that is named.
template <class Property>
void for_all_policies(int cases, std::string_view only_device, Property property) {
    for (const DeviceVariant& device : all_devices()) {
        if (!only_device.empty() && device.name != only_device)
            continue;
        for (const std::string& policy : all_variants()) {
            const RunSetup setup{.policy = policy, .device = device.config, .faults = {}};
            INFO(policy << " on the " << device.name << " device");
            const std::string failure = counterexample(effort(cases), [&] { property(setup); });
            INFO(failure);
            CHECK(failure.empty());
        }
    }
}

void assert_well(const std::string& complaint) {
    if (!complaint.empty())
        RC_FAIL(complaint);
}

TEST_CASE("every policy keeps its promises on random programs", "[property]") {
    for_all_policies(200, "", [](const RunSetup& setup) {
        const Program program = *support::programs(2.0);
        ProgramRun run(setup);

        assert_well(run.run(program));
        assert_well(run.finish());
    });
}

TEST_CASE("every policy survives a failure of the device at every call", "[property][faults]") {
    for_all_policies(10, "tight", [](const RunSetup& setup) {
        const Program program = *support::programs();
        const auto status = *rc::gen::element(DeviceStatus::out_of_memory, DeviceStatus::fault,
                                              DeviceStatus::not_permitted);
        const bool and_all_after = *rc::gen::weightedElement<bool>({{2, false}, {1, true}});
        for (std::uint64_t nth = 1;; ++nth) {
            RunSetup faulty = setup;
            faulty.faults = {nth, {}, status, and_all_after};
            ProgramRun run(faulty);
            std::string complaint = run.run(program);
            const bool struck = run.failed();
            if (complaint.empty())
                complaint = run.finish();
            if (!complaint.empty())
                RC_FAIL(fmt::format("with {}call {} failing ({}): {}",
                                    and_all_after ? "all from " : "", nth, to_text(status),
                                    complaint));
            if (!struck)
                break;
        }
    });
}

// A kernel faulted, or the context is gone: no call succeeds from the n-th on.
TEST_CASE("every policy stays whole when the device is lost at any call", "[property][faults]") {
    for_all_policies(10, "tight", [](const RunSetup& setup) {
        const Program program = *support::programs();
        for (std::uint64_t nth = 1;; ++nth) {
            RunSetup faulty = setup;
            faulty.faults = {nth, {}, DeviceStatus::lost, true};
            ProgramRun run(faulty);
            std::string complaint = run.run(program);
            const bool struck = run.failed();
            if (complaint.empty())
                complaint = run.finish_lost();
            if (!complaint.empty())
                RC_FAIL(fmt::format("lost at call {}: {}", nth, complaint));
            if (!struck)
                break;
        }
    });
}

TEST_CASE("every policy does the same twice, checked and unchecked", "[property]") {
    for_all_policies(40, "tight", [](const RunSetup& setup) {
        const Program program = *support::programs(2.0);
        RunSetup unchecked = setup;
        unchecked.checked = false;
        ProgramRun first(setup);
        ProgramRun second(setup);
        ProgramRun third(unchecked);

        assert_well(first.run(program));
        assert_well(second.run(program));
        assert_well(third.run(program));

        RC_ASSERT(first.outcomes() == second.outcomes());
        RC_ASSERT(first.outcomes() == third.outcomes());
    });
}

TEST_CASE("the clone of a policy goes on as the original does, without touching it", "[property]") {
    for_all_policies(40, "tight", [](const RunSetup& setup) {
        const Program program = *support::programs(2.0);
        const auto half = *rc::gen::inRange<std::size_t>(0, program.size() + 1);
        RunSetup unchecked = setup;
        unchecked.checked = false;
        ProgramRun straight(unchecked);
        assert_well(straight.run(program));

        ProgramRun original(unchecked);
        assert_well(original.run(program, 0, half));
        const std::unique_ptr<ProgramRun> copy = original.clone();
        if (copy == nullptr)
            return;
        assert_well(copy->run(program, half, program.size()));
        assert_well(original.run(program, half, program.size()));

        RC_ASSERT(copy->outcomes() == straight.outcomes());
        RC_ASSERT(original.outcomes() == straight.outcomes());
        assert_well(copy->finish());
        assert_well(original.finish());
    });
}

TEST_CASE("every policy serves a request that is freed and repeated from what it has",
          "[property]") {
    for (const PolicyInfo& policy : all_policies()) {
        for (const Bytes size : {1_KiB + 512, 20_KiB, 3_MiB + 1_KiB, 33_MiB + 512, 130_MiB + 512}) {
            SimDevice device(support::small_device(1_GiB));
            const auto allocator = support::make_policy(policy.name, device);
            INFO(policy.name << ", " << size);
            Bytes reserved = 0;
            for (int round = 0; round < 4; ++round) {
                const auto allocation = allocator->allocate(Request{.size = size});
                if (!allocation)
                    break;
                allocator->deallocate(*allocation, {});
                if (round == 0)
                    reserved = allocator->usage().reserved;
                CHECK(allocator->usage().reserved <= reserved);
            }
        }
    }
}

TEST_CASE("every policy of the catalogue can be cloned", "[property]") {
    SimDevice device(support::small_device(64_MiB));
    for (const PolicyInfo& policy : all_policies()) {
        INFO(policy.name);
        CHECK(support::make_policy(policy.name, device)->clone(device) != nullptr);
    }
}

}  // namespace
}  // namespace tidemark
