// What `tidemark record` adds to a stream-ordered allocation and its free: the callbacks of
// libtidemark-record.so, called as CUPTI calls them, beside an empty one in the same run.
//
// recorder_bench LIBRARY DRIVER [PAIRS]: the recorder, and recorder_driver.cpp as a library. Prints
// JSON: nanoseconds of an event, the quickest batch of each kind. `warm` is one after another;
// `cold` is after work that takes as many lines of the caches as a driver's call may.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include "replay/inject/cupti_api.h"

namespace tidemark::inject {
namespace {

constexpr std::uint32_t kAllocateAsync = 598;
constexpr std::uint32_t kFreeAsync = 600;
constexpr std::size_t kLine = 64;
constexpr std::size_t kLines = 512;

void nothing(void*, int, std::uint32_t, const void*) {}

// As much code and data as the first cache has room for: a jump on each line, a byte of each.
[[gnu::noinline]] void work_of_a_driver(std::vector<std::uint8_t>& lines) {
#if defined(__x86_64__)
    asm volatile(".rept 512\n jmp 1f\n .skip 62, 0x90\n 1:\n .endr" ::: "memory");
#endif
    for (std::size_t i = 0; i < lines.size(); i += kLine)
        ++lines[i];
}

// One thread's calls, each reported on entry and exit.
class Pairs {
  public:
    explicit Pairs(std::size_t live) : addresses_(live) {
        for (std::size_t i = 0; i < live; ++i)
            addresses_[i] = 0x7f0000000000 + i * 1024;
    }

    // Nanoseconds of a callback's share in an event, of `count` pairs.
    double measure(CUpti_CallbackFunc callback, int count, bool cold) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i) {
            std::uint64_t& address = addresses_[next_];
            next_ = next_ + 1 == addresses_.size() ? 0 : next_ + 1;
            if (live_)
                report(callback, kFreeAsync, FreeAsyncParams{address, nullptr}, cold);
            report(callback, kAllocateAsync, AllocateAsyncParams{{&address, 1024}, nullptr}, cold);
            if (!live_)
                report(callback, kFreeAsync, FreeAsyncParams{address, nullptr}, cold);
        }
        const std::chrono::duration<double, std::nano> all =
            std::chrono::steady_clock::now() - begin;
        return all.count() / (2 * count);
    }

    // From now on every address lives, and each is freed before it is allocated again.
    void keep_all(CUpti_CallbackFunc callback) {
        for (std::uint64_t& address : addresses_)
            report(callback, kAllocateAsync, AllocateAsyncParams{{&address, 1024}, nullptr}, false);
        live_ = true;
    }

  private:
    template <class Params>
    void report(CUpti_CallbackFunc callback, std::uint32_t id, const Params& params, bool cold) {
        data_.function_params = &params;
        data_.function_return_value = &result_;
        data_.site = CallbackSite::enter;
        callback(nullptr, kDriverDomain, id, &data_);
        if (cold)
            work_of_a_driver(lines_);
        data_.site = CallbackSite::exit;
        callback(nullptr, kDriverDomain, id, &data_);
    }

    std::vector<std::uint64_t> addresses_;
    std::size_t next_ = 0;
    bool live_ = false;
    std::vector<std::uint8_t> lines_ = std::vector<std::uint8_t>(kLines * kLine);
    int result_ = 0;
    CUpti_CallbackData data_{.context = reinterpret_cast<cuda::CUcontext>(&result_)};
};

struct Figures {
    double alone = 1e9;
    double recorded = 1e9;
};

Figures measure(CUpti_CallbackFunc callback, Pairs& pairs, int count, bool cold) {
    constexpr int kBatch = 1000;
    Figures figures;
    for (int batch = 0; batch < count / kBatch; ++batch) {
        figures.alone = std::min(figures.alone, pairs.measure(nothing, kBatch, cold));
        figures.recorded = std::min(figures.recorded, pairs.measure(callback, kBatch, cold));
    }
    return figures;
}

void print(const char* name, const Figures& figures, const char* end) {
    std::printf("  \"%s\": {\"alone_ns\": %.1f, \"recorded_ns\": %.1f, \"own_ns\": %.1f}%s\n", name,
                figures.alone, figures.recorded, figures.recorded - figures.alone, end);
}

void* must(void* found, const char* what) {
    if (found == nullptr) {
        std::fprintf(stderr, "recorder_bench: no %s\n", what);
        std::exit(1);
    }
    return found;
}

int run(const char* library, const char* driver, int count) {
    std::string folder = "/tmp/recorder_bench-XXXXXX";
    must(::mkdtemp(folder.data()), "folder");
    ::setenv("TIDEMARK_CUPTI", driver, 1);
    ::setenv("TIDEMARK_CUDA_DRIVER", driver, 1);
    ::setenv("TIDEMARK_RUNTIME_DIR", folder.c_str(), 1);
    ::setenv("TIDEMARK_RECORD_OUTPUT", (folder + "/bench.tml").c_str(), 1);
    ::setenv("TIDEMARK_RECORD_HISTORY", "16777216", 1);
    void* const answers = must(dlopen(driver, RTLD_NOW), driver);
    void* const recorder = must(dlopen(library, RTLD_NOW), library);
    reinterpret_cast<int (*)()>(must(dlsym(recorder, "InitializeInjection"), "injection"))();
    const auto callback = reinterpret_cast<CUpti_CallbackFunc (*)()>(
        must(dlsym(answers, "bench_callback"), "bench_callback"))();
    must(reinterpret_cast<void*>(callback), "callback: it has not subscribed");

    Pairs one(1);
    Pairs many(16384);
    one.measure(callback, 1000, false);
    std::printf("{\n");
    print("warm", measure(callback, one, count, false), ",");
    print("cold", measure(callback, one, count, true), ",");
    many.keep_all(callback);
    print("warm_of_16384", measure(callback, many, count, false), ",");
    print("cold_of_16384", measure(callback, many, count, true), "");
    std::printf("}\n");
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    return 0;
}

}  // namespace
}  // namespace tidemark::inject

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "recorder_bench LIBRARY DRIVER [PAIRS]\n");
        return 2;
    }
    return tidemark::inject::run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 200000);
}
