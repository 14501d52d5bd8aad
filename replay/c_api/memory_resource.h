// A context as a memory resource in C++: for CCCL (cuda::mr, 3.0 and newer) and RMM (26.06 and
// newer), and so for everything that allocates through them.
//
//     tidemark::MemoryResource resource("cuda:0", "extent");
//     void* memory = resource.allocate(stream, 1 << 20);
//     resource.deallocate(stream, memory, 1 << 20);
//
// CCCL names the same functions differently from version to version; this class has all of the
// names. A copy is the same resource: the context is closed with the last one.
//
// C++17, and libtidemark.so. Where CCCL and CUDA's headers are found, <cuda/memory_resource> is
// included and the property device_accessible declared; else nothing of CUDA is needed. CCCL 3.0
// has its interface only with LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE, defined before its
// first header.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#if __has_include(<cuda/memory_resource>) && __has_include(<cuda_runtime_api.h>)
#include <cuda/memory_resource>
#if CCCL_VERSION >= 3001000 || defined(LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE)
#define TIDEMARK_CUDA_MR
#endif
#endif

#include "replay/c_api/tidemark.h"

struct CUstream_st;  // of CUDA: a cudaStream_t is a pointer to it

namespace tidemark {

// The allocation failed; what() says why. This class itself is thrown if the device failed, or if
// no memory can have such an alignment.
class AllocationError : public std::bad_alloc {
  public:
    explicit AllocationError(const std::string& what) : text_(what) {}

    const char* what() const noexcept override { return text_.what(); }

  private:
    std::runtime_error text_;  // copied without an exception, as a string is not
};

// The policy or the device has no room, or a limit.
class OutOfMemoryError : public AllocationError {
  public:
    using AllocationError::AllocationError;
};

// What a resource accepts as a stream: a cudaStream_t, or an object whose get() returns one, such
// as cuda::stream_ref.
class StreamArgument {
  public:
    StreamArgument(CUstream_st* stream) noexcept : stream_(stream) {}

    template <class Stream,
              class = decltype(static_cast<CUstream_st*>(std::declval<const Stream&>().get()))>
    StreamArgument(const Stream& stream) noexcept : stream_(stream.get()) {}

    tm_stream number() const noexcept { return reinterpret_cast<std::uintptr_t>(stream_); }

  private:
    CUstream_st* stream_;
};

// `Exhausted` is thrown when a request runs out of memory: use rmm::out_of_memory if RMM's adaptors
// must recognize it. Thread-safe, except for assignment.
template <class Exhausted = OutOfMemoryError>
class BasicMemoryResource {
  public:
    static constexpr std::size_t kDefaultAlignment = 256;  // of cudaMalloc

    // Opens a context; null means the defaults of tm_context_options. Throws std::runtime_error.
    explicit BasicMemoryResource(const char* machine = nullptr, const char* policy = nullptr)
        : BasicMemoryResource(options_of(machine, policy)) {}

    explicit BasicMemoryResource(const tm_context_options& options) {
        tm_context* opened = nullptr;
        if (tm_context_open(&options, &opened) != TM_OK)
            throw std::runtime_error(last_error());
        context_.reset(opened, [](tm_context* context) { tm_context_close(context, nullptr); });
    }

    // Uses an open context, which it does not own alone: the shared pointer decides when it is
    // closed.
    explicit BasicMemoryResource(std::shared_ptr<tm_context> context) noexcept
        : context_(std::move(context)) {}

    // For tm_statistics_of, tm_trim, tm_set_limit; valid as long as a copy of the resource exists.
    tm_context* context() const noexcept { return context_.get(); }

    // Memory for work on `stream`; null for 0 bytes. Throws Exhausted and AllocationError.
    void* allocate(StreamArgument stream, std::size_t bytes,
                   std::size_t alignment = kDefaultAlignment) {
        return allocate_on(stream.number(), bytes, alignment);
    }

    // Frees memory, which is reused after the work that is queued on `stream`. An address that was
    // not allocated, or a wrong size, is ignored, and fails an assertion in a program with
    // assertions.
    void deallocate(StreamArgument stream, void* address, std::size_t bytes,
                    std::size_t = kDefaultAlignment) noexcept {
        deallocate_on(stream.number(), address, bytes);
    }

    // Memory for any stream at once: the call has waited for whatever used that memory before.
    void* allocate_sync(std::size_t bytes, std::size_t alignment = kDefaultAlignment) {
        return allocate_on(TM_STREAM_UNKNOWN, bytes, alignment);
    }

    // Frees memory, which is reused after all work that the device has by then.
    void deallocate_sync(void* address, std::size_t bytes,
                         std::size_t = kDefaultAlignment) noexcept {
        deallocate_on(TM_STREAM_UNKNOWN, address, bytes);
    }

    // The same by the names of CCCL 3.0.
    void* allocate(std::size_t bytes, std::size_t alignment = kDefaultAlignment) {
        return allocate_sync(bytes, alignment);
    }

    void deallocate(void* address, std::size_t bytes,
                    std::size_t alignment = kDefaultAlignment) noexcept {
        deallocate_sync(address, bytes, alignment);
    }

    void* allocate_async(std::size_t bytes, std::size_t alignment, StreamArgument stream) {
        return allocate(stream, bytes, alignment);
    }

    void* allocate_async(std::size_t bytes, StreamArgument stream) {
        return allocate(stream, bytes);
    }

    void deallocate_async(void* address, std::size_t bytes, std::size_t alignment,
                          StreamArgument stream) noexcept {
        deallocate(stream, address, bytes, alignment);
    }

    void deallocate_async(void* address, std::size_t bytes, StreamArgument stream) noexcept {
        deallocate(stream, address, bytes);
    }

    // Whether each can free what the other allocated.
    friend bool operator==(const BasicMemoryResource& a, const BasicMemoryResource& b) noexcept {
        return a.context_ == b.context_;
    }

    friend bool operator!=(const BasicMemoryResource& a, const BasicMemoryResource& b) noexcept {
        return !(a == b);
    }

#ifdef TIDEMARK_CUDA_MR
    friend constexpr void get_property(const BasicMemoryResource&,
                                       cuda::mr::device_accessible) noexcept {}
#if CCCL_VERSION >= 3002000
    using default_queries = cuda::mr::properties_list<cuda::mr::device_accessible>;
#endif
#endif

  private:
    static tm_context_options options_of(const char* machine, const char* policy) noexcept {
        TM_INIT(tm_context_options, options);
        options.machine = machine;
        options.policy = policy;
        return options;
    }

    static std::string last_error() {
        TM_INIT(tm_error, error);
        tm_last_error(&error);
        return std::string(error.where) + ": " + error.what;
    }

    void* allocate_on(tm_stream stream, std::size_t bytes, std::size_t alignment) {
        TM_INIT(tm_request, request);
        request.bytes = bytes;
        request.alignment = alignment;
        request.stream = stream;
        std::uint64_t address = 0;
        const tm_status status = tm_alloc(context_.get(), &request, &address, nullptr);
        if (status == TM_OUT_OF_MEMORY)
            throw Exhausted(last_error());
        if (status != TM_OK)
            throw AllocationError(last_error());
        return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    }

    void deallocate_on(tm_stream stream, void* address, std::size_t bytes) noexcept {
        const tm_status status =
            tm_free(context_.get(), reinterpret_cast<std::uintptr_t>(address), bytes, stream);
        assert(status != TM_BAD_ADDRESS);
        static_cast<void>(status);
    }

    std::shared_ptr<tm_context> context_;
};

using MemoryResource = BasicMemoryResource<>;

}  // namespace tidemark
