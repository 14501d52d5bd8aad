// The functions of policies of the caller, and how the catalogue makes one: it knows plain
// functions only, so there is one for each name.
#include <array>
#include <deque>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/allocator/policy_file.h"
#include "replay/c_api/callback_policy.h"
#include "replay/c_api/errors.h"

namespace tidemark::c_api {
namespace {

constexpr std::size_t kMostNames = 64;

struct Registered {
    std::string name;
    std::string summary;
    tm_policy calls{};
};

struct Register {
    std::mutex mutex;
    std::deque<Registered> policies;  // texts never move
};

Register& registered() {
    static Register all;
    return all;
}

template <std::size_t number>
Result<std::unique_ptr<Allocator>> make(Device& device, const Options& /*options*/) {
    tm_policy calls{};
    std::string name;
    {
        const std::lock_guard lock(registered().mutex);
        calls = registered().policies[number].calls;
        name = registered().policies[number].name;
    }
    auto policy = std::make_unique<CallbackPolicy>(calls, device);
    if (!policy->made())
        return fail(ErrorCode::bad_option, "it could not be created",
                    fmt::format("policy {}", name));
    return policy;
}

using Make = decltype(PolicyInfo::make);

template <std::size_t... numbers>
constexpr std::array<Make, sizeof...(numbers)> all_makes(std::index_sequence<numbers...>) {
    return {make<numbers>...};
}

constexpr std::array<Make, kMostNames> kMakes = all_makes(std::make_index_sequence<kMostNames>());

tm_status add(const tm_policy& calls) {
    Register& all = registered();
    const std::lock_guard lock(all.mutex);
    for (Registered& each : all.policies) {
        if (each.name == calls.name) {
            each.calls = calls;
            return TM_OK;
        }
    }
    if (all.policies.size() == kMostNames)
        return fail({ErrorCode::no_space,
                     fmt::format("a process can register at most {} policies", kMostNames),
                     "tm_policy_register", ""});
    Registered& added = all.policies.emplace_back(
        Registered{calls.name, calls.summary == nullptr ? "" : calls.summary, calls});
    const auto info = add_policy({.name = added.name,
                                  .summary = added.summary,
                                  .source = "the caller",
                                  .options = {},
                                  .make = kMakes[all.policies.size() - 1]});
    if (!info) {
        all.policies.pop_back();
        return fail(info.error());
    }
    return TM_OK;
}

}  // namespace
}  // namespace tidemark::c_api

using namespace tidemark;
using namespace tidemark::c_api;

tm_status tm_policy_register(const tm_policy* policy) {
    return guarded([&]() -> tm_status {
        tm_policy calls{};
        if (const tm_status bad = copy_in(policy, calls); bad != TM_OK)
            return bad;
        if (calls.name == nullptr || calls.create == nullptr || calls.allocate == nullptr ||
            calls.deallocate == nullptr)
            return tidemark::c_api::fail({ErrorCode::bad_option,
                                          "name, create, allocate and deallocate must not be null",
                                          "tm_policy_register", ""});
        return add(calls);
    });
}

tm_status tm_policy_malloc(tm_policy_device* device, uint64_t bytes, uint64_t* address) {
    return guarded([&]() -> tm_status {
        if (device == nullptr || address == nullptr)
            return fail_of_null("tm_policy_malloc");
        const auto taken = device->policy->take_segment(bytes);
        if (taken) {
            *address = to_integer(*taken);
            return TM_OK;
        }
        if (taken.error().status == DeviceStatus::out_of_memory)
            return tidemark::c_api::fail(TM_OUT_OF_MEMORY,
                                         fmt::format("the device does not have {} bytes", bytes),
                                         "tm_policy_malloc");
        return tidemark::c_api::fail(to_error(taken.error()));
    });
}

tm_status tm_policy_free(tm_policy_device* device, uint64_t address) {
    return guarded([&]() -> tm_status {
        if (device == nullptr)
            return fail_of_null("tm_policy_free");
        return device->policy->give_back(Address{address});
    });
}

tm_status tm_policy_order(tm_policy_device* device, uint32_t before, uint32_t after) {
    return guarded([&]() -> tm_status {
        if (device == nullptr)
            return fail_of_null("tm_policy_order");
        const auto ordered = device->policy->order(StreamId{before}, StreamId{after});
        return ordered ? TM_OK : tidemark::c_api::fail(to_error(ordered.error()));
    });
}
