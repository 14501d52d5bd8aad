// A program that uses CUDA and knows nothing of Tidemark, for tests of `tidemark record`:
// recorded_program STEP... does one thing after another. The driver is what TIDEMARK_CUDA_DRIVER
// names, loaded when the first step needs it.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/driver_api.h"
#include "replay/c_api/tidemark.h"
#include "replay/inject/nvtx_api.h"
#include "tests/cli/recorded/driver_calls.h"
#include "tests/cli/recorded/launching_steps.h"

namespace tidemark::cuda {
namespace {

void plain() {
    MUST("cuMemFree_v2", take(3 * kMiB));
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    MUST("cuMemAllocPitch_v2", &address, &pitch, std::size_t{1000}, std::size_t{16}, 4U);
    MUST("cuMemFree_v2", address);
    MUST("cuMemAllocManaged", &address, 2 * kMiB, 1U);
    MUST("cuMemFree_v2", address);

    struct {
        std::size_t width = 64, height = 32, depth = 0;
        int format = 0x20;  // CU_AD_FORMAT_FLOAT
        unsigned channels = 4, flags = 0;
    } array;

    MUST("cuArray3DCreate_v2", &address, static_cast<const void*>(&array));
    MUST("cuArrayDestroy", address);
}

void host() {
    void* address = nullptr;
    MUST("cuMemHostAlloc", &address, 5 * kMiB, 0U);
    MUST("cuMemFreeHost", address);
    MUST("cuMemAllocHost_v2", &address, 6 * kMiB);
    MUST("cuMemFreeHost", address);
    static std::vector<char> own(kMiB);
    MUST("cuMemHostRegister_v2", static_cast<void*>(own.data()), own.size(), 0U);
    MUST("cuMemHostUnregister", static_cast<void*>(own.data()));
}

void refused() {
    CUdeviceptr address = 0;
    static_cast<void>(call("cuMemAlloc_v2", &address, std::size_t{1} << 50U));
    static_cast<void>(call("cuMemFree_v2", CUdeviceptr{12345}));
}

void pools() {
    CUstream stream = nullptr;
    MUST("cuStreamCreate", &stream, 1U);
    CUdeviceptr address = 0;
    MUST("cuMemAllocAsync", &address, kMiB, stream);
    MUST("cuMemFreeAsync", address, stream);
    MUST("cuMemAllocAsync_ptsz", &address, 2 * kMiB, CUstream{nullptr});
    MUST("cuMemFreeAsync_ptsz", address, CUstream{nullptr});
    CUmemPoolProps properties;
    properties.location = {CUmemLocationType::device, 0};
    CUmemoryPool pool = nullptr;
    MUST("cuMemPoolCreate", &pool, static_cast<const CUmemPoolProps*>(&properties));
    MUST("cuMemAllocFromPoolAsync", &address, 3 * kMiB, pool, stream);
    MUST("cuMemFreeAsync", address, stream);
    MUST("cuMemPoolDestroy", pool);
    CUmemoryPool own = nullptr;
    MUST("cuDeviceGetDefaultMemPool", &own, CUdevice{0});
    MUST("cuMemAllocFromPoolAsync", &address, 4 * kMiB, own, stream);
    MUST("cuMemFreeAsync", address, stream);
    MUST("cuStreamBeginCapture_v2", stream, CUstreamCaptureMode::relaxed);
    MUST("cuMemAllocAsync", &address, 5 * kMiB, stream);
    MUST("cuMemFreeAsync", address, stream);
    CUgraph graph = nullptr;
    MUST("cuStreamEndCapture", stream, &graph);
}

// Two pieces; one is mapped twice, and released before its mappings end.
void vmm() {
    CUmemAllocationProp properties;
    properties.location = {CUmemLocationType::device, 0};
    const auto* const wanted = static_cast<const CUmemAllocationProp*>(&properties);
    const std::size_t size = 4 * kMiB;
    CUdeviceptr range = 0;
    MUST("cuMemAddressReserve", &range, 4 * size, std::size_t{0}, CUdeviceptr{0}, 0ULL);
    CUmemHandle first = 0;
    CUmemHandle second = 0;
    MUST("cuMemCreate", &first, size, wanted, 0ULL);
    MUST("cuMemMap", range, size, std::size_t{0}, first, 0ULL);
    MUST("cuMemMap", range + size, size, std::size_t{0}, first, 0ULL);
    MUST("cuMemRelease", first);
    MUST("cuMemCreate", &second, 2 * size, wanted, 0ULL);
    MUST("cuMemMap", range + 2 * size, 2 * size, std::size_t{0}, second, 0ULL);
    MUST("cuMemUnmap", range, size);
    MUST("cuMemUnmap", range + size, 3 * size);
    MUST("cuMemRelease", second);
    MUST("cuMemAddressFree", range, 4 * size);
}

void ipc() {
    const CUdeviceptr own = take(2 * kMiB);
    CUipcMemHandle handle;
    MUST("cuIpcGetMemHandle", &handle, own);
    CUdeviceptr opened = 0;
    MUST("cuIpcOpenMemHandle_v2", &opened, handle, 1U);
    MUST("cuIpcCloseMemHandle", opened);
    MUST("cuMemFree_v2", own);
}

void contexts() {
    CUcontext own = nullptr;
    MUST("cuCtxCreate_v2", &own, 0U, CUdevice{1});
    take(kMiB);
    take(2 * kMiB);
    MUST("cuCtxDestroy_v2", own);
    MUST("cuCtxSetCurrent", context);
}

// Frees another device's memory.
void devices() {
    CUcontext own = nullptr;
    MUST("cuCtxCreate_v2", &own, 0U, CUdevice{1});
    const CUdeviceptr address = take(kMiB);
    MUST("cuCtxSetCurrent", context);
    MUST("cuMemFree_v2", address);
}

void forks() {
    const CUdeviceptr address = take(kMiB);
    const pid_t child = ::fork();
    if (child == 0) {
        CUdeviceptr other = 0;
        static_cast<void>(call("cuMemAlloc_v2", &other, kMiB));
        std::exit(0);
    }
    ::waitpid(child, nullptr, 0);
    MUST("cuMemFree_v2", address);
}

// Runs this program again, as a child, or in its place.
void again(bool replaces) {
    if (!replaces && ::fork() != 0) {
        ::wait(nullptr);
        return;
    }
    ::execl("/proc/self/exe", "again", "plain", static_cast<char*>(nullptr));
    std::abort();
}

// Threads that are given each other's addresses as soon as those are free.
void churn() {
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number)
        threads.emplace_back([] {
            MUST("cuCtxSetCurrent", context);
            for (int i = 0; i < 2000; ++i)
                MUST("cuMemFree_v2", take(kMiB));
        });
    for (std::thread& thread : threads)
        thread.join();
}

// NVTX as a part of a program has it.
class Nvtx {
  public:
    Nvtx() {
        const char* const path = std::getenv("NVTX_INJECTION64_PATH");
        void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY);
        if (library == nullptr)
            return;
        const auto begin = reinterpret_cast<int (*)(inject::nvtx::GetExportTable)>(
            dlsym(library, "InitializeInjectionNvtx2"));
        if (begin(export_table) == 0)
            std::abort();
    }

