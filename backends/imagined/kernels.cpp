// Registration and launches of kernels, by the runtime and by the driver.
#include "backends/imagined/kernels.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/imagined/api.h"
#include "backends/imagined/machine.h"
#include "backends/imagined/names.h"

namespace tidemark::imagined {
namespace {

struct Dim3 {
    unsigned x = 1, y = 1, z = 1;
};

struct Launch {
    Dim3 grid, block;
    std::size_t shared = 0;
    void* stream = nullptr;
};

std::unordered_map<const void*, Kernel>& kernels() {
    static auto* const all = new std::unordered_map<const void*, Kernel>(1 << 18);
    return *all;
}

// A nested launch has its configuration above the outer one's.
thread_local std::vector<Launch> configured;
thread_local const Kernel* launched = nullptr;
thread_local const Kernel* launched_before = nullptr;
thread_local std::optional<Counted> counted_last;

constexpr const char *kRandom = "random", *kKernels = "kernels";

const char* first_use_of(std::string_view name) {
    if (holds(name, "distribution_elementwise"))
        return kRandom;
    if (holds(name, "flash_fwd") || holds(name, "fmha_cutlass"))
        return "attention";
    const bool large = holds(name, "reduce_kernel") || holds(name, "oftmax") ||
                       holds(name, "ndexSelect") || holds(name, "index_elementwise");
    return large ? "reductions" : kKernels;
}

// The first launch of a kernel on a device.
void use_first(Kernel& kernel, Machine& machine, int device) {
    if (kernel.used_on == 0) {
        const std::string name = demangled(kernel.name);
        const std::vector<std::string_view> parameters = parameters_of(name);
        kernel.parameters = parameters.size();
        kernel.computation = elementwise_of(name);
        if (!kernel.computation)
            kernel.computation = reduction_of(name);
        if (kernel.computation && kernel.computation->arguments() > kernel.parameters)
            kernel.computation.reset();
        if (!kernel.computation)
            kernel.outputs = outputs_of(parameters);
    }
    kernel.used_on |= std::uint64_t{1} << device;
    if (kernel.first_use != std::string_view(kRandom))
        machine.first_use(device, kKernels);
    machine.first_use(device, kernel.first_use);
}

// CUB's reduction takes its input, its output and the number of items; for many items it has two
// passes. Its selection takes seven others before the number.
void note_count(const Kernel& kernel, void** arguments) {
    constexpr std::size_t kReduced = 2, kSelected = 7;
    const std::size_t at = kernel.counts_nonzero ? kReduced : kSelected;
    if ((kernel.counts_nonzero || kernel.counts_distinct) && at < kernel.parameters)
        counted_last = {*static_cast<const int*>(arguments[at]), kernel.counts_distinct};
    else if (!kernel.ends_reduction)
        counted_last.reset();
}

int launch(const void* function, void** arguments, void* stream) {
    Lock machine;
    const int device = current_device();
    const auto found = kernels().find(function);
    launched_before = launched;
    launched = found == kernels().end() ? nullptr : &found->second;
    machine->run(machine->stream_of(stream, device));
    if (launched == nullptr)
        return kSuccess;
    Kernel& kernel = found->second;
    if ((kernel.used_on >> device & 1) == 0)
        use_first(kernel, Machine::get(), device);
    if (arguments == nullptr)
        return kSuccess;
    note_count(kernel, arguments);
    if (kernel.computation)
        kernel.computation->run(arguments, machine->contents);
    else
        forget_outputs(kernel.outputs, arguments, kernel.parameters, machine->contents);
    return kSuccess;
}

}  // namespace

const Kernel* last_kernel() {
    return launched;
}

const Kernel* kernel_before_last() {
    return launched_before;
}

std::optional<Counted> last_count() {
    return counted_last;
}

}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(void**, __cudaRegisterFatBinary)(void* binary) {
    auto* const handle = new void* [2] { binary, nullptr };
    return handle;
}

IMAGINED(void, __cudaRegisterFatBinaryEnd)(void**) {}

IMAGINED(void, __cudaUnregisterFatBinary)(void**) {}

IMAGINED(char, __cudaInitModule)(void**) {
    return 1;
}

IMAGINED(void, __cudaRegisterVar)(void**, char*, char*, const char*, int, std::size_t, int, int) {}

IMAGINED(void, __cudaRegisterFunction)

