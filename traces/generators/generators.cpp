// The catalogue of generators: every line of generators.inc, and running one by name.
#include "traces/generators/generators.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {

namespace generators {
#define TIDEMARK_GENERATOR(name) GeneratorInfo name();
#include "traces/generators/generators.inc"
#undef TIDEMARK_GENERATOR
}  // namespace generators

namespace {

Result<const GeneratorInfo*> find_generator(std::string_view name) {
    std::vector<std::string_view> names;
    for (const GeneratorInfo& generator : all_generators()) {
        if (generator.name == name)
            return &generator;
        names.push_back(generator.name);
    }
    const std::string_view near = nearest(name, names);
    return fail(ErrorCode::bad_option, fmt::format("there is no generator '{}'", name), {},
                near.empty() ? fmt::format("one of: {}", fmt::join(names, ", "))
                             : fmt::format("did you mean '{}'?", near));
}

}  // namespace

std::span<const GeneratorInfo> all_generators() {
    static const std::array kGenerators{
#define TIDEMARK_GENERATOR(name) generators::name(),
#include "traces/generators/generators.inc"
#undef TIDEMARK_GENERATOR
    };
    return kGenerators;
}

Result<TraceInfo> generate(std::string_view spec, TraceSink& sink) {
    const std::size_t colon = std::min(spec.find(':'), spec.size());
    TM_ASSIGN(const GeneratorInfo* generator, find_generator(spec.substr(0, colon)));
    const std::string_view text = spec.substr(std::min(colon + 1, spec.size()));
    TM_ASSIGN(const Options options,
              Options::parse(generator->options, text, fmt::format("generate:{}", spec)));
    TM_ASSIGN(TraceInfo info, generator->generate(options, sink));
    info.format = "generated";
    info.source = fmt::format("generate:{}", spec);
    info.metadata.emplace_back("generator", generator->name);
    for (const auto& [name, value] : options.all())
        info.metadata.emplace_back(name, value);
    return info;
}

}  // namespace tidemark
