// Extremes: traces of programs as no one runs them every day, and as each of them may be: days
// long, sizes from a byte to a TiB, a stream for each block, names of a megabyte, nothing but
// frees. They are generated, as JSONL, so that they go the way of any file.
#pragma once

#include <string>
#include <vector>

namespace tidemark::support {

struct Extreme {
    std::string name;
    std::string jsonl;     // the file
    bool damaged = false;  // to be read with ReadOptions::lenient
    bool large = false;    // some 10 MB, or 10^5 of something: seconds with sanitizers
};

// All of them; the same every time. Some 30 MB in all.
std::vector<Extreme> extremes();

}  // namespace tidemark::support
