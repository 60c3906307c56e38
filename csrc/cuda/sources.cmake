# The CUDA half of the extension: appended to the list `sources`.
list(APPEND sources
    csrc/cuda/cleanup.cpp
    csrc/cuda/context.cpp
    csrc/cuda/driver.cpp
    csrc/cuda/facts.cpp
    csrc/cuda/launch.cpp
    csrc/cuda/polling.cpp
    csrc/cuda/resources.cpp
    csrc/cuda/session.cpp)
