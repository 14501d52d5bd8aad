// The speed of a directory's disk, measured as the disk tier uses it: chunks, several in flight,
// past the page cache.
//
// In each run a new file is written, with its space allocated before and a sync at the end, then
// read. Single requests go to it, and it is read while another one is written. How much a run
// moves depends on how fast the disk was at first, and on the free space: never more than a quarter
// of it. The files lose their names as soon as they are open: however the program ends, nothing is
// left.
//
// If a file system has no direct transfers, writes end with a sync, and reads come after the page
// cache was emptied of the file. If it cannot be emptied, reads are not measured, and neither are
// both at once. Caches of a drive, a controller or a virtual machine's host are part of the disk.
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
    std::function<Nanoseconds()> now = {};  // empty: real time
};

struct DiskDirection {
    Figure bytes_per_second;
    Figure latency;  // nanoseconds that a single request takes beyond its bytes: a chunk or 4
                     // KiB, whichever is more
    Figure small;    // how long a single request of 4 KiB takes, in nanoseconds
};

struct DiskFigures {
    DiskDirection write;
    DiskDirection read;  // without runs: not measured
    Figure both;         // bytes per second of both at once; without runs: not measured
    Bytes size = 0;      // of a file
    Bytes free = 0;      // free space
    bool direct = false;
    std::string obstacle;  // why reads were not measured
};

// Errors: no_space: there isn't enough space, or the disk filled up; io: the disk's error, with the
// directory; cancelled: `stop` returned true.
Result<DiskFigures> measure_disk(BlockFiles& files, const DiskQuestion& question);

}  // namespace tidemark
