// A few lines of Python, and parsing their output.
#include "backends/topology/python.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

#include "backends/topology/program_output.h"

namespace tidemark {
namespace {

// The working folder is removed from the path first: a user's file there must not shadow a module
// of Python's. Tabs separate the words of a line.
constexpr const char* kScript = R"(
import sys
sys.path[:] = [folder for folder in sys.path if folder]
print("python", "%d.%d.%d" % sys.version_info[:3], sep="\t")
import importlib.metadata as metadata
for name in ("torch", "cupy", "cupy-cuda12x", "cupy-cuda13x", "numba-cuda", "cuda-core",
             "rmm", "rmm-cu11", "rmm-cu12", "rmm-cu13",
             "nvidia-cuda-cupti", "nvidia-cuda-cupti-cu12"):
    try:
        print("package", name, metadata.version(name), sep="\t")
    except metadata.PackageNotFoundError:
        pass
)";

std::vector<std::string> fields_of(const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream rest(line);
    for (std::string field; std::getline(rest, field, '\t');)
        fields.push_back(field);
    return fields;
}

// "rmm-cu13" belongs to the rmm family, "cupy-cuda13x" to cupy's; "rmm-tools" does not.
bool is_of_family(std::string_view name, std::string_view family) {
    if (!name.starts_with(family))
        return false;
    const std::string_view rest = name.substr(family.size());
    return rest.empty() || rest.starts_with("-cu1") || rest.starts_with("-cuda1");
}

Result<std::string> find_python(const PythonQuestion& question) {
    const char* path = std::getenv("PATH");
    const std::string folders = path == nullptr ? "" : path;
    const char* environment = std::getenv("TIDEMARK_PYTHON");
    const std::string chosen = !question.program.empty() ? question.program
                               : environment != nullptr  ? environment
                                                         : "";
    std::vector<std::string> names{"python3", "python"};
    if (!chosen.empty())
        names = {chosen};
    for (const std::string& name : names)
        if (std::string file = find_program(name, folders); !file.empty())
            return file;
    return fail(ErrorCode::not_found,
                chosen.empty() ? "there is no python3 on PATH"
                               : fmt::format("there is no program {}", chosen),
                "Python", "name one with TIDEMARK_PYTHON");
}

}  // namespace

const PythonPackage* PythonFacts::find(std::string_view family) const {
    const auto found = std::find_if(
        packages.begin(), packages.end(),
        [family](const PythonPackage& package) { return is_of_family(package.name, family); });
    return found == packages.end() ? nullptr : &*found;
}

Result<PythonFacts> ask_python(const PythonQuestion& question) {
    TM_ASSIGN(const std::string program, find_python(question));
    TM_ASSIGN(const std::string text, run_program({program, "-c", kScript}, question.limit));
    PythonFacts facts;
    facts.program = program;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::vector<std::string> fields = fields_of(line);
        if (fields.size() == 2 && fields[0] == "python")
            facts.version = fields[1];
        else if (fields.size() == 3 && fields[0] == "package")
            facts.packages.push_back({fields[1], fields[2]});
    }
    if (facts.version.empty())
        return fail(ErrorCode::io, "it does not answer like Python", program,
                    "name another with TIDEMARK_PYTHON");
    return facts;
}

}  // namespace tidemark
