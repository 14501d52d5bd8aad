// Two kernels of one thread each, in PTX, and the launches.
#include "tests/gpu/proof/gpu_pacing.h"

#include <algorithm>
#include <cstring>

#include "backends/cuda/cuda_kernels.h"

namespace tidemark::gpu {
namespace {

using cuda::CUresult;

constexpr const char* kPtx = R"ptx(
.version 6.0
.target sm_50
.address_size 64

.visible .entry tidemark_mark(.param .u64 slot_parameter)
{
    .reg .b64 %slot, %time;
    ld.param.u64 %slot, [slot_parameter];
    cvta.to.global.u64 %slot, %slot;
    mov.u64 %time, %globaltimer;
    st.global.u64 [%slot], %time;
    ret;
}

.visible .entry tidemark_pass(.param .u64 slot_parameter, .param .u64 duration_parameter)
{
    .reg .pred %early;
    .reg .b64 %slot, %time, %end;
    ld.param.u64 %slot, [slot_parameter];
    ld.param.u64 %end, [duration_parameter];
    cvta.to.global.u64 %slot, %slot;
    ld.global.u64 %time, [%slot];
    add.u64 %end, %end, %time;
AGAIN:
    mov.u64 %time, %globaltimer;
    setp.lt.u64 %early, %time, %end;
    @%early bra AGAIN;
    ret;
}
)ptx";

constexpr unsigned kCheckBlocks = 256;
constexpr unsigned kCheckThreads = 256;

tl::unexpected<Error> refused(const CudaDriver& driver, CUresult code, const char* call) {
    return fail(ErrorCode::driver, driver.error_name(code), call);
}

}  // namespace

Result<GpuPacing> GpuPacing::open(CudaDevice& device) {
    GpuPacing made(device);
    const CudaDriver& driver = device.driver();
    CUresult done = driver.cuModuleLoadData(&made.module_, kPtx);
    if (done == CUresult::success)
        done = driver.cuModuleLoadData(&made.checks_, cuda::kKernels);
    if (done != CUresult::success)
        return refused(driver, done, "cuModuleLoadData");
    const auto find = [&](cuda::CUfunction& function, cuda::CUmodule module, const char* name) {
        if (done == CUresult::success)
            done = driver.cuModuleGetFunction(&function, module, name);
    };
    find(made.mark_, made.module_, "tidemark_mark");
    find(made.pass_, made.module_, "tidemark_pass");
    find(made.check_, made.checks_, cuda::kCountMismatches);
    if (done != CUresult::success)
        return refused(driver, done, "cuModuleGetFunction");
    const auto slots = device.malloc((kStreams + 1) * 8);
    if (!slots)
        return tl::make_unexpected(device.explain(slots.error()));
    const auto answer = device.host_malloc(64);
    if (!answer)
        return tl::make_unexpected(device.explain(answer.error()));
    made.slots_ = *slots;
    made.answer_ = *answer;
    if (const auto filled = device.fill(*slots, 0, (kStreams + 1) * 8, StreamId::default_stream);
        !filled)
        return tl::make_unexpected(device.explain(filled.error()));
    return made;
}

Address GpuPacing::slot(StreamId stream) const {
    return slots_ + std::min(to_integer(stream), kStreams - 1) * Bytes{8};
}

void GpuPacing::launch(cuda::CUfunction kernel, unsigned blocks, StreamId stream,
                       void** parameters) {
    const auto native = device_->native(stream);
    sound_ = sound_ && native.has_value() &&
             device_->driver().cuLaunchKernel(kernel, blocks, 1, 1, blocks > 1 ? kCheckThreads : 1,
                                              1, 1, 0, reinterpret_cast<cuda::CUstream>(*native),
                                              parameters, nullptr) == CUresult::success;
}

void GpuPacing::mark(StreamId stream) {
    Address place = slot(stream);
    void* parameters[] = {&place};
    launch(mark_, 1, stream, parameters);
}

void GpuPacing::pass(StreamId stream, Nanoseconds duration) {
    Address place = slot(stream);
    std::uint64_t length = static_cast<std::uint64_t>(std::max<Nanoseconds>(duration, 0));
    void* parameters[] = {&place, &length};
    launch(pass_, 1, stream, parameters);
}

void GpuPacing::check(StreamId stream, Address target, std::uint32_t pattern, Bytes size) {
    Address counter = slots_ + kStreams * Bytes{8};
    void* parameters[] = {&target, &size, &counter, &pattern};
    launch(check_, kCheckBlocks, stream, parameters);
}

std::uint64_t GpuPacing::fetch(Address word) const {
    std::uint64_t value = 0;
    if (device_->copy(answer_, word, sizeof(value), StreamId::default_stream) &&
        device_->synchronize_device())
        std::memcpy(&value, reinterpret_cast<const void*>(to_integer(answer_)), sizeof(value));
    return value;
}

Nanoseconds GpuPacing::last_mark(StreamId stream) const {
    return static_cast<Nanoseconds>(fetch(slot(stream)));
}

std::uint64_t GpuPacing::faults() const {
    return fetch(slots_ + kStreams * Bytes{8});
}

}  // namespace tidemark::gpu
