// Choosing how transfers are made.
#include "backends/disk/disk_files.h"

#include <cerrno>

#include "backends/disk/posix_files.h"
#include "backends/disk/uring_queue.h"

namespace tidemark {
namespace {

#ifndef TIDEMARK_HAVE_LIBURING
constexpr bool kHaveLiburing = false;
#else
constexpr bool kHaveLiburing = true;
#endif

class UringFiles : public PosixFiles {
  public:
    std::string_view name() const override { return "io_uring"; }

    std::unique_ptr<BlockQueue> make_queue(unsigned depth) override {
        if (auto queue = make_uring_queue(depth))
            return std::move(*queue);
        return PosixFiles::make_queue(depth);  // a limit on rings or their memory
    }
};

// Why io_uring is unavailable here; empty if it is available.
std::string refusal() {
    if (!kHaveLiburing)
        return "this program was built without liburing";
    const auto probe = make_uring_queue(1);
    return probe ? std::string() : "the kernel refuses io_uring: " + to_text(probe.error());
}

}  // namespace

std::string_view to_text(DiskEngine engine) {
    switch (engine) {
        case DiskEngine::automatic:
            return "automatic";
        case DiskEngine::io_uring:
            return "io_uring";
        case DiskEngine::posix:
            return "posix";
    }
    return "";
}

Result<DiskFiles> open_disk_files(DiskEngine engine) {
    if (engine == DiskEngine::posix)
        return DiskFiles{std::make_unique<PosixFiles>(), ""};
    std::string why = refusal();
    if (why.empty())
        return DiskFiles{std::make_unique<UringFiles>(), ""};
    if (engine == DiskEngine::io_uring)
        return fail(ErrorCode::unsupported, why, "disk engine", "use posix");
    return DiskFiles{std::make_unique<PosixFiles>(), why + "; using pread and pwrite"};
}

#ifndef TIDEMARK_HAVE_LIBURING
FileResult<std::unique_ptr<BlockQueue>> make_uring_queue(unsigned /*depth*/) {
    return tl::make_unexpected(FileError{ENOSYS});
}
#endif

}  // namespace tidemark
