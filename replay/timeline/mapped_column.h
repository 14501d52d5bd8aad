// MappedColumn: an array of plain values in a mapped file, which grows at its end while others read
// what has been published. Its elements never move, so pointers into it stay valid. (On systems
// without threads they move as it grows, while nobody reads: column_in_memory.cpp.)
//
// One writer, any number of readers: the writer pushes, fills, and publishes; readers look only
// below size(). What the page cache does not keep is on the disk, not in memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "core/base/result.h"

namespace tidemark {

// Whether the process may have so many more addresses, in one piece: code that makes several
// columns asks for all of them together. Thread-safe, of this moment.
bool has_addresses(std::size_t bytes);

// The bytes behind a column: a file that grows in steps under one mapping.
class MappedBytes {
  public:
    // A new file `name` in the open folder `folder`, or for "" one without a name that goes with
    // the process: in memory while it is small, then in $TMPDIR or /tmp; it may grow to `most`
    // bytes, for which addresses are reserved now. Errors: io (no room, no permission, the file
    // exists); unsupported: the process may not have so many addresses.
    static Result<std::unique_ptr<MappedBytes>> create(const std::string& name, std::size_t most,
                                                       int folder = -1);

    // All of the file that is open for reading as `file`, read-only; the descriptor still belongs
    // to its owner and is no longer needed. Nobody may truncate the file meanwhile. Errors: io, of
    // `path`.
    static Result<std::unique_ptr<MappedBytes>> open(int file, const std::string& path);

    MappedBytes(const MappedBytes&) = delete;
    MappedBytes& operator=(const MappedBytes&) = delete;
    ~MappedBytes();

    std::byte* data() const { return data_; }

    std::size_t capacity() const { return capacity_; }  // bytes that may be touched

    // Makes at least `bytes` touchable, zeroed where they are new. O(1) amortised. Errors: io, when
    // the disk is used up; unsupported: the addresses are. What was there stays.
    Result<void> grow(std::size_t bytes);

    // Cuts the file to `bytes`, for good. Errors: io.
    Result<void> finish(std::size_t bytes);

    // Makes the disk start to write the named file's bytes; and waits until it has them. Errors:
    // io.
    void begin_sync() const;
    Result<void> sync() const;

    // Reads [begin, begin + bytes) into memory and maps it, so that no reader waits for a page
    // there. Only a request: nothing happens where the system cannot do it. Any thread.
    void bring_in(std::size_t begin, std::size_t bytes) const;

  private:
    MappedBytes() = default;

    Result<void> move_to_file();

    int file_ = -1;  // none: all of it is in memory
    std::string path_;
    std::byte* data_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t address_space_ = 0;
};

template <class T>
class MappedColumn {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    MappedColumn() = default;

    // Room for `most` elements at most. Errors: as of MappedBytes.
    static Result<MappedColumn> create(const std::string& name, std::size_t most, int folder = -1) {
        TM_ASSIGN(auto bytes, MappedBytes::create(name, most * sizeof(T), folder));
        return MappedColumn(std::move(bytes), 0);
    }

    // The `count` elements that an open file has. Errors: io; bad_input: it has more or fewer.
    static Result<MappedColumn> open(int file, const std::string& path, std::size_t count) {
        TM_ASSIGN(auto bytes, MappedBytes::open(file, path));
        if (bytes->capacity() % sizeof(T) != 0 || bytes->capacity() / sizeof(T) != count)
            return fail(ErrorCode::bad_input, "is not as long as it should be", path);
        return MappedColumn(std::move(bytes), count);
    }

    MappedColumn(MappedColumn&& other) noexcept
        : bytes_(std::move(other.bytes_)),
          data_(other.data_),
          count_(other.count_),
          room_(other.room_),
          published_(other.published_.load(std::memory_order_relaxed)) {}

    MappedColumn& operator=(MappedColumn&& other) noexcept {
        bytes_ = std::move(other.bytes_);
        data_ = other.data_;
        count_ = other.count_;
        room_ = other.room_;
        published_.store(other.published_.load(std::memory_order_relaxed));
        return *this;
    }

    // The writer's: makes sure that `more` elements can be added. Errors: io, when the disk is
    // full.
    Result<void> make_room(std::size_t more) {
        if (room_ - count_ >= more) [[likely]]
            return {};
        TM_TRY(bytes_->grow((count_ + more) * sizeof(T)));
        look();
        return {};
    }

    // The writer's; there must be room.
    void add(const T& value) { data_[count_++] = value; }

    // Both at once. Errors: io; nothing was added then.
    Result<void> push(const T& value) {
        TM_TRY(make_room(1));
        add(value);
        return {};
    }

    // The writer's: elements pushed so far, published or not; and the element itself.
    std::size_t pushed() const { return count_; }

    T& at(std::size_t index) { return data_[index]; }

    const T& at(std::size_t index) const { return data_[index]; }

    // From now on readers may read everything that has been pushed.
    void publish() { published_.store(count_, std::memory_order_release); }

    // What readers may look at.
    std::size_t size() const { return published_.load(std::memory_order_acquire); }

    const T& operator[](std::size_t index) const { return data_[index]; }

    std::span<const T> all() const { return {data_, size()}; }

    // The bytes behind the column.
    const MappedBytes* bytes() const { return bytes_.get(); }

    // Cuts the file to what was pushed. Errors: io.
    Result<void> finish() {
        publish();
        TM_TRY(bytes_->finish(count_ * sizeof(T)));
        look();
        return {};
    }

  private:
    MappedColumn(std::unique_ptr<MappedBytes> bytes, std::size_t count)
        : bytes_(std::move(bytes)), count_(count), published_(count) {
        look();
    }

    // Takes over where the bytes lie: they move only on systems without threads.
    void look() {
        auto* const lies = reinterpret_cast<T*>(bytes_->data());
        if (data_ != lies)
            data_ = lies;
        room_ = bytes_->capacity() / sizeof(T);
    }

    std::unique_ptr<MappedBytes> bytes_;
    T* data_ = nullptr;  // changes only where there are no threads: readers use it
    std::size_t count_ = 0;
    std::size_t room_ = 0;
    std::atomic<std::size_t> published_ = 0;
};

}  // namespace tidemark
