#include "backends/imagined/reads.h"

#include <cstring>
#include <string_view>

#include "backends/imagined/journal.h"
#include "backends/imagined/kernels.h"
#include "backends/imagined/machine.h"

namespace tidemark::imagined {
namespace {

// Zero, but for two: `all()`, which leaves one byte, is true, since programs ask it whether
// all is well; and a count of what is not zero is the share that the settings name.
void guess(void* to, std::size_t size) {
    std::memset(to, 0, size);
    const Kernel* const last = last_kernel();
    if (last == nullptr)
        return;
    if (size == 1 && last->reduces_with_and)
        *static_cast<std::uint8_t*>(to) = 1;
    if (size == sizeof(std::int32_t) && last->counts_nonzero) {
        const auto found = static_cast<std::int32_t>(settings().nonzero * counted_items());
        std::memcpy(to, &found, sizeof found);
    }
}

}  // namespace

void answer_read(void* to, std::uint64_t from, std::size_t size) {
    bool known = false;
    {
        Lock machine;
        known = machine->contents.read(from, {static_cast<std::byte*>(to), size});
    }
    if (!known)
        guess(to, size);
    const Kernel* const last = last_kernel();
    ask_witness("read", last == nullptr ? "" : last->name, to, size, known);
}

}  // namespace tidemark::imagined
