#include "tensor_type.h"

#include "path_display.h"
#include "printable.h"

namespace peakline::report {

std::string tensor_type_text(const Definitions& definitions, uint32_t type) {
    const TensorType& known = definitions.tensor_type(type);
    if (known.dtype == 0) {
        return {};
    }
    std::string sizes;
    for (const uint64_t size : known.shape) {
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    }
    return printable(definitions.text(known.dtype)) + " [" + sizes + "]";
}

void put_tensor_type(JsonWriter& json, const Definitions& definitions, uint32_t type) {
    const TensorType& known = definitions.tensor_type(type);
    json.key("shape");
    known.dtype != 0 ? json.value(known.shape) : json.null();
    json.text_or_null("dtype", definitions.text(known.dtype));
}

}  // namespace peakline::report
