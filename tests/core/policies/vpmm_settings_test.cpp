// vpmm: options and pasted variables, what is refused and how, and the dump.
#include <string>

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/core/policies/vpmm_pool.h"

namespace tidemark {
namespace {

using support::small_device;
using support::VpmmPool;

Result<std::unique_ptr<Allocator>> make(std::string_view text, Device& device) {
    TM_ASSIGN(const PolicySpec spec, parse_policy(text));
    return spec.make(device);
}

TEST_CASE("vpmm's variables may be pasted, one or several", "[policy][vpmm]") {
    const std::string_view text = GENERATE(
        as<std::string_view>{}, "vpmm:page=4MiB,va_size=64MiB,pages=3",
        "VPMM_PAGE_SIZE=4194304 VPMM_VA_SIZE=67108864 VPMM_PAGES=3",
        "export VPMM_PAGE_SIZE=4194304; export VPMM_VA_SIZE=\"67108864\"; export VPMM_PAGES='3'",
        "VPMM_PAGES=3\nVPMM_VA_SIZE=67108864\nVPMM_PAGE_SIZE=4194304",
        "vpmm: VPMM_PAGE_SIZE=4MiB VPMM_VA_SIZE=64MiB VPMM_PAGES=3 ");
    const Result<PolicySpec> spec = parse_policy(text);

    REQUIRE(spec);
    CHECK(spec->policy->name == "vpmm");
    CHECK(spec->options.bytes("page") == 4_MiB);
    CHECK(spec->options.bytes("va_size") == 64_MiB);
    CHECK(spec->options.count("pages") == 3);
}

TEST_CASE("vpmm refuses values that cannot be, as errors", "[policy][vpmm]") {
    SimDevice device(small_device(64_MiB));
    const auto [text, what] = GENERATE(table<std::string_view, std::string_view>({
        {"vpmm:page=3MiB", "not a multiple of the device's granularity, 2097152"},
        {"vpmm:page=1", "not a multiple of the device's granularity"},
        {"vpmm:va_size=5MiB", "not a multiple of the page, 2097152"},
        {"vpmm:va_size=0", "below its least value"},
        {"vpmm:page=6MiB", "va_size is 8796093022208 bytes, not a multiple of the page"},
        {"vpmm:va_size=4MiB,pages=3", "pages is 3, but va_size has room for 2"},
        {"vpmm:pages=33", "33 pages of 2.00 MiB cannot be created (64.0 MiB of 64.0 MiB"},
        {"vpmm:pages=x", "'x'"},
        {"vpmm:peers=1", "the device has no peers"},
        {"vpmm:peers=[0]", "0 is not a peer's number"},
        {"vpmm:peers=[1,1]", "peer 1 is named twice"},
        {"vpmm:peers=[a]", "a"},
        {"vpmm:harvest=both", "'both' is not a choice"},
        {"VPMM_PAGE_SIZE=ten", "ten"},
        {"VPMM_PAGES=1 VPMM_SIZE=2", "VPMM_PAGES"},
    }));
    CAPTURE(text);
    const auto made = make(text, device);

    REQUIRE_FALSE(made);
    CHECK(made.error().what + made.error().where + made.error().hint != "");
    CHECK((made.error().what + " " + made.error().hint).find(what) != std::string::npos);
    CHECK(device.memory().free == device.memory().total);
}

TEST_CASE("vpmm's pages are there from the start, for whoever comes first", "[policy][vpmm]") {
    VpmmPool pool("pages=5,page=4MiB");
    CHECK(pool.allocator().usage().reserved == 20_MiB);
    CHECK(pool.layout() == "[-5]");
    CHECK_FALSE(pool.spans(AddressSpan::State::free).front().owned);
    CHECK(pool.spans(AddressSpan::State::free).front().id == 0);

    pool.take_bytes(5_MiB, 3);

    CHECK(pool.layout() == "[+2][-3]");
    CHECK(pool.spans(AddressSpan::State::free).front().stream == StreamId{3});
}

TEST_CASE("vpmm with a page beyond all requests is the device's pool", "[policy][vpmm]") {
    VpmmPool pool("page=32GiB");
    pool.take_bytes(100_MiB);
    CHECK(pool.totals().reserved == 0);
    CHECK(pool.calls(DeviceCall::malloc_async) == 1);
}

}  // namespace
}  // namespace tidemark
