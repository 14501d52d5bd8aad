// Kernels for graph proofs, and the same with copies.
#include "tests/gpu/graph_work.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include <catch2/catch.hpp>

namespace tidemark::gpu {
namespace {

using cuda::CUresult;

// Each kernel takes every n-th word; a word of a fill is (index ^ seed) * 2654435761.
constexpr const char* kPtx = R"ptx(
.version 6.0
.target sm_50
.address_size 64

.visible .entry tidemark_fill(
    .param .u64 target_parameter, .param .u64 elements_parameter, .param .u32 seed_parameter)
{
    .reg .pred %done;
    .reg .b32 %a, %b, %c, %seed, %word;
    .reg .b64 %target, %elements, %index, %stride, %address;
    ld.param.u64 %target, [target_parameter];
    ld.param.u64 %elements, [elements_parameter];
    ld.param.u32 %seed, [seed_parameter];
    cvta.to.global.u64 %target, %target;
    mov.u32 %a, %ctaid.x;
    mov.u32 %b, %ntid.x;
    mov.u32 %c, %tid.x;
    mad.lo.u32 %a, %a, %b, %c;
    cvt.u64.u32 %index, %a;
    mov.u32 %c, %nctaid.x;
    mul.wide.u32 %stride, %b, %c;
LOOP:
    setp.ge.u64 %done, %index, %elements;
    @%done bra END;
    cvt.u32.u64 %word, %index;
    xor.b32 %word, %word, %seed;
    mul.lo.u32 %word, %word, 2654435761;
    shl.b64 %address, %index, 2;
    add.u64 %address, %target, %address;
    st.global.u32 [%address], %word;
    add.u64 %index, %index, %stride;
    bra LOOP;
END:
    ret;
}

.visible .entry tidemark_combine(
    .param .u64 target_parameter, .param .u64 a_parameter, .param .u64 b_parameter,
    .param .u64 elements_parameter, .param .u32 x_parameter, .param .u32 y_parameter)
{
    .reg .pred %done;
    .reg .b32 %a, %b, %c, %x, %y, %first, %second;
    .reg .b64 %target, %from, %with, %elements, %index, %stride, %address, %offset;
    ld.param.u64 %target, [target_parameter];
    ld.param.u64 %from, [a_parameter];
    ld.param.u64 %with, [b_parameter];
    ld.param.u64 %elements, [elements_parameter];
    ld.param.u32 %x, [x_parameter];
    ld.param.u32 %y, [y_parameter];
    cvta.to.global.u64 %target, %target;
    cvta.to.global.u64 %from, %from;
    cvta.to.global.u64 %with, %with;
    mov.u32 %a, %ctaid.x;
    mov.u32 %b, %ntid.x;
    mov.u32 %c, %tid.x;
    mad.lo.u32 %a, %a, %b, %c;
    cvt.u64.u32 %index, %a;
    mov.u32 %c, %nctaid.x;
    mul.wide.u32 %stride, %b, %c;
LOOP:
    setp.ge.u64 %done, %index, %elements;
    @%done bra END;
    shl.b64 %offset, %index, 2;
    add.u64 %address, %from, %offset;
    ld.global.u32 %first, [%address];
    add.u64 %address, %with, %offset;
    ld.global.u32 %second, [%address];
    mul.lo.u32 %first, %first, %x;
    mad.lo.u32 %first, %second, %y, %first;
    add.u64 %address, %target, %offset;
    st.global.u32 [%address], %first;
    add.u64 %index, %index, %stride;
    bra LOOP;
END:
    ret;
}

.visible .entry tidemark_check(
    .param .u64 target_parameter, .param .u64 elements_parameter, .param .u64 counter_parameter,
    .param .u32 x_parameter, .param .u32 seed_x_parameter, .param .u32 y_parameter,
    .param .u32 seed_y_parameter)
{
    .reg .pred %done, %same;
    .reg .b32 %a, %b, %c, %x, %y, %seed_x, %seed_y, %word, %first, %second;
    .reg .b64 %target, %counter, %elements, %index, %stride, %address, %count;
    ld.param.u64 %target, [target_parameter];
    ld.param.u64 %elements, [elements_parameter];
    ld.param.u64 %counter, [counter_parameter];
    ld.param.u32 %x, [x_parameter];
    ld.param.u32 %seed_x, [seed_x_parameter];
    ld.param.u32 %y, [y_parameter];
    ld.param.u32 %seed_y, [seed_y_parameter];
    cvta.to.global.u64 %target, %target;
    cvta.to.global.u64 %counter, %counter;
    mov.u32 %a, %ctaid.x;
    mov.u32 %b, %ntid.x;
    mov.u32 %c, %tid.x;
    mad.lo.u32 %a, %a, %b, %c;
    cvt.u64.u32 %index, %a;
    mov.u32 %c, %nctaid.x;
    mul.wide.u32 %stride, %b, %c;
    mov.u64 %count, 0;
LOOP:
    setp.ge.u64 %done, %index, %elements;
    @%done bra END;
    cvt.u32.u64 %word, %index;
    xor.b32 %first, %word, %seed_x;
    mul.lo.u32 %first, %first, 2654435761;
    mul.lo.u32 %first, %first, %x;
    xor.b32 %second, %word, %seed_y;
    mul.lo.u32 %second, %second, 2654435761;
    mad.lo.u32 %first, %second, %y, %first;
    shl.b64 %address, %index, 2;
    add.u64 %address, %target, %address;
    ld.global.u32 %word, [%address];
    setp.eq.u32 %same, %word, %first;
    @%same bra NEXT;
    add.u64 %count, %count, 1;
NEXT:
    add.u64 %index, %index, %stride;
    bra LOOP;
END:
    setp.eq.u64 %same, %count, 0;
    @%same bra OUT;
    red.global.add.u64 [%counter], %count;
OUT:
    ret;
}
)ptx";

class KernelWork final : public GraphWork {
  public:
    explicit KernelWork(CudaDevice& device)
        : device_(device),
          counter_(device.malloc(512).value()),
          answer_(device.host_malloc(512).value()) {
        const CudaDriver& driver = device.driver();
        REQUIRE(driver.cuModuleLoadData(&module_, kPtx) == CUresult::success);
        const auto find = [&](cuda::CUfunction& function, const char* name) {
            REQUIRE(driver.cuModuleGetFunction(&function, module_, name) == CUresult::success);
        };
        find(fill_, "tidemark_fill");
        find(combine_, "tidemark_combine");
        find(check_, "tidemark_check");
        REQUIRE(device.fill(counter_, 0, 8, StreamId::default_stream));
        REQUIRE(device.synchronize_device());
    }

