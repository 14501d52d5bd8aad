// SharedAllocator with the lock that programs get.
#include "core/concurrent/shared_allocator.inc"

namespace tidemark {

std::string_view to_text(BadAddress why) {
    switch (why) {
        case BadAddress::unknown:
            return "not from this allocator";
        case BadAddress::freed_already:
            return "freed already";
        case BadAddress::inside:
            return "inside an allocation, not at its start";
        case BadAddress::other_size:
            return "requested with another size";
        case BadAddress::closed:
            return "the allocator is closed";
    }
    return "";
}

template class BasicSharedAllocator<SpinningLock>;

}  // namespace tidemark