    // Function `id` of a module; does nothing where there is no tool.
    template <class Answer, class... Args>
    Answer use(int module, unsigned id, Args... args) const {
        const auto function = functions[module == 1 ? 0 : 1][id];
        return function == nullptr ? Answer()
                                   : reinterpret_cast<Answer (*)(Args...)>(function)(args...);
    }

  private:
    static constexpr unsigned kFunctions = 16;
    static inline inject::nvtx::Function functions[2][kFunctions]{};
    static inline inject::nvtx::Function* locations[2][kFunctions + 1]{};

    static int table_of(int module, inject::nvtx::Function*** table, unsigned* size) {
        if (module != 1 && module != 5)
            return 0;
        const int index = module == 1 ? 0 : 1;
        for (unsigned id = 1; id < kFunctions; ++id)
            locations[index][id] = &functions[index][id];
        *table = locations[index];
        *size = kFunctions;
        return 1;
    }

    static const void* export_table(std::uint32_t id) {
        static const inject::nvtx::CallbackTables tables{sizeof tables, table_of};
        return id == 1 ? &tables : nullptr;
    }
};

void ranges() {
    static const Nvtx nvtx;
    const auto push = [](const char* name) { nvtx.use<int>(1, 9, name); };
    const auto pop = [] { nvtx.use<int>(1, 11); };
    push("before CUDA");
    start();
    push("step");
    MUST("cuMemFree_v2", take(kMiB));
    nvtx.use<int>(1, 10, L"wide");
    nvtx.use<void>(1, 2, "a mark");
    pop();
    pop();
    pop();
    pop();  // of nothing
    const auto* const domain = nvtx.use<const void*>(5, 12, "NCCL");
    const auto* const name = nvtx.use<const void*>(5, 10, domain, "all reduce");
    inject::nvtx::Attributes attributes;
    attributes.message_type = inject::nvtx::kRegistered;
    attributes.message = name;
    push("outer");
    nvtx.use<int>(5, 4, domain, static_cast<const inject::nvtx::Attributes*>(&attributes));
    pop();  // the default domain's
    nvtx.use<int>(5, 5, domain);
    const auto started = nvtx.use<std::uint64_t>(1, 5, "started");
    std::thread([started] {
        nvtx.use<int>(1, 9, "of a thread");
        nvtx.use<void>(1, 7, started);
        nvtx.use<int>(1, 11);
    }).join();
    push("never ends");
    nvtx.use<std::uint64_t>(1, 5, "neither");
    MUST("cuMemFree_v2", take(kMiB));
}