    ~KernelWork() override {
        static_cast<void>(device_.driver().cuModuleUnload(module_));
        static_cast<void>(device_.free(counter_));
        static_cast<void>(device_.host_free(answer_));
    }

    void fill(Address target, Bytes size, std::uint32_t seed, StreamId stream) override {
        std::uint64_t elements = size / 4;
        launch(fill_, elements, stream, {&target, &elements, &seed});
    }

    void combine(Address target, Term a, Term b, Bytes size, StreamId stream) override {
        std::uint64_t elements = size / 4;
        launch(combine_, elements, stream,
               {&target, &a.address, &b.address, &elements, &a.factor, &b.factor});
    }

    void check(Address target, Expected a, Expected b, Bytes size, StreamId stream) override {
        std::uint64_t elements = size / 4;
        launch(check_, elements, stream,
               {&target, &elements, &counter_, &a.factor, &a.seed, &b.factor, &b.seed});
    }

    std::uint64_t wrong() override {
        REQUIRE(device_.synchronize_device());
        REQUIRE(device_.copy(answer_, counter_, 8, StreamId::default_stream));
        REQUIRE(device_.fill(counter_, 0, 8, StreamId::default_stream));
        REQUIRE(device_.synchronize_device());
        std::uint64_t found = 0;
        std::memcpy(&found, reinterpret_cast<const void*>(to_integer(answer_)), sizeof(found));
        return found;
    }

  private:
    static constexpr unsigned kThreads = 256;
    static constexpr std::uint64_t kMostBlocks = 1024;

    void launch(cuda::CUfunction kernel, std::uint64_t elements, StreamId stream,
                std::array<void*, 7> parameters) {
        const std::uint64_t blocks = std::clamp<std::uint64_t>(elements / kThreads, 1, kMostBlocks);
        const auto native = device_.native(stream);
        if (!native)
            FAIL("no native stream");
        const CUresult done = device_.driver().cuLaunchKernel(
            kernel, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0,
            reinterpret_cast<cuda::CUstream>(*native), parameters.data(), nullptr);
        if (done != CUresult::success)
            FAIL("cuLaunchKernel: " << device_.driver().error_name(done));
    }

    CudaDevice& device_;
    Address counter_;
    Address answer_;
    cuda::CUmodule module_{};
    cuda::CUfunction fill_{};
    cuda::CUfunction combine_{};
    cuda::CUfunction check_{};
};

class CopyWork final : public GraphWork {
  public:
    explicit CopyWork(Device& device) : device_(device) {}

    void fill(Address target, Bytes size, std::uint32_t seed, StreamId stream) override {
        REQUIRE(device_.write_pattern(target, seed, size, stream));
    }

    void combine(Address target, Term a, Term /*b*/, Bytes size, StreamId stream) override {
        REQUIRE(device_.copy(target, a.address, size, stream));
    }

    void check(Address target, Expected a, Expected /*b*/, Bytes size, StreamId stream) override {
        wrong_ += device_.check_pattern(target, a.seed, size, stream).value() / 4;
    }

    std::uint64_t wrong() override { return std::exchange(wrong_, 0); }

  private:
    Device& device_;
    std::uint64_t wrong_ = 0;
};

}  // namespace

std::unique_ptr<GraphWork> make_kernel_work(CudaDevice& device) {
    return std::make_unique<KernelWork>(device);
}

std::unique_ptr<GraphWork> make_copy_work(Device& device) {
    return std::make_unique<CopyWork>(device);
}

std::unique_ptr<CudaDevice> open_gpu(const CudaConfig& config) {
    auto driver = CudaDriver::open();
    if (!driver) {
        WARN("skipped, no GPU: " << driver.error().what);
        return nullptr;
    }
    auto device = CudaDevice::open(*driver, config);
    if (!device) {
        WARN("skipped, no GPU: " << device.error().what);
        return nullptr;
    }
    REQUIRE((*driver)->cuCtxSetCurrent((*device)->native_context()) == CUresult::success);
    return std::move(*device);
}

void seen(const char* what, const std::string& came) {
    std::printf("%-74s %s\n", what, came.c_str());
    std::fflush(stdout);
}

}  // namespace tidemark::gpu
