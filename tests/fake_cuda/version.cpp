// The only file that is compiled anew for each posed driver.
#include "config.hpp"

namespace fake {

const int kBuildVersion = FAKE_CUDA_VERSION;
const int kBuildStub = FAKE_CUDA_STUB;

}  // namespace fake
