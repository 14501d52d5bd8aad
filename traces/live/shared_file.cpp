// A sparse file in memory, mapped by its program.
#include "traces/live/shared_file.h"

#include <atomic>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tidemark::live {
namespace {

tl::unexpected<Error> not_shared(std::string_view what, const std::string& path, int code) {
    return io_error(what, path, code, "set the folder of running programs in TIDEMARK_RUNTIME_DIR");
}

}  // namespace

Result<std::unique_ptr<SharedFile>> SharedFile::create(const OwnFolder& folder,
                                                       const Header& header) {
    const std::string name = text_of(header.shared_file);
    const std::string path = folder.path() + "/" + name;
    std::unique_ptr<SharedFile> shared(new SharedFile(path, header));
    TM_ASSIGN(shared->file_, folder.open_file(name, O_RDWR | O_CREAT));
    shared->size_ = ring_offset(header, header.rings);
    // Exceeding the limit would raise a signal that ends the program.
    rlimit most{};
    if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < shared->size_) {
        ::unlink(path.c_str());
        return not_shared("there is no room for it", path, EFBIG);
    }
    const auto first = static_cast<off_t>(sizeof(Header) + sizeof(Counters));
    const int file = shared->file_.get();
    const bool long_enough = ::ftruncate(file, static_cast<off_t>(shared->size_)) == 0;
    if (const int code = long_enough ? ::posix_fallocate(file, 0, first) : errno; code != 0) {
        ::unlink(path.c_str());
        return not_shared("there is no room for it", path, code);
    }
    void* data =
        ::mmap(nullptr, shared->size_, PROT_READ | PROT_WRITE, MAP_SHARED, shared->file_.get(), 0);
    if (data == MAP_FAILED) {
        const int code = errno;
        ::unlink(path.c_str());
        return not_shared("cannot be mapped", path, code);
    }
    shared->data_ = static_cast<std::byte*>(data);
    new (shared->data_ + sizeof(Header)) Counters;
    // The header is written last: before that, nobody takes this for a program.
    std::memcpy(shared->data_, &header, sizeof header);
    return shared;
}

SharedFile::~SharedFile() {
    if (data_ != nullptr)
        ::munmap(data_, size_);
}

Counters& SharedFile::counters() const {
    return *std::launder(reinterpret_cast<Counters*>(data_ + sizeof(Header)));
}

RingControl& SharedFile::control(std::uint32_t ring) const {
    return *std::launder(reinterpret_cast<RingControl*>(data_ + ring_offset(header_, ring)));
}

Record* SharedFile::slots(std::uint32_t ring) const {
    return std::launder(
        reinterpret_cast<Record*>(data_ + ring_offset(header_, ring) + sizeof(RingControl)));
}

bool SharedFile::prepare(std::uint32_t ring) const {
    const std::uint64_t begin = ring_offset(header_, ring);
    const std::uint64_t size = ring_offset(header_, ring + 1) - begin;
    // Reserved first: touching memory that the system doesn't have would kill the program.
    if (::posix_fallocate(file_.get(), static_cast<off_t>(begin), static_cast<off_t>(size)) != 0)
        return false;
    // Atomic: readers that follow the rings up to the highest in use may look at this one's head
    // already.
    for (std::uint64_t at = 0; at < size; at += 4096) {
        auto& word = *std::launder(reinterpret_cast<std::uint64_t*>(data_ + begin + at));
        __atomic_fetch_or(&word, 0, __ATOMIC_RELAXED);
    }
    return true;
}

Result<void> SharedFile::remove() {
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT)
        return not_shared("cannot be removed", path_, errno);
    return {};
}

}  // namespace tidemark::live
