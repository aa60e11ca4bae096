// Shape and dtype of a tensor, in its two forms.
#pragma once

#include <cstdint>
#include <string>

#include "report/render/format/json_writer.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// "float32 [50257, 768]"; empty for one that is not known. `type`: id in `definitions`.
std::string tensor_type_text(const Definitions& definitions, uint32_t type);
// The fields "shape" and "dtype", null for one that is not known.
void put_tensor_type(JsonWriter& json, const Definitions& definitions, uint32_t type);

}  // namespace peakline::report
