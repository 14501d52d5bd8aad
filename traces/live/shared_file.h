// SharedFile: the file in shared memory that a program publishes in: header, counters, rings. It
// outlives the program, so that its last events can be read after it has died.
//
// Rings cost memory only when they are prepared. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "traces/io/own_folder.h"
#include "traces/live/wire.h"

namespace tidemark::live {

class SharedFile {
  public:
    // A new file in `folder` with `header` (sealed) and the header's name, for its owner only.
    // Errors: io (exists, no permission, no shared memory left).
    static Result<std::unique_ptr<SharedFile>> create(const OwnFolder& folder,
                                                      const Header& header);

    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;
    ~SharedFile();  // unmaps; the file stays

    Counters& counters() const;
    RingControl& control(std::uint32_t ring) const;
    Record* slots(std::uint32_t ring) const;

    // Takes the memory of a ring and touches all of it, so that writing there never waits for the
    // system. False: there is no memory left. About 100 us per MiB.
    bool prepare(std::uint32_t ring) const;

    // Removes the name; mappings and open files stay. Errors: io.
    Result<void> remove();

    const std::string& path() const { return path_; }

  private:
    SharedFile(std::string path, const Header& header) : path_(std::move(path)), header_(header) {}

    std::string path_;
    Header header_;
    FileDescriptor file_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace tidemark::live
