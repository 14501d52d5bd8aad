// DirectorySpace: which directories a buffer goes to, and what of their quotas is used. The one
// home of the disk tier's counters:
//
//     used(directory) = files stored + files being written + files that would not go <= quota
//
// (Files that were found at opening count even when they exceed it.) Plain numbers without files
// or lock: DiskCore puts a lock around it. Deterministic: the same calls give the same places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/tiers/disk/disk_format.h"
#include "core/tiers/disk/disk_store.h"

namespace tidemark {

// Where one file of a buffer lies, and its bytes.
struct StripeLocation {
    std::uint32_t directory = 0;
    Bytes bytes = 0;
};

// Where a buffer lies.
struct FilePlacement {
    StripeLayout layout;
    std::vector<StripeLocation> stripes;

    Bytes bytes() const;  // of all files
};

// A file that the store has no use for and could not remove.
struct StrandedFile {
    std::string path;
    std::uint32_t directory = 0;
    Bytes bytes = 0;
};

class DirectorySpace {
  public:
    // No directory is usable yet.
    DirectorySpace(const std::vector<DiskDirectory>& directories, Bytes quota);

    void set_usable(std::uint32_t directory) { states_[directory].usable = true; }

    // Finds room for a buffer and charges it, on at most `stripes` directories (0: all) that are
    // not in `avoid`: those with the least part of their quota used first, such as failed at their
    // last write only if it cannot be without. Nothing if there is none: nothing is charged.
    // O(directories^2).
    std::optional<FilePlacement> allocate(Bytes size, Bytes chunk, unsigned stripes,
                                          const std::vector<bool>& avoid = {});

    // Why allocate() found nothing.
    Error no_room(Bytes size) const;

    // Charges files that are there already, beyond the quota if it must be.
    void adopt(const FilePlacement& placement);

    // A file is gone.
    void release(StripeLocation location);

    // How a write to a directory went.
    void note_success(std::uint32_t directory);
    void note_failure(std::uint32_t directory, const Error& error);

    // A file would not go: it stays charged and is remembered; or is charged from now on.
    void strand(StrandedFile file, const Error& error);
    void adopt_stranded(StrandedFile file, const Error& error);

    // Those files, for another try: each is to be released or stranded again.
    std::vector<StrandedFile> take_stranded();

    // An upper bound of what a buffer of `size` is charged. O(directories^2).
    Bytes cost(Bytes size, Bytes chunk, unsigned stripes) const;

    Bytes used() const { return used_; }

    const std::vector<DirectoryState>& directories() const { return states_; }

  private:
    std::optional<FilePlacement> allocate_on(std::vector<std::uint32_t> candidates, Bytes size,
                                             Bytes chunk, unsigned stripes) const;
    std::vector<std::uint32_t> candidates(const std::vector<bool>& avoid, bool failed_too) const;

    std::vector<DirectoryState> states_;
    std::vector<bool> full_;  // the last failure was a full disk: over when something is removed
    std::vector<StrandedFile> stranded_;
    Bytes quota_;
    Bytes used_ = 0;
};

}  // namespace tidemark
