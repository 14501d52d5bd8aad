// Settings: the inputs of the imagined CUDA, in a JSON file that TIDEMARK_IMAGINED names.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/imagined/dnn_book.h"
#include "core/base/units.h"

namespace tidemark::imagined {

// What a context takes for itself when something is first used.
struct Taking {
    Bytes memory = 0;
    std::vector<Bytes> addresses;  // one after another
};

// What a communicator of NCCL takes: the first one of a process at its first collective, each other
// one; one that only sends and receives; and sending in addition to collectives.
struct CommunicatorMemory {
    Bytes first = 0, next = 0, pair = 0, exchange = 0;
};

// One GPU: cards/NAME.json of the Python package.
struct Card {
    static constexpr int kAttributes = 192;

    std::string name;
    Bytes memory = 0;
    Bytes context = 0;                          // taken before PyTorch allocates anything
    std::array<int, kAttributes> attributes{};  // by cudaDeviceAttr
    Bytes late_hole = 0;                        // addresses that the first kernels free
    Bytes blas_handle = 0;                      // that each handle of cuBLAS takes
    std::map<std::string, Taking> first_uses;
    CommunicatorMemory communicators;
    std::vector<int> clusters;  // for 1, 2, ... multiprocessors: how many run at once; or unknown
};

struct Settings {
    // The ranks of the job that run at the same time as this one.
    struct Ranks {
        std::string folder;  // backends/imagined/exchange.h
        int rank = 0;
        int count = 1;
    };

    Card card;
    int gpus = 1;
    int cuda = 13000;          // the version of the runtime that the program was built for
    bool late = false;         // queued work is done when the program waits for it, not immediately
    double nonzero = 1;        // the share of elements that nonzero() finds
    double distinct = 1;       // the share that unique() keeps
    std::string journal;       // JSON lines: what was called and answered
    std::string cudnn;         // a real libcudnn_graph for making plans, or ""
    std::string cudnn_device;  // its description of the GPU, JSON
    DnnBook book;              // workspaces that were measured on such a GPU
    std::optional<Ranks> ranks;
};

// Read once, at the first call; a missing or faulty file ends the process with its name.
// Thread-safe.
const Settings& settings();

}  // namespace tidemark::imagined
