// Measures cuDNN's workspaces in a program on a real GPU: wraps two of its functions
// (python/tidemark/predicting/book.py), and writes their results as lines of JSON to the file that
// TIDEMARK_MEASURED names. Such a process uses nothing else of the imagined CUDA.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include <dlfcn.h>
#include <nlohmann/json.hpp>

#include "backends/imagined/api.h"
#include "backends/imagined/dnn_book.h"
#include "backends/imagined/dnn_names.h"

namespace tidemark::imagined {
namespace {

constexpr int kNotInitialized = 1001;  // CUDNN_STATUS_NOT_INITIALIZED

// The program's own cuDNN, which has called us and so is loaded.
template <class Function>
Function* real(const char* name) {
    void* const library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NOLOAD);
    return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

using Get = int(void*, int, int, std::int64_t, std::int64_t*, void*);
using Execute = int(void*, void*, void*);

Get* real_get() {
    static Get* const function = real<Get>("cudnnBackendGetAttribute");
    return function;
}

// Lines that were written, and the plan that last computed each convolution.
struct Written {
    std::mutex guard;
    std::set<std::string> plans;
    std::unordered_map<std::string, std::string> last_of;
};

Written& written() {
    static Written* const one = new Written;  // outlives every thread
    return *one;
}

void write(const nlohmann::json& line) {
    if (const char* path = std::getenv("TIDEMARK_MEASURED"))
        std::ofstream(path, std::ios::app) << line.dump() + "\n" << std::flush;
}

void note_plan(const std::string& json, std::int64_t workspace) {
    const std::string key = plan_key(json);
    const std::scoped_lock lock(written().guard);
    if (key.empty() || !written().plans.insert(key).second)
        return;
    const nlohmann::json plan = nlohmann::json::parse(json);
    nlohmann::json line{{"plan", key}, {"workspace", workspace}};
    if (plan.contains("GPUProfile") && plan["GPUProfile"].contains("deviceName"))
        line["card"] = plan["GPUProfile"]["deviceName"];
    if (plan.contains("cudnnVersion"))
        line["cudnn"] = plan["cudnnVersion"];
    write(line);
}

void note_computed(const std::string& json, std::int64_t workspace) {
    const std::string convolution = convolution_of_plan(json);
    const std::scoped_lock lock(written().guard);
    if (convolution.empty() || written().last_of[convolution] == json)
        return;
    written().last_of[convolution] = json;
    write({{"convolution", convolution}, {"workspace", workspace}});
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, measured_cudnnBackendGetAttribute)

(void* descriptor, int name, int type, std::int64_t wanted, std::int64_t* got, void* out) {
    Get* const get = real_get();
    if (get == nullptr)
        return kNotInitialized;
    const int status = get(descriptor, name, type, wanted, got, out);
    if (status == 0 && name == kPlanWorkspace && wanted > 0 && out != nullptr)
        note_plan(plan_json(*get, descriptor), *static_cast<std::int64_t*>(out));
    return status;
}

IMAGINED(int, measured_cudnnBackendExecute)(void* handle, void* plan, void* pack) {
    static Execute* const execute = real<Execute>("cudnnBackendExecute");
    Get* const get = real_get();
    if (execute == nullptr || get == nullptr)
        return kNotInitialized;
    std::int64_t workspace = 0, count = 0;
    if (get(plan, kPlanWorkspace, kTypeInt64, 1, &count, &workspace) == 0)
        note_computed(plan_json(*get, plan), workspace);
    return execute(handle, plan, pack);
}
