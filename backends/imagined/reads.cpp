// Answers to reads of the device; the allocator's events, which show what is stale.
#include "backends/imagined/reads.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "backends/imagined/api.h"
#include "backends/imagined/journal.h"
#include "backends/imagined/kernels.h"
#include "backends/imagined/machine.h"

namespace tidemark::imagined {
namespace {

// Is a byte that `last` wrote the answer to whether something holds for all? Programs check that
// with all(), or by comparing a sum with the number of elements.
bool says_all(const Kernel* last) {
    const Kernel* const before = kernel_before_last();
    return last->reduces_with_and || (last->compares_equal && before != nullptr && before->sums);
}

bool is_count(std::size_t size) {
    return last_count() && (size == sizeof(std::int32_t) || size == sizeof(std::int64_t));
}

// Zero, with two exceptions: what should hold for all does, since programs check whether all is
// well; and counts are the share that the settings name.
void guess(void* to, std::size_t size) {
    std::memset(to, 0, size);
    const Kernel* const last = last_kernel();
    if (last == nullptr)
        return;
    if (size == 1 && says_all(last))
        *static_cast<std::uint8_t*>(to) = 1;
    if (is_count(size)) {
        const Counted count = *last_count();
        const double share = count.distinct ? settings().distinct : settings().nonzero;
        const auto found = static_cast<std::int64_t>(share * static_cast<double>(count.items));
        const std::int64_t least = count.distinct && count.items > 0 ? 1 : 0;
        const std::int64_t answer = std::max(found, least);
        std::memcpy(to, &answer, size);
    }
}

}  // namespace

void answer_read(void* to, std::uint64_t from, std::size_t size) {
    const Kernel* const last = last_kernel();
    bool known = false;
    {
        Lock machine;
        known = machine->contents.read(from, {static_cast<std::byte*>(to), size});
    }
    if (!known)
        guess(to, size);
    const char* const kind = !is_count(size)          ? "read"
                             : last_count()->distinct ? "unique"
                                                      : "nonzero";
    ask_witness(kind, last == nullptr ? "" : last->name, to, size, known);
}

}  // namespace tidemark::imagined

using namespace tidemark::imagined;

namespace {

// tm_event of tidemark.h, as the tracker of PyTorch's allocator hands it to the recorder.
struct RecordedEvent {
    std::size_t struct_size;
    std::uint64_t stream, address, size, extra;
    std::uint32_t pool, tag, stack;
    std::uint16_t device, kind;
};

constexpr std::uint16_t kAllocate = 1;  // TM_EVENT_ALLOCATE

int (*pass_on)(void*, const RecordedEvent*) = nullptr;

}  // namespace

// Where the allocator's events go after this library has seen them.
IMAGINED(void, follow)(int (*next)(void*, const RecordedEvent*)) {
    pass_on = next;
}

// A block that is handed out again contains whatever its last owner's kernels left there.
IMAGINED(int, event)(void* recorder, const RecordedEvent* event) {
    if (event->kind == kAllocate) {
        Lock machine;
        machine->contents.hand_out(event->address, event->extra);
    }
    return pass_on(recorder, event);
}
