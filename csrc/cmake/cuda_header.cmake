# Sets FTAX_MICRO_CUDA_INCLUDE to a folder that holds NVIDIA's cuda.h, or to nothing.
#
# Only declarations are wanted: the driver itself is opened at run time. Looked for, in this order:
# FTAX_MICRO_CUDA_INCLUDE given by hand, the PyPI package of the CUDA runtime as seen by the building
# interpreter (13: nvidia/cu13, 12: nvidia/cuda_runtime), CUDA_HOME / CUDA_PATH, an installed toolkit.
if(FTAX_MICRO_CUDA STREQUAL "OFF" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(FTAX_MICRO_CUDA_INCLUDE "")
    message(STATUS "ftax_micro: building the cpu device only (CUDA is off or not on Linux)")
    return()
endif()

execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import sys; print(';'.join(p for p in sys.path if p))"
    OUTPUT_VARIABLE ftax_sys_path OUTPUT_STRIP_TRAILING_WHITESPACE)
set(ftax_hints "")
foreach(folder IN LISTS ftax_sys_path)
    list(APPEND ftax_hints "${folder}/nvidia/cu13/include" "${folder}/nvidia/cuda_runtime/include")
endforeach()
file(GLOB ftax_toolkits "/usr/local/cuda-*/include")
list(SORT ftax_toolkits COMPARE NATURAL ORDER DESCENDING)
find_path(FTAX_MICRO_CUDA_INCLUDE cuda.h
    HINTS ${ftax_hints} ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda/include ${ftax_toolkits}
          /opt/cuda/include
    PATH_SUFFIXES include
    NO_CACHE)
if(FTAX_MICRO_CUDA_INCLUDE)
    message(STATUS "ftax_micro: building the cpu and cuda devices (${FTAX_MICRO_CUDA_INCLUDE}/cuda.h)")
elseif(FTAX_MICRO_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ftax_micro: FTAX_MICRO_CUDA=ON but no cuda.h was found; "
        "`pip install nvidia-cuda-runtime`, or set FTAX_MICRO_CUDA_INCLUDE or CUDA_HOME")
else()
    set(FTAX_MICRO_CUDA_INCLUDE "")
    message(WARNING "ftax_micro: no cuda.h found: building the cpu device only. "
        "`pip install nvidia-cuda-runtime`, or set CUDA_HOME, and install again for the cuda device")
endif()
