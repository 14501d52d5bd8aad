// Launches of kernels, and the two clocks.
#include "backends/cuda/cuda_pacing.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cuda/cuda_kernels.h"

namespace tidemark {
namespace {

using cuda::CUresult;

constexpr unsigned kCheckBlocks = 64;
constexpr unsigned kCheckThreads = 256;
constexpr int kClockReadings = 16;
constexpr Bytes kWord = 8;
constexpr Bytes kSlots = (CudaPacing::kStreams + 1) * kWord;

tl::unexpected<Error> refused(const CudaDriver& driver, CUresult code, const char* call) {
    return fail(ErrorCode::driver, driver.error_name(code), call);
}

}  // namespace

Result<std::unique_ptr<CudaPacing>> CudaPacing::open(CudaDevice& device) {
    std::unique_ptr<CudaPacing> made(new CudaPacing(device));
    TM_TRY(made->load());
    return made;
}

CudaPacing::~CudaPacing() {
    if (slots_ != Address::null)
        static_cast<void>(device_.free(slots_));
    if (answer_ != Address::null)
        static_cast<void>(device_.host_free(answer_));
}

Result<void> CudaPacing::load() {
    const CudaDriver& driver = device_.driver();
    CUresult done = driver.cuCtxSetCurrent(device_.native_context());
    if (done == CUresult::success)
        done = driver.cuModuleLoadData(&module_, cuda::kPacingKernels);
    if (done == CUresult::success)
        done = driver.cuModuleLoadData(&checks_, cuda::kKernels);
    if (done == CUresult::success)
        done = driver.cuModuleGetFunction(&pass_, module_, cuda::kPassUntil);
    if (done == CUresult::success)
        done = driver.cuModuleGetFunction(&check_, checks_, cuda::kCountMismatches);
    if (done != CUresult::success)
        return refused(driver, done, "the kernels that pace a replay");
    const auto slots = device_.malloc(kSlots);
    if (!slots)
        return tl::make_unexpected(device_.explain(slots.error()));
    slots_ = *slots;
    const auto answer = device_.host_malloc(kSlots);
    if (!answer)
        return tl::make_unexpected(device_.explain(answer.error()));
    answer_ = *answer;
    if (const auto filled = device_.fill(slots_, 0, kSlots, StreamId::default_stream); !filled)
        return tl::make_unexpected(device_.explain(filled.error()));
    return {};
}

// The reading that took the least time is the best.
Result<void> CudaPacing::start() {
    Nanoseconds least = std::numeric_limits<Nanoseconds>::max();
    watch_ = Stopwatch();
    for (int i = 0; i < kClockReadings; ++i) {
        const Nanoseconds before = now();
        pass_until(StreamId::default_stream, std::numeric_limits<Nanoseconds>::min());
        if (const auto done = device_.synchronize(StreamId::default_stream); !done)
            return tl::make_unexpected(device_.explain(done.error()));
        const Nanoseconds after = now();
        TM_ASSIGN(const std::vector<std::uint64_t> values, read());
        faults_before_ = values[kStreams];
        if (after - before >= least)
            continue;
        least = after - before;
        gpu_start_ = values[0] - static_cast<std::uint64_t>(before + least / 2);
    }
    return {};
}

void CudaPacing::launch(cuda::CUfunction kernel, unsigned blocks, StreamId stream,
                        void** parameters) {
    const auto native = device_.native(stream);
    sound_ = sound_ && native.has_value() &&
             device_.driver().cuLaunchKernel(kernel, blocks, 1, 1, blocks > 1 ? kCheckThreads : 1,
                                             1, 1, 0, reinterpret_cast<cuda::CUstream>(*native),
                                             parameters, nullptr) == CUresult::success;
}

void CudaPacing::pass_until(StreamId stream, Nanoseconds when) {
    Address slot = slots_ + std::min(to_integer(stream), kStreams - 1) * kWord;
    std::uint64_t end = when < 0 ? 0 : gpu_start_ + static_cast<std::uint64_t>(when);
    void* parameters[] = {&slot, &end};
    launch(pass_, 1, stream, parameters);
}

void CudaPacing::check(StreamId stream, Address target, std::uint32_t pattern, Bytes size) {
    Address counter = slots_ + kStreams * kWord;
    void* parameters[] = {&target, &size, &counter, &pattern};
    launch(check_, kCheckBlocks, stream, parameters);
}

Result<std::vector<std::uint64_t>> CudaPacing::read() {
    const auto copied = device_.copy(answer_, slots_, kSlots, StreamId::default_stream);
    if (!copied)
        return tl::make_unexpected(device_.explain(copied.error()));
    if (const auto done = device_.synchronize(StreamId::default_stream); !done)
        return tl::make_unexpected(device_.explain(done.error()));
    std::vector<std::uint64_t> values(kStreams + 1);
    std::memcpy(values.data(), reinterpret_cast<const void*>(to_integer(answer_)), kSlots);
    return values;
}

Result<CudaPacing::Figures> CudaPacing::finish() {
    if (const auto done = device_.synchronize_device(); !done)
        return tl::make_unexpected(device_.explain(done.error()));
    if (!sound_)
        return fail(ErrorCode::driver, "a kernel could not be launched", "the replay's pacing");
    TM_ASSIGN(const std::vector<std::uint64_t> values, read());
    Figures figures;
    for (std::uint32_t stream = 0; stream < kStreams; ++stream)
        if (values[stream] > gpu_start_)
            figures.end =
                std::max(figures.end, static_cast<Nanoseconds>(values[stream] - gpu_start_));
    figures.wrong_bytes = values[kStreams] - faults_before_;
    return figures;
}

}  // namespace tidemark
