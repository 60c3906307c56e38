// The null kernel of programmatic dependent launch, which needs sm_90 and PTX 7.8: a file of its
// own, loaded only where the device can run it.
//
// Launched with the stream-serialisation attribute, the next kernel of the stream may start as soon
// as every block of this one has said launch_dependents; its own wait then makes it see all that
// its predecessor wrote. Both are needed for a chain that is launched early and still ordered.

extern "C" __global__ void ftax_dependent() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
