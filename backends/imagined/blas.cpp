// cuBLAS and cuBLASLt: handles, and the one query that determines a size.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/imagined/api.h"
#include "backends/imagined/machine.h"

namespace tidemark::imagined {
namespace {

constexpr std::size_t kHeuristicResult = 96;  // cublasLtMatmulHeuristicResult_t

// A handle is memory that the program's own library may look into.
int fresh(void** out) {
    *out = new std::uint64_t[64]{};
    return kSuccess;
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, cublasCreate_v2)(void** out) {
    Lock machine;
    machine->first_use(current_device(), "blas");
    const tidemark::Bytes taken = settings().card.blas_handle;
    machine->hold(current_device(), taken, taken);
    return fresh(out);
}

IMAGINED(int, cublasGetMathMode)(void*, int* mode) {
    *mode = 0;
    return kSuccess;
}

IMAGINED(int, cublasGetPointerMode_v2)(void*, int* mode) {
    *mode = 0;
    return kSuccess;
}

IMAGINED(const char*, cublasGetStatusString)(int) {
    return "refused by the imagined GPU";
}

IMAGINED(const char*, cublasGetStatusName)(int) {
    return "CUBLAS_STATUS_NOT_SUPPORTED";
}

IMAGINED(int, cublasLtCreate)(void** out) {
    return fresh(out);
}

IMAGINED(std::size_t, cublasLtGetVersion)() {
    return 130100;
}

IMAGINED(std::size_t, cublasLtGetCudartVersion)() {
    return 13000;
}

// One algorithm, without a workspace: PyTorch gives cuBLASLt a workspace of its own size, and only
// checks that there is an algorithm.
IMAGINED(int, cublasLtMatmulAlgoGetHeuristic)

(void*, void*, void*, void*, void*, void*, void*, int wanted, void* results, int* found) {
    if (wanted > 0)
        std::memset(results, 0, kHeuristicResult);
    *found = wanted > 0;
    return kSuccess;
}
