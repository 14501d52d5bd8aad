// Policies of the caller: one that is right, and some that are wrong.
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/c_api/tidemark.h"

namespace {

// First fit in pieces of 64 MiB, a stream's memory for that stream alone.
class FirstFit {
  public:
    explicit FirstFit(tm_policy_device* device) : device_(device) {}

    int allocate(std::uint64_t bytes, std::uint32_t stream, std::uint64_t* address,
                 std::uint64_t* granted) {
        const std::uint64_t size = (bytes + 511) / 512 * 512;
        auto& free = free_[stream];
        auto found = free.begin();
        while (found != free.end() && found->second < size)
            ++found;
        if (found == free.end()) {
            const std::uint64_t piece = std::max<std::uint64_t>(size, 64 << 20);
            std::uint64_t begin = 0;
            if (tm_policy_malloc(device_, piece, &begin) != TM_OK)
                return 1;
            found = free.emplace(begin, piece).first;
        }
        *address = found->first;
        *granted = size;
        const std::uint64_t left = found->second - size;
        free.erase(found);
        if (left != 0)
            free.emplace(*address + size, left);
        return 0;
    }

    void deallocate(std::uint64_t address, std::uint64_t size, std::uint32_t stream) {
        free_[stream].emplace(address, size);
    }

  private:
    tm_policy_device* device_;
    std::map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> free_;
};

std::vector<std::string> g_faults;

tm_policy first_fit(const char* name) {
    TM_INIT(tm_policy, calls);
    calls.name = name;
    calls.create = [](void*, tm_policy_device* device) -> void* { return new FirstFit(device); };
    calls.destroy = [](void* self) { delete static_cast<FirstFit*>(self); };
    calls.allocate = [](void* self, std::uint64_t bytes, std::uint64_t, std::uint32_t stream,
                        std::uint32_t, std::uint64_t* address, std::uint64_t* granted) {
        return static_cast<FirstFit*>(self)->allocate(bytes, stream, address, granted);
    };
    calls.deallocate = [](void* self, std::uint64_t address, std::uint64_t size,
                          std::uint32_t stream) {
        static_cast<FirstFit*>(self)->deallocate(address, size, stream);
    };
    calls.fault = [](void*, const char* what) { g_faults.emplace_back(what); };
    return calls;
}

tm_context* open_with(const char* policy) {
    TM_INIT(tm_context_options, options);
    options.machine = "sim:h200";
    options.policy = policy;
    options.memory = std::uint64_t{1} << 30;
    options.thread_cache = TM_CACHE_NONE;
    tm_context* context = nullptr;
    REQUIRE(tm_context_open(&options, &context) == TM_OK);
    return context;
}

tm_status take(tm_context* context, std::uint64_t bytes, std::uint64_t& address) {
    TM_INIT(tm_request, request);
    request.bytes = bytes;
    return tm_alloc(context, &request, &address, nullptr);
}

}  // namespace

TEST_CASE("a policy of the caller grants and takes back", "[c_api]") {
    const tm_policy calls = first_fit("first-fit");
    REQUIRE(tm_policy_register(&calls) == TM_OK);
    REQUIRE(tm_policy_register(&calls) == TM_OK);
    tm_context* const context = open_with("first-fit");
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    REQUIRE(take(context, 1000, a) == TM_OK);
    REQUIRE(take(context, 1000, b) == TM_OK);
    CHECK(b == a + 1024);
    REQUIRE(tm_free(context, a, 0, 0) == TM_OK);
    REQUIRE(take(context, 500, b) == TM_OK);
    CHECK(b == a);
    CHECK(take(context, std::uint64_t{2} << 30, b) == TM_OUT_OF_MEMORY);
    TM_INIT(tm_statistics, all);
    REQUIRE(tm_statistics_of(context, &all) == TM_OK);
    CHECK(all.reserved == 64 << 20);
    CHECK(all.allocated == 1024 + 512);
    CHECK(tm_context_close(context, nullptr) == TM_OK);
    CHECK(g_faults.empty());
}

TEST_CASE("a policy of the caller is replayed, and the checker finds nothing", "[c_api]") {
    const tm_policy calls = first_fit("first-fit");
    REQUIRE(tm_policy_register(&calls) == TM_OK);
    const char* const arguments[] = {
        "replay", "generate:training:layers=4,steps=2", "-p", "first-fit", "--check", "--json"};
    tm_answer* answer = nullptr;
    REQUIRE(tm_run(arguments, 6, nullptr, &answer) == TM_OK);
    const std::string output = tm_answer_output(answer, nullptr);
    INFO(output);
    CHECK(tm_answer_exit_code(answer) == 0);
    CHECK(output.find("\"policy\": \"first-fit\"") != std::string::npos);
    tm_answer_free(answer);
}

TEST_CASE("what a policy of the caller does wrong is told and refused", "[c_api]") {
    static std::uint64_t given = 0;
    tm_policy calls = first_fit("wrong");
    calls.allocate = [](void*, std::uint64_t bytes, std::uint64_t, std::uint32_t, std::uint32_t,
                        std::uint64_t* address, std::uint64_t* granted) {
        *address = given;
        *granted = bytes;
        return 0;
    };
    REQUIRE(tm_policy_register(&calls) == TM_OK);
    tm_context* const context = open_with("wrong");
    g_faults.clear();
    std::uint64_t address = 0;
    given = 0x1000;
    CHECK(take(context, 100, address) != TM_OK);
    given = 0x1001;
    CHECK(take(context, 100, address) != TM_OK);
    REQUIRE(g_faults.size() == 2);
    CHECK(g_faults[0].find("not in memory") != std::string::npos);
    CHECK(g_faults[1].find("multiple of 512") != std::string::npos);
    CHECK(tm_context_close(context, nullptr) == TM_OK);
}

TEST_CASE("what cannot be registered is refused", "[c_api]") {
    tm_policy calls = first_fit("torch");
    CHECK(tm_policy_register(&calls) == TM_BAD_OPTION);
    calls.name = "a:b";
    CHECK(tm_policy_register(&calls) == TM_BAD_OPTION);
    calls.name = "no-allocate";
    calls.allocate = nullptr;
    CHECK(tm_policy_register(&calls) == TM_BAD_OPTION);
    CHECK(tm_policy_register(nullptr) == TM_BAD_OPTION);
}
