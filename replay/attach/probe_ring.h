// ProbeRing: the hits of a process's probes, taken from the kernel. Everything that it has set up
// in the kernel belongs to its file descriptors, and goes with them, however this process ends.
//
// One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "replay/attach/probe_notes.h"
#include "replay/attach/probe_program.h"

namespace tidemark::attach {

class ProbeRing {
  public:
    // Listens in all threads of `process` to `probes` of the library at `path`, whose numbers in
    // hits are their places in the list. Other processes are left alone. Errors: unsupported: the
    // kernel cannot, or doesn't permit it, with what to do.
    static Result<ProbeRing> open(int process, const std::string& path,
                                  std::span<const Probe> probes);

    // Whether it can listen at all; errors like open().
    static Result<void> check();

    ProbeRing(ProbeRing&& other) noexcept { *this = std::move(other); }

    ProbeRing& operator=(ProbeRing&& other) noexcept;
    ~ProbeRing();

    // Calls `take` with each hit that is there, in order. Returns how many there were.
    template <class Take>
    std::size_t drain(Take take) {
        std::size_t count = 0;
        Hit hit;
        for (; next(hit); ++count)
            take(hit);
        return count;
    }

    // Hits that found no room so far.
    std::uint64_t lost() const;

  private:
    ProbeRing() = default;

    bool next(Hit& hit);
    Result<void> make_maps();
    Result<void> listen(int process, const std::string& path, const Probe& probe,
                        std::uint32_t number);

    FileDescriptor ring_;
    FileDescriptor lost_;
    std::vector<FileDescriptor> programs_;
    std::vector<FileDescriptor> events_;
    std::byte* consumer_ = nullptr;  // mapped: how far we have read
    std::byte* producer_ = nullptr;  // mapped: how far the kernel has written, then the hits
};

}  // namespace tidemark::attach
