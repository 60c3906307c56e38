# The CUDA half of the extension: appended to the list `sources`.
list(APPEND sources
    csrc/cuda/call_loops.cpp
    csrc/cuda/cleanup.cpp
    csrc/cuda/context.cpp
    csrc/cuda/driver.cpp
    csrc/cuda/facts.cpp
    csrc/cuda/first_launch.cpp
    csrc/cuda/graph.cpp
    csrc/cuda/graph_loops.cpp
    csrc/cuda/held_loops.cpp
    csrc/cuda/launch.cpp
    csrc/cuda/launcher.cpp
    csrc/cuda/polling.cpp
    csrc/cuda/queue_knee.cpp
    csrc/cuda/resources.cpp
    csrc/cuda/runtime.cpp
    csrc/cuda/runtime_kernels.cpp
    csrc/cuda/session.cpp
    csrc/cuda/start_loops.cpp
    csrc/cuda/stream_loops.cpp
    csrc/cuda/thread_loops.cpp
    csrc/cuda/wait_loops.cpp)
