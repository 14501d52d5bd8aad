// Files by descriptor, and memory.
#include "traces/io/raw_input.h"

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidemark {
namespace {

class FileInput final : public RawInput {
  public:
    FileInput(int descriptor, bool owned, std::string name)
        : name_(std::move(name)), descriptor_(descriptor), owned_(owned) {}

    ~FileInput() override {
        if (owned_)
            ::close(descriptor_);
    }

    Result<void> examine() {
        struct stat status {};

        if (::fstat(descriptor_, &status) != 0)
            return io_error("cannot be examined", name_);
        if (S_ISDIR(status.st_mode))
            return fail(ErrorCode::io, "is a folder, not a file", name_,
                        "give the files in it one by one");
        is_plain_ = S_ISREG(status.st_mode);
        if (is_plain_)
            size_ = static_cast<std::uint64_t>(status.st_size);
        return {};
    }

    Result<std::size_t> read(std::span<std::byte> target) override {
        for (;;) {
            const ssize_t count = ::read(descriptor_, target.data(), target.size());
            if (count >= 0)
                return static_cast<std::size_t>(count);
            if (errno != EINTR)
                return io_error("cannot be read", name_);
        }
    }

    std::uint64_t size() const override { return size_; }

    FileDescriptor file() const override {
        return FileDescriptor(is_plain_ && owned_ ? ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0) : -1);
    }

  private:
    std::string name_;
    int descriptor_;
    bool owned_;
    bool is_plain_ = false;
    std::uint64_t size_ = 0;
};

class MemoryInput final : public RawInput {
  public:
    explicit MemoryInput(std::span<const std::byte> bytes) : rest_(bytes), size_(bytes.size()) {}

    Result<std::size_t> read(std::span<std::byte> target) override {
        const std::size_t count = std::min(target.size(), rest_.size());
        if (count != 0)
            std::memcpy(target.data(), rest_.data(), count);
        rest_ = rest_.subspan(count);
        return count;
    }

    std::uint64_t size() const override { return size_; }

  private:
    std::span<const std::byte> rest_;
    std::uint64_t size_;
};

}  // namespace

Result<std::unique_ptr<RawInput>> open_raw_file(const std::string& path) {
    const bool is_standard = path == "-";
    const int descriptor = is_standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return io_error("cannot be opened", path, errno, errno == ENOENT ? "check the path" : "");
    auto input = std::make_unique<FileInput>(descriptor, !is_standard,
                                             is_standard ? "standard input" : path);
    TM_TRY(input->examine());
    return input;
}

std::unique_ptr<RawInput> raw_memory(std::span<const std::byte> bytes) {
    return std::make_unique<MemoryInput>(bytes);
}

}  // namespace tidemark
