// The user's Python and its packages that deal with GPU memory, without importing any: importing
// one may take seconds, take GPU memory, or fail.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

struct PythonPackage {
    std::string name;     // its name in pip: "rmm-cu13"
    std::string version;  // "2.11.0+cu130"
};

struct PythonFacts {
    std::string program;  // the file
    std::string version;  // "3.11.7"
    std::vector<PythonPackage> packages;

    // The package `family` ("torch", "rmm") under one of its names, or null.
    const PythonPackage* find(std::string_view family) const;
};

struct PythonQuestion {
    std::string program = {};  // "": TIDEMARK_PYTHON if that is set, else python3 or python on PATH
    Nanoseconds limit = 10'000'000'000;
};

// Errors: not_found: there is no Python; io: it does not answer, or not in time.
Result<PythonFacts> ask_python(const PythonQuestion& question);

}  // namespace tidemark
