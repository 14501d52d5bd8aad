// Sites: which frame of a stack tells a person something, and which operator it was.
#include "replay/analysis/trace/sites.h"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

constexpr const char* kTorch = "/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py";
constexpr const char* kVision =
    "/opt/venv/lib/python3.12/site-packages/torchvision/models/resnet.py";
constexpr const char* kProgram = "/home/me/project/train.py";
constexpr const char* kStandard = "/usr/lib/python3.12/contextlib.py";

struct Line {
    const char* name;
    const char* file;
    std::uint32_t line;
};

// A trace with one stack, the innermost frame first.
TraceInfo with_stack(std::initializer_list<Line> lines) {
    TraceInfo info;
    std::vector<Frame> frames;
    for (const Line& line : lines)
        frames.push_back(
            {info.strings.intern(line.name), info.strings.intern(line.file), line.line});
    info.stacks.intern(frames);
    return info;
}

}  // namespace

TEST_CASE("the place is the innermost line that is not PyTorch's or Python's own", "[advise]") {
    const TraceInfo info = with_stack({{"batch_norm", kTorch, 2846},
                                       {"inner", kStandard, 81},
                                       {"forward", kVision, 155},
                                       {"main", kProgram, 12}});
    Sites sites(info);

    CHECK(sites.site(1) == "torchvision/models/resnet.py:155 forward");
    CHECK(sites.operation(1) == "batch_norm");
    CHECK(sites.frames(1).size() == 4);
    CHECK(sites.frames(1).back() == "main /home/me/project/train.py:12");
}

TEST_CASE("the operator is the outermost one below the Python code", "[advise]") {
    const TraceInfo info =
        with_stack({{"c10::cuda::CUDACachingAllocator::malloc(unsigned long)", "??", 0},
                    {"at::_ops::empty_memory_format::redispatch(c10::DispatchKeySet)", "??", 0},
                    {"at::(anonymous namespace)::wrapper(at::Tensor const&)", "??", 0},
                    {"at::_ops::convolution::call(at::Tensor const&)", "Operators.cpp", 9},
                    {"_conv_forward", kTorch, 548},
                    {"main", kProgram, 12}});
    Sites sites(info);

    CHECK(sites.operation(1) == "aten::convolution");
    CHECK(sites.site(1) == "project/train.py:12 main");
}

TEST_CASE("a stack without Python is named after its backward function", "[advise]") {
    const TraceInfo info = with_stack(
        {{"c10::cuda::CUDACachingAllocator::malloc(unsigned long)", "??", 0},
         {"at::_ops::mm::call(at::Tensor const&, at::Tensor const&)", "??", 0},
         {"torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor>&&)", "??", 0},
         {"torch::autograd::Engine::thread_init(int)", "??", 0}});
    Sites sites(info);

    CHECK(sites.operation(1) == "AddmmBackward0");
    CHECK(sites.site(1) == "AddmmBackward0");
}

TEST_CASE("where nothing better is known, a frame beyond the allocator is shown", "[advise]") {
    const TraceInfo only_torch = with_stack({{"step", kTorch, 7}, {"run", kTorch, 9}});
    const TraceInfo only_native = with_stack(
        {{"c10::malloc(int)", "??", 0}, {"my::(anonymous namespace)::run(int)", "??", 0}});
    Sites torch(only_torch);
    Sites native(only_native);

    CHECK(torch.site(1) == "torch/nn/functional.py:7 step");
    CHECK(native.site(1) == "my::(anonymous namespace)::run");
    CHECK(native.operation(1).empty());
}

TEST_CASE("a stack begins at the program's own line, without allocator and unwinder", "[advise]") {
    const TraceInfo info =
        with_stack({{"torch::unwind::unwind()", "??", 0},
                    {"torch::CapturedTraceback::gather(bool, bool, bool)", "??", 0},
                    {"c10::cuda::CUDACachingAllocator::malloc(unsigned long)", "??", 0},
                    {"at::_ops::relu::call(at::Tensor const&)", "??", 0},
                    {"relu", kTorch, 1704},
                    {"forward", kProgram, 181},
                    {"main", kProgram, 12}});
    const TraceInfo native = with_stack({{"torch::unwind::unwind()", "??", 0},
                                         {"c10::malloc(int)", "??", 0},
                                         {"my::run(int)", "??", 0}});
    const TraceInfo allocator = with_stack({{"c10::malloc(int)", "??", 0}});

    const std::span<const Frame> own = Sites(info).own_frames(1);
    REQUIRE(own.size() == 2);
    CHECK(own.front().line == 181);
    CHECK(Sites(native).own_frames(1).size() == 1);
    CHECK(Sites(native).site(1) == "my::run");
    CHECK(Sites(allocator).own_frames(1).size() == 1);
    CHECK(Sites(info).own_frames(77).empty());
}

TEST_CASE("no stack has no place, nor has one that the trace does not hold", "[advise]") {
    const TraceInfo info = with_stack({{"main", kProgram, 12}});
    Sites sites(info);

    CHECK(sites.site(0).empty());
    CHECK(sites.site(77).empty());
    CHECK(sites.frames(77).empty());
}

TEST_CASE("size classes are powers of two", "[advise]") {
    CHECK(size_class(0) == "up to 512 B");
    CHECK(size_class(511) == "up to 512 B");
    CHECK(size_class(512) == "512 B to 1.00 KiB");
    CHECK(size_class(20_MiB) == "16.0 MiB to 32.0 MiB");
}
