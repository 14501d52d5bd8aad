// The report of `machines`: spaces, links and buses, and the origin of their figures. Pure; text as
// in text.h, JSON as in json.h (the keys are in docs/json.md).
#pragma once

#include <span>
#include <string>

#include "backends/machines/machine_json.h"
#include "backends/machines/measured_machine.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// All of them, one line each.
std::string machines_text(std::span<const DescribedMachine> machines);

// One in full. `target`: the file that it was written to; empty if none.
std::string machine_report_text(const DescribedMachine& machine, const std::string& target);

// `measured`: the figures that this command measured.
std::string machines_json(std::span<const DescribedMachine> machines,
                          std::span<const MeasuredFigure> measured, const std::string& target,
                          const Provenance& provenance);

}  // namespace tidemark
