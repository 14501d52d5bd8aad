// mapped_column: files under mappings that are longer than they are. A page beyond the end of its
// file must not be touched, so a file grows before its column does, and by allocated disk blocks: a
// full disk is an Error here and never a signal later.
#include "replay/timeline/mapped_column.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kFirstStep = std::size_t{64} << 10U;
constexpr std::size_t kLastStep = std::size_t{16} << 20U;
// This much of a file without a name stays in memory: most runs are short, and creating and filling
// a file for each of their columns would take longer than the run.
constexpr std::size_t kInMemory = std::size_t{256} << 10U;

constexpr std::size_t whole_pages(std::size_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
}

tl::unexpected<Error> failed(const char* what, const std::string& path, int code,
                             std::string hint = {}) {
    return fail(ErrorCode::io, std::string(what) + ": " + std::strerror(code),
                path.empty() ? "a file without a name" : path, std::move(hint));
}

// A file that is gone when it is closed.
int open_unnamed(std::string& folder) {
    const char* const named = std::getenv("TMPDIR");
    folder = named != nullptr && *named != '\0' ? named : "/tmp";
    const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0)
        return file;
    std::string path = folder + "/tidemark-XXXXXX";  // not every file system has O_TMPFILE
    const int named_file = ::mkostemp(path.data(), O_CLOEXEC);
    if (named_file >= 0)
        ::unlink(path.c_str());
    return named_file;
}

// Addresses without bytes behind them yet.
void* reserve(int file, std::size_t bytes) {
    const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, file, 0);
}

tl::unexpected<Error> no_addresses(const std::string& path) {
    return fail(ErrorCode::unsupported, "the process may use too little address space",
                path.empty() ? "a file without a name" : path,
                "give it more address space (ulimit -v)");
}

}  // namespace

bool has_addresses(std::size_t bytes) {
    void* const data = reserve(-1, bytes);
    if (data == MAP_FAILED)
        return false;
    TM_CHECK(::munmap(data, bytes) == 0);
    return true;
}

Result<std::unique_ptr<MappedBytes>> MappedBytes::create(const std::string& name, std::size_t most,
                                                         int folder) {
    std::unique_ptr<MappedBytes> bytes(new MappedBytes);
    bytes->path_ = name;
    if (!name.empty()) {
        bytes->file_ = ::openat(folder, name.c_str(),
                                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (bytes->file_ < 0)
            return failed("cannot be made", name, errno);
    }
    bytes->address_space_ = whole_pages(std::max(most, kPage));
    void* const data = reserve(bytes->file_, bytes->address_space_);
    if (data == MAP_FAILED)
        return errno == ENOMEM ? no_addresses(bytes->path_)
                               : failed("cannot be mapped", bytes->path_, errno);
    bytes->data_ = static_cast<std::byte*>(data);
    return bytes;
}

Result<std::unique_ptr<MappedBytes>> MappedBytes::open(int file, const std::string& path) {
    std::unique_ptr<MappedBytes> bytes(new MappedBytes);
    bytes->path_ = path;

    struct stat info {};

    if (::fstat(file, &info) != 0)
        return failed("cannot be examined", path, errno);
    bytes->capacity_ = static_cast<std::size_t>(info.st_size);
    if (bytes->capacity_ == 0)
        return bytes;
    void* const data = ::mmap(nullptr, bytes->capacity_, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED)
        return failed("cannot be mapped", path, errno);
    bytes->data_ = static_cast<std::byte*>(data);
    bytes->address_space_ = bytes->capacity_;
    return bytes;
}

MappedBytes::~MappedBytes() {
    if (data_ != nullptr)
        TM_CHECK(::munmap(data_, address_space_) == 0);
    if (file_ >= 0)
        ::close(file_);
}

// From memory to a file. Readers meanwhile find the same bytes at the same addresses: the file has
// them before it replaces the memory.
Result<void> MappedBytes::move_to_file() {
    file_ = open_unnamed(path_);
    if (file_ < 0)
        return failed("cannot be made", path_, errno);
    const auto kept = static_cast<ssize_t>(capacity_);
    const int code = ::posix_fallocate(file_, 0, std::max<off_t>(kept, 1));
    if (code == 0 && ::pwrite(file_, data_, capacity_, 0) == kept &&
        ::mmap(data_, address_space_, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file_, 0) != MAP_FAILED)
        return {};
    const int why = code != 0 ? code : errno;
    ::close(file_);
    file_ = -1;
    return failed("cannot be written", path_, why, "TMPDIR may name a place with more room");
}

Result<void> MappedBytes::grow(std::size_t bytes) {
    if (bytes <= capacity_)
        return {};
    if (file_ < 0 && bytes <= std::min(kInMemory, address_space_)) {
        capacity_ = std::min(kInMemory, address_space_);
        return {};
    }
    if (file_ < 0)
        TM_TRY(move_to_file());
    const std::size_t step = std::clamp(capacity_, kFirstStep, kLastStep);
    const std::size_t wanted =
        std::min(std::max(whole_pages(bytes), capacity_ + step), address_space_);
    if (wanted < bytes)
        return no_addresses(path_);
    // Existing bytes are not allocated again: some file systems would write them.
    const int code = ::posix_fallocate(file_, static_cast<off_t>(capacity_),
                                       static_cast<off_t>(wanted - capacity_));
    if (code != 0)
        return failed("cannot grow", path_, code, "TMPDIR may name a place with more room");
    capacity_ = wanted;
    return {};
}

Result<void> MappedBytes::finish(std::size_t bytes) {
    TM_CHECK(bytes <= capacity_);
    if (file_ >= 0 && ::ftruncate(file_, static_cast<off_t>(bytes)) != 0)
        return failed("cannot be finished", path_, errno);
    capacity_ = bytes;
    // Addresses that nothing will use are free for others.
    const std::size_t kept = whole_pages(std::max(bytes, kPage));
    if (kept < address_space_ && ::munmap(data_ + kept, address_space_ - kept) == 0)
        address_space_ = kept;
    return {};
}

void MappedBytes::begin_sync() const {
    if (file_ >= 0)
        static_cast<void>(::sync_file_range(file_, 0, 0, SYNC_FILE_RANGE_WRITE));
}

Result<void> MappedBytes::sync() const {
    // For an empty file, the folder's entry is enough.
    if (file_ >= 0 && capacity_ > 0 && ::fsync(file_) != 0)
        return failed("cannot be written", path_, errno);
    return {};
}

void MappedBytes::bring_in(std::size_t begin, std::size_t bytes) const {
#ifdef MADV_POPULATE_READ
    const std::size_t from = begin / kPage * kPage;
    if (from < capacity_)
        ::madvise(data_ + from, std::min(begin + bytes, capacity_) - from, MADV_POPULATE_READ);
#else
    static_cast<void>(begin);
    static_cast<void>(bytes);
#endif
}

}  // namespace tidemark
