#include "page_refused.h"

#include <string>

#include "report/render/format/format_bytes.h"

namespace peakline::report {
namespace {

constexpr const char* kFraction = "(torch.cuda.set_per_process_memory_fraction)";

std::string room_text(const PageRefused& refused) {
    return refused.is_over_limit() ? "was left of its limit of " + format_bytes(refused.limit_bytes)
                                   : "was free";
}

std::string change_text(const PageRefused& refused) {
    const uint64_t missing = refused.missing_bytes();
    if (missing == 0) {
        return std::string("That much was free: a limit refused it, of the process ") + kFraction +
               " or of the driver.";
    }
    if (refused.is_over_limit()) {
        return std::string("The limit of this process refused it ") + kFraction +
               ": torch may use " + format_bytes(refused.limit_bytes) + " and had " +
               format_bytes(*refused.reserved_bytes) + ". It would have fitted with " +
               format_bytes(missing) +
               " less in torch's segments, or with a limit that much higher.";
    }
    return "It would have fitted with " + format_bytes(missing) +
           " less in use on the device, or with a request that much smaller.";
}

std::string unused_text(const PageRefused& refused) {
    const uint64_t unused = refused.unused_bytes();
    if (unused == 0 || refused.missing_bytes() == 0 || unused < refused.missing_bytes()) {
        return {};
    }
    return format_bytes(unused) +
           " lay unused in segments that torch could not give back: more than was missing. With "
           "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torch returns unused parts; run again "
           "with it to see whether it fits.";
}

}  // namespace

void put_refused_sentences(JsonWriter& json, const PageRefused& refused) {
    json.field("room_bytes", refused.room_bytes()).field("room", room_text(refused));
    json.field("change", change_text(refused)).field("unused", unused_text(refused));
}

}  // namespace peakline::report
