// What nearly every test includes, compiled once (tests/CMakeLists.txt). Tests include what they
// use all the same.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <rapidcheck.h>
