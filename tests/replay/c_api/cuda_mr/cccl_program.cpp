// MemoryResource is a resource of the CCCL that this is compiled with, and without one of its
// functions it would not be; through CCCL's own types it serves memory of a simulated device.
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#include <cstdio>
#include <type_traits>

#include <tidemark/memory_resource.h>
#if CCCL_VERSION >= 3005000
#include <cuda/buffer>
#endif

#ifndef __CUDACC__
// CCCL's messages name it; nothing of CUDA's runtime is there, or runs.
extern "C" const char* cudaGetErrorString(cudaError_t) {
    return "";
}
#endif

namespace {

using tidemark::MemoryResource;
namespace mr = cuda::mr;

// The concepts of this version's names: of all that holds a synchronous resource, of all that holds
// one ordered by streams.
#if CCCL_VERSION >= 3001000
template <class Resource>
constexpr bool kServesAll = mr::synchronous_resource_with<Resource, mr::device_accessible>;
template <class Resource>
constexpr bool kServesStreams = mr::resource_with<Resource, mr::device_accessible>;
#else
template <class Resource>
constexpr bool kServesAll = mr::resource_with<Resource, mr::device_accessible>;
template <class Resource>
constexpr bool kServesStreams = mr::async_resource_with<Resource, mr::device_accessible>;
#endif

static_assert(kServesAll<MemoryResource> && kServesStreams<MemoryResource>);
static_assert(!cuda::has_property<MemoryResource, mr::host_accessible>);

// Each takes one thing away.
struct NoAllocateSync : MemoryResource {
    void* allocate_sync(std::size_t, std::size_t) = delete;
    void* allocate(std::size_t, std::size_t) = delete;
};

struct NoDeallocateSync : MemoryResource {
    void deallocate_sync(void*, std::size_t, std::size_t) = delete;
    void deallocate(void*, std::size_t, std::size_t) = delete;
};

struct NoAllocate : MemoryResource {
    void* allocate(std::size_t, std::size_t);
    void* allocate(cuda::stream_ref, std::size_t, std::size_t) = delete;
    void* allocate_async(std::size_t, std::size_t, cuda::stream_ref) = delete;
};

struct NoDeallocate : MemoryResource {
    void deallocate(void*, std::size_t, std::size_t);
    void deallocate(cuda::stream_ref, void*, std::size_t, std::size_t) = delete;
    void deallocate_async(void*, std::size_t, std::size_t, cuda::stream_ref) = delete;
};

struct NotDeviceAccessible : MemoryResource {
    friend void get_property(const NotDeviceAccessible&, mr::device_accessible) = delete;
};

static_assert(!kServesAll<NoAllocateSync> && !kServesAll<NoDeallocateSync>);
static_assert(kServesAll<NoAllocate> && !kServesStreams<NoAllocate>);
static_assert(kServesAll<NoDeallocate> && !kServesStreams<NoDeallocate>);
static_assert(!kServesAll<NotDeviceAccessible>);

static_assert(std::is_copy_constructible_v<MemoryResource>);
static_assert(std::is_nothrow_move_constructible_v<MemoryResource>);
static_assert(noexcept(std::declval<MemoryResource&>().deallocate(std::declval<cuda::stream_ref>(),
                                                                  nullptr, std::size_t{},
                                                                  std::size_t{})));
static_assert(noexcept(std::declval<MemoryResource&>().deallocate_sync(nullptr, std::size_t{},
                                                                       std::size_t{})));

#if CCCL_VERSION >= 3001000
using Reference = mr::resource_ref<mr::device_accessible>;

void* allocate(Reference& from, cuda::stream_ref stream) {
    return from.allocate(stream, 1000, 256);
}

void deallocate(Reference& to, cuda::stream_ref stream, void* address) {
    to.deallocate(stream, address, 1000, 256);
}
#else
using Reference = mr::async_resource_ref<mr::device_accessible>;

void* allocate(Reference& from, cuda::stream_ref stream) {
    return from.allocate_async(1000, 256, stream);
}

void deallocate(Reference& to, cuda::stream_ref stream, void* address) {
    to.deallocate_async(address, 1000, 256, stream);
}
#endif

tm_statistics statistics_of(const MemoryResource& resource) {
    TM_INIT(tm_statistics, statistics);
    tm_statistics_of(resource.context(), &statistics);
    return statistics;
}

// The stream that its memory was requested on, as the context has it.
bool granted_on(const MemoryResource& resource, void* address, tm_stream stream) {
    TM_INIT(tm_block, block);
    return tm_base_of(resource.context(), reinterpret_cast<std::uintptr_t>(address), &block) ==
               TM_OK &&
           block.requested == 1000 && block.stream == stream;
}

bool serves(MemoryResource resource) {
    Reference reference{resource};
    const cuda::stream_ref stream{reinterpret_cast<cudaStream_t>(std::uintptr_t{5})};
    void* const first = allocate(reference, stream);
    const bool granted = granted_on(resource, first, 5) && statistics_of(resource).live == 1;
    deallocate(reference, stream, first);
    return granted && statistics_of(resource).live == 0;
}

#if CCCL_VERSION >= 3002000
// What owns a resource shares its context.
bool is_kept(MemoryResource resource) {
    mr::any_resource<mr::device_accessible> any{resource};
    const mr::any_resource<mr::device_accessible> copy = any;
    void* const address = any.allocate_sync(1000, 256);
    const bool granted = granted_on(resource, address, TM_STREAM_UNKNOWN);
    any.deallocate_sync(address, 1000, 256);
    return granted && statistics_of(resource).live == 0 && copy == any;
}
#else
bool is_kept(const MemoryResource&) {
    return true;  // this version owns none
}
#endif

#if CCCL_VERSION >= 3005000  // before, buffers want nvcc
using Buffer = decltype(cuda::make_buffer<char>(std::declval<cuda::stream_ref>(),
                                                std::declval<MemoryResource>(), 10, cuda::no_init));
static_assert(std::is_same_v<Buffer::value_type, char>);
#endif

}  // namespace

int main() {
    const MemoryResource resource("sim", "torch");
    const bool works = serves(resource) && is_kept(resource);
    std::printf("CCCL %d: %s\n", CCCL_VERSION, works ? "ok" : "FAILED");
    return works ? 0 : 1;
}
