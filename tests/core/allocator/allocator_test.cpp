// What every allocator shares, and what the catalogue says of each policy.
#include "core/allocator/allocator.h"

#include <set>

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

TEST_CASE("a device's refusal becomes the allocator's", "[allocator]") {
    const auto cause = [](DeviceStatus status) {
        const OutOfMemory why = refused_by({status, DeviceCall::malloc, 0});
        CHECK(why.status == status);
        return why.cause;
    };

    CHECK(cause(DeviceStatus::out_of_memory) == OutOfMemory::Cause::device_full);
    CHECK(cause(DeviceStatus::address_space) == OutOfMemory::Cause::address_space);
    CHECK(cause(DeviceStatus::not_permitted) == OutOfMemory::Cause::device_error);
    CHECK(cause(DeviceStatus::fault) == OutOfMemory::Cause::device_error);
}

TEST_CASE("each cause of a refusal has its own words", "[allocator]") {
    std::set<std::string_view> texts;

    for (int cause = 0; cause <= static_cast<int>(OutOfMemory::Cause::device_error); ++cause)
        texts.insert(to_text(static_cast<OutOfMemory::Cause>(cause)));

    CHECK(texts.size() == 5);
}

TEST_CASE("a policy that cannot start from a state says so", "[allocator]") {
    SimDevice device(support::small_device(64_MiB));
    const auto allocator = support::make_policy("bump", device);

    const auto restored = allocator->restore({});

    REQUIRE_FALSE(restored);
    CHECK(restored.error().code == ErrorCode::unsupported);
}

TEST_CASE("a retired allocation is no longer allocated but still active", "[allocator]") {
    SimDevice device(support::small_device(64_MiB));
    const auto allocator = support::make_policy("bump:segment=2MiB", device);
    Allocation allocation = support::must_allocate(*allocator, 1_KiB);

    allocator->retire(allocation);

    CHECK(allocator->usage().allocated == 0);
    CHECK(allocator->usage().active == 1_KiB);
    allocator->deallocate(allocation, StreamId::default_stream);
    CHECK(allocator->usage().active == 0);
}

TEST_CASE("every policy is described: name, sentence, source, options", "[policies]") {
    std::set<std::string_view> names;
    for (const PolicyInfo& policy : all_policies()) {
        CAPTURE(policy.name);
        CHECK(names.insert(policy.name).second);
        CHECK(policy.name.find('_') == std::string_view::npos);
        CHECK_FALSE(policy.summary.empty());
        CHECK_FALSE(policy.source.empty());
        for (const OptionInfo& option : policy.options) {
            CAPTURE(option.name);
            CHECK_FALSE(option.summary.empty());
            CHECK((option.type != OptionType::bytes || option.unit == "bytes"));
            CHECK((option.type == OptionType::choice) == !option.choices.empty());
        }
    }
    CHECK(names.size() >= 5);
}

TEST_CASE("every policy can be found and made with its defaults", "[policies]") {
    SimDevice device(support::small_device(64_MiB));
    for (const PolicyInfo& policy : all_policies()) {
        CAPTURE(policy.name);
        CHECK(*find_policy(policy.name) == &policy);
        const auto allocator = support::make_policy(policy.name, device);
        CHECK(allocator->usage().reserved == 0);
        CHECK(support::regions_of(*allocator).empty());
    }
}

}  // namespace
}  // namespace tidemark
