// Files without names and their space, and the threads behind pread and pwrite.
#include "backends/disk/posix_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/check.h"
#include "core/base/result.h"
#include "core/base/threads.h"
#include "core/base/work_queue.h"

namespace tidemark {
namespace {

// A system call's result as a value: retried when a signal interrupts it, errno when it fails.
// `call` returns -1 and errno, or a number that is not negative.
template <class Call>
FileResult<decltype(std::declval<Call>()())> system_call(Call&& call) {
    while (true) {
        const auto result = call();
        if (result >= 0)
            return result;
        if (errno != EINTR)
            return tl::make_unexpected(FileError{errno});
    }
}

int descriptor(FileId file) {
    return static_cast<int>(file);
}

// The alignment of direct transfers into this file; 0 if there are none that suit us.
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
    return kFileBlock;  // older kernels do not report it: every file system accepts this
}

// Switches to direct transfers if possible, and to blocking calls. Returns the alignment of memory.
//
// If open() requested O_DIRECT, it might fail after the file has been created; so it is set here.
Bytes set_up(int file, PageCache cache) {
    const int flags = fcntl(file, F_GETFL) & ~O_NONBLOCK;
    const Bytes alignment = cache == PageCache::avoid ? direct_alignment(file) : 0;
    if (alignment != 0 && fcntl(file, F_SETFL, flags | O_DIRECT) == 0)
        return alignment;
    (void)fcntl(file, F_SETFL, flags);
    return 1;
}

// How much of the file is in the page cache: the kernel may ignore the advice to drop it.
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

constexpr unsigned kMostThreads = 32;

BlockCompletion transfer_now(const BlockTransfer& transfer) {
    std::array<iovec, kMaxPieces> pieces;
    TM_CHECK(transfer.pieces.size() <= pieces.size());
    for (std::size_t i = 0; i < transfer.pieces.size(); ++i)
        pieces[i] = {transfer.pieces[i].data, transfer.pieces[i].size};
    const int file = static_cast<int>(transfer.file);
    const int count = static_cast<int>(transfer.pieces.size());
    const auto offset = static_cast<off_t>(transfer.offset);
    const ssize_t moved = transfer.kind == BlockTransfer::Kind::read
                              ? preadv(file, pieces.data(), count, offset)
                              : pwritev(file, pieces.data(), count, offset);
    if (moved < 0)
        return {transfer.tag, 0, errno};
    return {transfer.tag, static_cast<Bytes>(moved), 0};
}

// Transfers by preadv and pwritev, on as many threads as there are to be transfers in flight, or as
// many as the system grants; on the caller's thread if that is none.
class PosixQueue : public BlockQueue {
  public:
    explicit PosixQueue(unsigned depth);
    ~PosixQueue() override;

    unsigned depth() const override { return depth_; }

    void submit(std::span<const BlockTransfer> transfers) override;
    std::size_t wait(std::span<BlockCompletion> done) override;

  private:
    const unsigned depth_;
    unsigned in_flight_ = 0;
    WorkQueue<BlockTransfer> waiting_;
    WorkQueue<BlockCompletion> done_;
    std::vector<Thread> threads_;  // last: they use the queues until they are joined (defect 17)
};

PosixQueue::PosixQueue(unsigned depth) : depth_(depth) {
    TM_CHECK(depth > 0);
    // So that nothing throws while transfers are in flight.
    waiting_.reserve(depth);
    done_.reserve(depth);
    threads_ = start_threads("tm-disk-io", std::min(depth, kMostThreads), [this] {
        while (const std::optional<BlockTransfer> transfer = waiting_.pop())
            done_.push(transfer_now(*transfer));
    });
}

PosixQueue::~PosixQueue() {
    TM_CHECK(in_flight_ == 0);
    waiting_.close();
}

void PosixQueue::submit(std::span<const BlockTransfer> transfers) {
    in_flight_ += static_cast<unsigned>(transfers.size());
    TM_CHECK(in_flight_ <= depth_);
    for (const BlockTransfer& transfer : transfers) {
        if (threads_.empty())
            done_.push(transfer_now(transfer));
        else
            waiting_.push(transfer);
    }
}

std::size_t PosixQueue::wait(std::span<BlockCompletion> done) {
    TM_CHECK(in_flight_ > 0 && !done.empty());
    std::optional<BlockCompletion> next = done_.pop();
    std::size_t count = 0;
    while (next) {
        done[count++] = *next;
        next = count < done.size() ? done_.try_pop() : std::nullopt;
    }
    in_flight_ -= static_cast<unsigned>(count);
    return count;
}

}  // namespace

FileResult<OpenFile> PosixFiles::create_scratch(const std::string& directory) {
    // Not readable for others: it contains what was in memory. Not O_TMPFILE, which some file
    // systems lack.
    std::string path = directory + "/.tidemark-XXXXXX";
    TM_ASSIGN(const int file, system_call([&] { return mkostemp(path.data(), O_CLOEXEC); }));
    if (unlink(path.c_str()) != 0) {
        const int error = errno;
        (void)::close(file);
        return tl::make_unexpected(FileError{error});
    }
    return OpenFile{static_cast<FileId>(file), set_up(file, cache_)};
}

FileResult<void> PosixFiles::close(FileId file) {
    // Never again after EINTR: Linux has closed it, and the number may be in use again by now.
    if (::close(descriptor(file)) == 0 || errno == EINTR)
        return {};
    return tl::make_unexpected(FileError{errno});
}

FileResult<void> PosixFiles::allocate(FileId file, Bytes offset, Bytes size) {
    const auto given = system_call([&] {
        return fallocate(descriptor(file), 0, static_cast<off_t>(offset), static_cast<off_t>(size));
    });
    if (!given && given.error().number != EOPNOTSUPP)  // then it grows as it is written
        return tl::make_unexpected(given.error());
    return {};
}

FileResult<void> PosixFiles::release(FileId file, Bytes offset, Bytes size) {
    TM_TRY(system_call([&] {
        return fallocate(descriptor(file), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(offset), static_cast<off_t>(size));
    }));
    return {};
}

FileResult<void> PosixFiles::sync(FileId file) {
    TM_TRY(system_call([&] { return fdatasync(descriptor(file)); }));
    return {};
}

FileResult<void> PosixFiles::forget(FileId file) {
    const int number = posix_fadvise(descriptor(file), 0, 0, POSIX_FADV_DONTNEED);
    if (number != 0)
        return tl::make_unexpected(FileError{number});

    struct stat facts {};

    TM_TRY(system_call([&] { return fstat(descriptor(file), &facts); }));
    const auto bytes = static_cast<Bytes>(facts.st_size);
    TM_ASSIGN(const Bytes cached, cached_bytes(descriptor(file), bytes));
    // A few may be on their way in or out.
    if (cached * 100 > bytes)
        return tl::make_unexpected(FileError{EBUSY});
    return {};
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
