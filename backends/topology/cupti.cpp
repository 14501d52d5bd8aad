// A list of candidates, and dlopen.
#include "backends/topology/cupti.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <dlfcn.h>
#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11"};
constexpr const char* kToolkitFiles[] = {"/extras/CUPTI/lib64/libcupti.so", "/lib64/libcupti.so"};

bool exists(const std::string& file) {
    std::error_code none;
    return std::filesystem::exists(file, none);
}

// The file that a loaded library came from, by one of its functions.
std::string file_of(void* function, const std::string& otherwise) {
    Dl_info info{};
    return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : otherwise;
}

Result<CuptiFacts> load(const std::string& name) {
    void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr)
        return fail(ErrorCode::unsupported, "it cannot be loaded", name,
                    "is it for this processor, and whole?");
    using Version = int (*)(std::uint32_t*);
    void* symbol = dlsym(library, "cuptiGetVersion");
    std::uint32_t version = 0;
    if (symbol == nullptr || reinterpret_cast<Version>(symbol)(&version) != 0) {
        dlclose(library);
        return fail(ErrorCode::unsupported, "it is no CUPTI", name);
    }
    return CuptiFacts{file_of(symbol, name), version};
}

std::vector<std::string> files_of(const CuptiQuestion& question) {
    if (!question.first.empty())
        return {question.first};
    std::vector<std::string> files;
    for (const std::string& toolkit : question.toolkits)
        for (const char* file : kToolkitFiles)
            files.push_back(toolkit + file);
    if (!question.last.empty())
        files.push_back(question.last);
    return files;
}

}  // namespace

CuptiQuestion usual_cupti_places(const std::string& root) {
    CuptiQuestion question;
    if (const char* chosen = std::getenv("TIDEMARK_CUPTI"))
        question.first = chosen;
    question.names.assign(std::begin(kNames), std::end(kNames));
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* toolkit = std::getenv(variable))
            question.toolkits.emplace_back(toolkit);
    question.toolkits.push_back(root + "/usr/local/cuda");
    return question;
}

Result<CuptiFacts> find_cupti(const CuptiQuestion& question) {
    if (question.first.empty()) {
        for (const std::string& name : question.names)
            if (Result<CuptiFacts> facts = load(name))
                return facts;
    }
    std::optional<Error> objection;
    for (const std::string& file : files_of(question)) {
        if (!exists(file))
            continue;
        Result<CuptiFacts> facts = load(file);
        if (facts)
            return facts;
        if (!objection)
            objection = facts.error();
    }
    if (objection)
        return tl::make_unexpected(*objection);
    return fail(ErrorCode::not_found, "there is no libcupti", question.first,
                "it is in the CUDA toolkit and in pip's nvidia-cuda-cupti; TIDEMARK_CUPTI names "
                "one");
}

}  // namespace tidemark