(void**, const char* function, char*, const char* name, int, void*, void*, void*, void*, int*) {
    Lock machine;
    kernels()[function] = {
        .name = name,
        .reduces_with_and = holds(name, "and_kernel"),
        .sums = holds(name, "reduce_kernel") && holds(name, "sum_functor"),
        .compares_equal = holds(name, "CompareEqFunctor"),
        .counts_nonzero = holds(name, "DeviceReduce") && holds(name, "NonZero"),
        .ends_reduction = holds(name, "DeviceReduceSingleTile"),
        .counts_distinct = holds(name, "DeviceSelectSweepKernel") && holds(name, "equal_to"),
        .first_use = first_use_of(name),
        .outputs = {},
        .computation = {}};
}

IMAGINED(unsigned, __cudaPushCallConfiguration)

(Dim3 grid, Dim3 block, std::size_t shared, void* stream) {
    configured.push_back({grid, block, shared, stream});
    return 0;
}

IMAGINED(int, __cudaPopCallConfiguration)

(Dim3* grid, Dim3* block, std::size_t* shared, void** stream) {
    if (configured.empty())
        return kInvalidValue;
    const Launch one = configured.back();
    configured.pop_back();
    *grid = one.grid;
    *block = one.block;
    *shared = one.shared;
    *stream = one.stream;
    return kSuccess;
}

IMAGINED(int, __cudaGetKernel)(const void** kernel, const void* function) {
    *kernel = function;
    return kSuccess;
}

IMAGINED(int, cudaLaunchKernel)

(const void* function, Dim3, Dim3, void** arguments, std::size_t, void* stream) {
    return launch(function, arguments, stream);
}

IMAGINED(int, __cudaLaunchKernel)

(const void* function, Dim3, Dim3, void** arguments, std::size_t, void* stream) {
    return launch(function, arguments, stream);
}

IMAGINED(int, cudaLaunchCooperativeKernel)

(const void* function, Dim3, Dim3, void** arguments, std::size_t, void* stream) {
    return launch(function, arguments, stream);
}

namespace {

// cudaLaunchConfig_t.
struct LaunchConfig {
    Dim3 grid, block;
    std::size_t shared = 0;
    void* stream = nullptr;
};

// cudaFuncAttributes, as far as it is supported.
struct FunctionAttributes {
    std::size_t shared_bytes = 0, constant_bytes = 0, local_bytes = 0;
    int threads = 1024, registers = 32, ptx = 90, binary = 90, cache_mode = 0;
    int dynamic_shared = 49152;
};

constexpr std::size_t kFunctionAttributes = 144;

// Blocks of `threads` that one multiprocessor runs at once, only by threads: registers and shared
// memory of kernels are not known.
int blocks_by_threads(int threads) {
    const int most = settings().card.attributes[39];  // threads of a multiprocessor
    const int blocks = settings().card.attributes[106];
    return threads <= 0 ? 2 : std::clamp(most / threads, 1, std::max(blocks, 1));
}

}  // namespace

IMAGINED(int, cudaLaunchKernelExC)

(const LaunchConfig* config, const void* function, void** arguments) {
    return launch(function, arguments, config->stream);
}

IMAGINED(int, cudaFuncGetAttributes)(void* out, const void*) {
    FunctionAttributes attributes;
    const auto& card = settings().card.attributes;
    attributes.ptx = attributes.binary = 10 * card[75] + card[76];
    std::memset(out, 0, kFunctionAttributes);
    std::memcpy(out, &attributes, sizeof attributes);
    return kSuccess;
}

IMAGINED(int, cudaFuncSetAttribute)(const void*, int, int) {
    return kSuccess;
}

IMAGINED(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor)

(int* blocks, const void*, int threads, std::size_t) {
    *blocks = blocks_by_threads(threads);
    return kSuccess;
}

IMAGINED(int, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)

(int* blocks, const void*, int threads, std::size_t, unsigned) {
    *blocks = blocks_by_threads(threads);
    return kSuccess;
}

IMAGINED(int, cuOccupancyMaxActiveBlocksPerMultiprocessor)

(int* blocks, const void*, int threads, std::size_t) {
    *blocks = blocks_by_threads(threads);
    return kSuccess;
}

// A queued host function runs immediately: everything before it is done, or need not be.
IMAGINED(int, cudaLaunchHostFunc)(void*, void (*function)(void*), void* data) {
    function(data);
    return kSuccess;
}

IMAGINED(int, cudaStreamAddCallback)

(void* stream, void (*function)(void*, int, void*), void* data, unsigned) {
    function(stream, kSuccess, data);
    return kSuccess;
}
