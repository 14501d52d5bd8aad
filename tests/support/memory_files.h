// MemoryFiles: a file system in memory that does as its test wants: fails at the n-th call, cuts
// transfers short, interrupts them, completes them in another order, dies, loses power.
//
// It knows what a real one would lose: content survives the loss of power when its file was synced,
// a name (its removal too) when its directory was. Thread-safe. Direct transfers are wanted with
// the alignment that it is given, and checked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/tiers/disk/block_files.h"

namespace tidemark::support {

enum class FileCall : std::uint8_t {
    lock,
    open,
    create,
    close,
    size,
    allocate,
    sync,
    sync_directory,
    remove,
    list,
    read,
    write,
};

// What survives a crash.
enum class Survival : std::uint8_t {
    everything,  // kill -9: the kernel has all that was done
    synced,      // power lost: only what was synced
    random,      // power lost: what was synced, and of the rest each block and name by chance
};

class MemoryFiles : public BlockFiles {
  public:
    // `alignment`: of direct transfers; 1 for none.
    explicit MemoryFiles(Bytes alignment = kFileBlock, std::uint64_t seed = 1);
    ~MemoryFiles() override;

    // Makes an empty directory, with so much space.
    void add_directory(const std::string& path, Bytes space = Bytes{1} << 40U);

    // What a call answers: an errno value or 0. Asked at each call, under the lock, with the path
    // and the number of the call, from 1 on.
    using Script = std::function<int(FileCall call, const std::string& path, std::uint64_t number)>;
    void set_script(Script script);

    // Every `one_in`-th transfer or so moves a part only, or is interrupted; 0: none.
    void set_short(unsigned one_in);
    void set_interrupted(unsigned one_in);

    // Calls so far.
    std::uint64_t calls() const;

    // From the n-th call from now on (0: at once) nothing happens any more, and every call fails:
    // the process is dead. A write that is the n-th call may be torn: a part of it is done.
    void die_after(std::uint64_t calls);

    // Another process comes: locks are gone, what survives is there, nothing is scripted.
    void restart(Survival survival);

    // To look at and to change files from outside.
    std::vector<std::string> names(const std::string& directory) const;
    std::vector<std::byte> content(const std::string& path) const;
    void put(const std::string& path, std::vector<std::byte> content);
    std::size_t open_files() const;
    Bytes bytes_in(const std::string& directory) const;

    std::string_view name() const override { return "memory"; }

    std::uint64_t nonce() override;
    FileResult<FileId> lock(const std::string& path) override;
    FileResult<OpenFile> open(const std::string& path, FileAccess access) override;
    FileResult<void> close(FileId file) override;
    FileResult<Bytes> size(FileId file) override;
    FileResult<void> allocate(FileId file, Bytes size) override;
    FileResult<void> sync(FileId file) override;
    FileResult<void> sync_directory(const std::string& path) override;
    FileResult<void> remove(const std::string& path) override;
    FileResult<std::vector<std::string>> list(const std::string& directory) override;
    FileResult<Bytes> free_space(const std::string& directory) override;
    std::unique_ptr<BlockQueue> make_queue(unsigned depth) override;

  private:
    friend class MemoryQueue;

    struct File {
        std::vector<std::byte> now;
        std::vector<std::byte> synced;
        bool locked = false;
    };

    struct Directory {
        Bytes space = 0;
        std::map<std::string, std::shared_ptr<File>> now;  // by path
        std::map<std::string, std::shared_ptr<File>> synced;
    };

    struct Handle {
        std::string path;
        std::shared_ptr<File> file;
        bool writable = false;
        bool lock = false;
    };

    std::optional<FileError> refuse(FileCall call, const std::string& path);

    bool dead() const { return alive_for_ && *alive_for_ == 0; }

    Directory* directory_of(const std::string& path);
    Bytes used(const Directory& directory) const;
    FileId add_handle(Handle handle);
    BlockCompletion transfer(const BlockTransfer& transfer);
    Bytes move(const BlockTransfer& transfer, File& file, Bytes size);
    void lose_power(Directory& directory, bool some_stays);

    const Bytes alignment_;
    mutable std::mutex lock_;
    Random random_;
    Script script_;
    unsigned short_one_in_ = 0;
    unsigned interrupted_one_in_ = 0;
    std::uint64_t calls_ = 0;
    std::optional<std::uint64_t> alive_for_;
    std::map<std::string, Directory> directories_;
    std::map<std::uint32_t, Handle> handles_;
    std::uint32_t next_handle_ = 1;
    std::uint64_t next_nonce_ = 1;
};

}  // namespace tidemark::support
