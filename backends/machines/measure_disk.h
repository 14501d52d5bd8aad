// What a directory's disk does, measured as the disk tier uses it: chunks, several in flight, past
// the page cache.
//
// In each run a new file is written, with its space allocated before and a sync at the end, then
// read; single requests are made of it; and it is read while another is written. How much a run
// moves follows from how fast the disk was at first, and from the room there is: never more than a
// quarter of it. The files lose their names as soon as they are open: whatever ends the program,
// nothing is left.
//
// Where a file system has no direct transfers, writes end with a sync, and reads come after the
// page cache was emptied of the file; if it cannot be, they are not measured, and neither are both
// at once. Caches of a drive, a controller or a virtual machine's host are part of the disk.
#pragma once

#include <functional>
#include <string>

#include "backends/machines/figures.h"
#include "backends/machines/measuring_limits.h"
#include "core/base/result.h"
#include "core/tiers/disk/block_files.h"

namespace tidemark {

struct DiskQuestion {
    std::string directory;
    MeasuringLimits limits = {};
    Bytes largest = 4_GiB;  // of a file
    Bytes chunk = 4_MiB;    // as DiskStoreOptions; a multiple of 4096
    unsigned in_flight = 8;
    std::function<Nanoseconds()> now = {};  // empty: the time that passes
};

struct DiskDirection {
    Figure bytes_per_second;
    Figure latency;  // what one request alone takes beyond its bytes, in nanoseconds: a chunk or 4
                     // KiB, whichever is more
    Figure small;    // what a request of 4 KiB alone takes, in nanoseconds
};

struct DiskFigures {
    DiskDirection write;
    DiskDirection read;  // without runs: not measured
    Figure both;         // bytes per second of both at once; without runs: not measured
    Bytes size = 0;      // of a file
    Bytes free = 0;      // room there was
    bool direct = false;
    std::string obstacle;  // why reads were not measured
};

// Errors: no_space: there is no room for the least of it, or the disk filled up; io: what the disk
// said, with the directory; cancelled: `stop` said so.
Result<DiskFigures> measure_disk(BlockFiles& files, const DiskQuestion& question);

}  // namespace tidemark