// Without a context: at the end of a process the fake driver's list of them is gone.
void late() {
    MUST("cuCtxSetCurrent", CUcontext{nullptr});
    static CUmemHandle handle = 0;
    CUmemAllocationProp properties;
    properties.location = {CUmemLocationType::device, 0};
    MUST("cuMemCreate", &handle, 8 * kMiB, static_cast<const CUmemAllocationProp*>(&properties),
         0ULL);
    std::atexit([] { MUST("cuMemRelease", handle); });
}

template <class Function>
Function* own(const char* name) {
    static void* const library = dlopen(std::getenv("TIDEMARK_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(dlsym(library, name));
}

// Records itself as tidemark.torch would: a segment, and a mapping of two pieces; not what a
// library takes besides. `lies`: and a segment that isn't there.
void framework(const std::string& path, bool lies) {
    start();
    tm_recorder_options options{};
    options.struct_size = sizeof options;
    options.path = path.c_str();
    tm_recorder* recorder = nullptr;
    own<decltype(tm_recorder_open)>("tm_recorder_open")(&options, &recorder);
    own<decltype(tm_recorder_setting)>("tm_recorder_setting")(recorder, "allocator", "torch", 0);
    const auto report = [&](tm_event_record kind, CUdeviceptr address, std::size_t size) {
        tm_event event{};
        event.struct_size = sizeof event;
        event.kind = static_cast<std::uint16_t>(kind);
        event.address = address;
        event.size = size;
        own<decltype(tm_recorder_event)>("tm_recorder_event")(recorder, &event);
    };
    const CUdeviceptr segment = take(2 * kMiB);
    report(TM_EVENT_SEGMENT_ALLOC, segment, 2 * kMiB);
    const CUdeviceptr library = take(3 * kMiB);
    CUmemAllocationProp properties;
    properties.location = {CUmemLocationType::device, 0};
    CUdeviceptr range = 0;
    MUST("cuMemAddressReserve", &range, 8 * kMiB, std::size_t{0}, CUdeviceptr{0}, 0ULL);
    std::vector<CUmemHandle> pieces(2);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        MUST("cuMemCreate", &pieces[i], 4 * kMiB,
             static_cast<const CUmemAllocationProp*>(&properties), 0ULL);
        MUST("cuMemMap", range + i * 4 * kMiB, 4 * kMiB, std::size_t{0}, pieces[i], 0ULL);
    }
    report(TM_EVENT_MAP, range, 8 * kMiB);
    if (lies)
        report(TM_EVENT_SEGMENT_ALLOC, 0x5000, kMiB);
    MUST("cuMemUnmap", range, 8 * kMiB);
    for (const CUmemHandle piece : pieces)
        MUST("cuMemRelease", piece);
    report(TM_EVENT_UNMAP, range, 8 * kMiB);
    report(TM_EVENT_SEGMENT_FREE, segment, 2 * kMiB);
    MUST("cuMemFree_v2", segment);
    MUST("cuMemFree_v2", library);
    own<decltype(tm_recorder_setting)>("tm_recorder_setting")(
        recorder, "device 0 bytes used at the end", "104857600", 0);
    own<decltype(tm_recorder_close)>("tm_recorder_close")(recorder);
}

// An allocator of ours on the card: what it does to the driver is recorded.
void policy(const std::string& name) {
    start();
    tm_context_options options{};
    options.struct_size = sizeof options;
    options.machine = "cuda:0";
    options.policy = name.c_str();
    tm_context* context = nullptr;
    if (own<decltype(tm_context_open)>("tm_context_open")(&options, &context) != TM_OK)
        return;  // it begins with more memory than there is
    std::vector<std::uint64_t> granted;
    for (std::uint64_t i = 0; i < 100; ++i) {
        tm_request request{};
        request.struct_size = sizeof request;
        request.bytes = (1 + i * 7 % 19) * kMiB;
        std::uint64_t address = 0;
        if (own<decltype(tm_alloc)>("tm_alloc")(context, &request, &address, nullptr) == TM_OK)
            granted.push_back(address);
        if (i % 3 != 2 || granted.empty())
            continue;
        own<decltype(tm_free)>("tm_free")(context, granted.front(), 0, 0);
        granted.erase(granted.begin());
    }
    for (const std::uint64_t address : granted)
        own<decltype(tm_free)>("tm_free")(context, address, 0, 0);
    own<decltype(tm_trim)>("tm_trim")(context, 1);
    own<decltype(tm_context_close)>("tm_context_close")(context, nullptr);
}

// Until it is killed. Says each time what is done.
void loop() {
    for (unsigned long count = 1;; ++count) {
        const CUdeviceptr address = take(kMiB);
        MUST("cuMemFree_v2", address);
        if (::write(STDOUT_FILENO, &count, sizeof count) < 0)
            std::abort();
    }
}

const std::map<std::string, std::function<void()>> kSteps{
    {"init", [] {}},
    {"plain", plain},
    {"host", host},
    {"refused", refused},
    {"pools", pools},
    {"vmm", vmm},
    {"ipc", ipc},
    {"contexts", contexts},
    {"devices", devices},
    {"reset", [] { take(kMiB), MUST("cuDevicePrimaryCtxReset_v2", CUdevice{0}); }},
    {"leak", [] { take(9 * kMiB); }},
    {"forks", forks},
    {"kernels", kernels},
    {"reload", reload},
    {"copies", copies},
    {"batches", batches},
    {"mapped", mapped},
    {"graphs", graphs},
    {"two_threads", two_threads},
    {"churn", churn},
    {"child", [] { again(false); }},
    {"exec", [] { again(true); }},
    {"late", late},
    {"loop", loop},
    {"quit", [] { ::_exit(3); }},
    {"kill", [] { ::raise(SIGKILL); }},
};

}  // namespace
}  // namespace tidemark::cuda

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string step = argv[i];
        if (step == "echo") {
            char text[64]{};
            const auto length = ::read(STDIN_FILENO, text, sizeof text);
            if (length < 0 || ::write(STDOUT_FILENO, text, static_cast<std::size_t>(length)) < 0 ||
                ::write(STDERR_FILENO, "!", 1) < 0)
                return 1;
        } else if (step.starts_with("exit=")) {
            return std::atoi(step.c_str() + 5);
        } else if (step.starts_with("signal=")) {
            ::raise(std::atoi(step.c_str() + 7));
        } else if (step.starts_with("torch=") || step.starts_with("lies=")) {
            tidemark::cuda::framework(step.substr(step.find('=') + 1), step[0] == 'l');
        } else if (step.starts_with("policy=")) {
            tidemark::cuda::policy(step.substr(step.find('=') + 1));
        } else if (step == "ranges") {
            tidemark::cuda::ranges();
        } else if (step == "pause") {
            ::pause();
        } else {
            tidemark::cuda::start();
            tidemark::cuda::kSteps.at(step)();
        }
    }
    return 0;
}
