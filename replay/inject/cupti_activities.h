// CuptiActivities: the part of CUPTI that reports afterwards when a GPU ran what was launched, in
// buffers that it requests and returns full. Records are declared here only as far as they are
// read: their first fields are the same in all versions of CUDA 11 to 13.
//
// Immutable once started; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "replay/inject/cupti.h"

namespace tidemark::inject {

// CUpti_ActivityKind
enum class ActivityKind : int { copy = 1, fill = 2, kernel = 10, peer_copy = 22 };

constexpr std::uint32_t kFlushForced = 1;  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

struct Activity {
    ActivityKind kind = ActivityKind::kernel;
};

// CUpti_ActivityKernel and what follows it, from version 4 on.
struct KernelActivity {
    ActivityKind kind = ActivityKind::kernel;
    std::uint32_t unread[3] = {};
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t unread_too[15] = {};
    std::uint32_t correlation = 0;
    std::int64_t grid = 0;
    const char* name = nullptr;
};

// CUpti_ActivityMemcpy and CUpti_ActivityMemset.
struct CopyActivity {
    ActivityKind kind = ActivityKind::copy;
    std::uint32_t unread = 0;
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
    std::uint32_t correlation = 0;
};

// CUpti_ActivityMemcpyPtoP.
struct PeerCopyActivity {
    ActivityKind kind = ActivityKind::peer_copy;
    std::uint32_t unread = 0;
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t unread_too[7] = {};
    std::uint32_t correlation = 0;
};

static_assert(offsetof(KernelActivity, begin) == 16 && offsetof(KernelActivity, name) == 104);
static_assert(offsetof(KernelActivity, correlation) == 92);
static_assert(offsetof(CopyActivity, correlation) == 44);
static_assert(offsetof(PeerCopyActivity, correlation) == 60);

// What is read of any of them.
struct TimedActivity {
    std::uint32_t correlation = 0;  // of the call that launched it (CUpti_CallbackData)
    std::uint64_t begin = 0;        // ns of CUPTI's clock; 0: not known
    std::uint64_t end = 0;
    const char* kernel = nullptr;  // its name, of a kernel; valid as long as its buffer
};

class CuptiActivities {
  public:
    using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* most);
    using BufferCompleted = void (*)(cuda::CUcontext context, std::uint32_t stream,
                                     std::uint8_t* buffer, std::size_t size, std::size_t filled);

    // From now on CUPTI reports what runs. Errors: unsupported: this CUPTI lacks the functions;
    // driver: CUPTI fails; then it reports nothing.
    static Result<CuptiActivities> start(const Cupti& cupti, BufferRequested requested,
                                         BufferCompleted completed);

    // The next record of a buffer; nothing at its end. `record`: the last one, null before the
    // first; its kind need not be one that is known.
    bool next(std::uint8_t* buffer, std::size_t filled, Activity*& record) const;

    // How many records CUPTI had no room for since the last call.
    std::size_t dropped(cuda::CUcontext context, std::uint32_t stream) const;

    // Makes CUPTI return all buffers now. Not within a callback of CUPTI.
    void flush() const;

    // CUPTI's clock, ns; 0: it doesn't say.
    std::uint64_t now() const;

  private:
    void disable() const;

    int (*register_)(BufferRequested, BufferCompleted) = nullptr;
    int (*enable_)(ActivityKind) = nullptr;
    int (*disable_)(ActivityKind) = nullptr;
    int (*next_)(std::uint8_t*, std::size_t, Activity**) = nullptr;
    int (*dropped_)(cuda::CUcontext, std::uint32_t, std::size_t*) = nullptr;
    int (*flush_)(std::uint32_t) = nullptr;
    int (*period_)(std::uint32_t) = nullptr;
    int (*now_)(std::uint64_t*) = nullptr;
};

// Of a kind that is known.
std::optional<TimedActivity> timed(const Activity& activity);

}  // namespace tidemark::inject
