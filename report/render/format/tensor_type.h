// Shape and dtype of a tensor, for people and for programs.
#pragma once

#include <cstdint>
#include <string>

#include "report/render/format/json_writer.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// "float32 [50257, 768]"; empty: unknown. `type`: id in `definitions`.
std::string tensor_type_text(const Definitions& definitions, uint32_t type);
// The fields "shape" and "dtype"; null: unknown.
void put_tensor_type(JsonWriter& json, const Definitions& definitions, uint32_t type);

}  // namespace peakline::report
