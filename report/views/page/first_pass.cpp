#include "first_pass.h"

#include "report/replay/levels/choose_device.h"

namespace peakline::report {
namespace {

PhaseRequest phases_asked(const Selection& selection) {
    PhaseRequest asked;
    asked.measure = selection.request.measure;
    asked.sum_devices = selection.request.device.kind == DeviceChoiceKind::kAll;
    return asked;
}

}  // namespace

FirstPass::FirstPass(const TraceReader& reader,
                     const Selection& selection,
                     StackLookup& stacks,
                     const Progress& progress)
    : stream_(reader),
      replay_(stream_, stacks.phase_rules(), phases_asked(selection)),
      facts(reader, stacks.phase_rules(), selection.request.measure, replay_) {
    stream_.run(progress, replay_, facts);
    phases = replay_.finish();
    const DeviceChoice& asked = selection.request.device;
    chosen = choose_device(phases.devices,
                           asked.kind == DeviceChoiceKind::kAll ? DeviceChoice() : asked,
                           reader.name());
}

}  // namespace peakline::report
