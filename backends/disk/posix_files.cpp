// Opening, locking and removing files.
#include "backends/disk/posix_files.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backends/disk/posix_queue.h"
#include "backends/disk/system_call.h"
#include "core/base/result.h"

namespace tidemark {
namespace {

constexpr mode_t kOwnerOnly = 0600;  // what was in memory is nobody else's

int descriptor(FileId file) {
    return static_cast<int>(file);
}

// Of direct transfers into this file; 0 if there are none that suit us.
Bytes direct_alignment(int file) {
#ifdef STATX_DIOALIGN
    struct statx facts {};

    if (statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 &&
        (facts.stx_mask & STATX_DIOALIGN) != 0) {
        const Bytes memory = facts.stx_dio_mem_align;
        const Bytes offset = facts.stx_dio_offset_align;
        const bool suits = memory != 0 && offset != 0 && memory <= kFileBlock &&
                           kFileBlock % offset == 0 && kFileBlock % memory == 0;
        return suits ? std::max(memory, offset) : 0;
    }
#endif
    return kFileBlock;  // an older kernel does not say: every file system takes this
}

// Turns to direct transfers if it can, and to blocking calls. Gives the alignment of memory.
//
// Asked for at open(), O_DIRECT may fail after the file has been created; so it is set here.
Bytes set_up(int file, PageCache cache) {
    const int flags = fcntl(file, F_GETFL) & ~O_NONBLOCK;
    const Bytes alignment = cache == PageCache::avoid ? direct_alignment(file) : 0;
    if (alignment != 0 && fcntl(file, F_SETFL, flags | O_DIRECT) == 0)
        return alignment;
    (void)fcntl(file, F_SETFL, flags);
    return 1;
}

// How much of the file is in the page cache: advice to drop them is free to be ignored.
FileResult<Bytes> cached_bytes(int file, Bytes size) {
    if (size == 0)
        return 0;
    void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return tl::make_unexpected(FileError{errno});
    const auto page = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((size + page - 1) / page);
    const auto counted = system_call([&] { return mincore(memory, size, pages.data()); });
    (void)munmap(memory, size);
    if (!counted)
        return tl::make_unexpected(counted.error());
    const auto present = std::count_if(pages.begin(), pages.end(),
                                       [](unsigned char bits) { return (bits & 1U) != 0; });
    return static_cast<Bytes>(present) * page;
}

struct CloseDirectory {
    void operator()(DIR* directory) const { (void)closedir(directory); }
};

}  // namespace

std::uint64_t PosixFiles::nonce() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) == sizeof number)
        return number;

    return static_cast<std::uint64_t>(getpid()) << 32U;  // no kernel of today comes here
}

FileResult<FileId> PosixFiles::lock(const std::string& path) {
    const auto file = system_call([&] {
        return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly);
    });
    if (!file)
        return tl::make_unexpected(file.error());
    if (const auto locked = system_call([&] { return flock(*file, LOCK_EX | LOCK_NB); }); !locked) {
        (void)::close(*file);
        return tl::make_unexpected(locked.error());
    }
    return static_cast<FileId>(*file);
}

FileResult<OpenFile> PosixFiles::open(const std::string& path, FileAccess access) {
    // Not to hang on a pipe of that name.
    const int common = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int flags = access == FileAccess::create ? O_RDWR | O_CREAT | O_EXCL : O_RDONLY;
    const auto file = system_call([&] { return ::open(path.c_str(), common | flags, kOwnerOnly); });
    if (!file)
        return tl::make_unexpected(file.error());

    struct stat facts {};

    if (fstat(*file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        (void)::close(*file);
        return tl::make_unexpected(FileError{EINVAL});
    }
    return OpenFile{static_cast<FileId>(*file), set_up(*file, cache_)};
}

FileResult<void> PosixFiles::close(FileId file) {
    // Never again after EINTR: Linux has closed it, and the number may be another's by now.
    if (::close(descriptor(file)) == 0 || errno == EINTR)
        return {};
    return tl::make_unexpected(FileError{errno});
}

FileResult<Bytes> PosixFiles::size(FileId file) {
    struct stat facts {};

    TM_TRY(system_call([&] { return fstat(descriptor(file), &facts); }));
    return static_cast<Bytes>(facts.st_size);
}

FileResult<void> PosixFiles::allocate(FileId file, Bytes size) {
    const auto length = static_cast<off_t>(size);
    const auto given = system_call([&] { return fallocate(descriptor(file), 0, 0, length); });
    if (given)
        return {};
    if (given.error().number != EOPNOTSUPP)
        return tl::make_unexpected(given.error());
    TM_TRY(system_call([&] { return ftruncate(descriptor(file), length); }));
    return {};
}

FileResult<void> PosixFiles::sync(FileId file) {
    TM_TRY(system_call([&] { return fdatasync(descriptor(file)); }));
    return {};
}

FileResult<void> PosixFiles::sync_directory(const std::string& path) {
    const auto file =
        system_call([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (!file)
        return tl::make_unexpected(file.error());
    const auto synced = system_call([&] { return fsync(*file); });
    (void)::close(*file);
    if (!synced)
        return tl::make_unexpected(synced.error());
    return {};
}

FileResult<void> PosixFiles::forget(FileId file) {
    const int number = posix_fadvise(descriptor(file), 0, 0, POSIX_FADV_DONTNEED);
    if (number != 0)
        return tl::make_unexpected(FileError{number});
    TM_ASSIGN(const Bytes bytes, size(file));
    TM_ASSIGN(const Bytes cached, cached_bytes(descriptor(file), bytes));
    // A few may be on their way in or out.
    if (cached * 100 > bytes)
        return tl::make_unexpected(FileError{EBUSY});
    return {};
}

FileResult<void> PosixFiles::remove(const std::string& path) {
    TM_TRY(system_call([&] { return unlink(path.c_str()); }));
    return {};
}

FileResult<std::vector<std::string>> PosixFiles::list(const std::string& path) {
    const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
    if (!directory)
        return tl::make_unexpected(FileError{errno});
    std::vector<std::string> names;
    while (true) {
        errno = 0;
        const dirent* entry = readdir(directory.get());
        if (entry == nullptr && errno != 0)
            return tl::make_unexpected(FileError{errno});
        if (entry == nullptr)
            return names;
        std::string name = entry->d_name;
        if (name != "." && name != "..")
            names.push_back(std::move(name));
    }
}

FileResult<Bytes> PosixFiles::free_space(const std::string& directory) {
    struct statvfs facts {};

    TM_TRY(system_call([&] { return statvfs(directory.c_str(), &facts); }));
    return Bytes{facts.f_bavail} * facts.f_frsize;
}

std::unique_ptr<BlockQueue> PosixFiles::make_queue(unsigned depth) {
    return std::make_unique<PosixQueue>(depth);
}

}  // namespace tidemark
