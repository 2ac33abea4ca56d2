# Properties of the one installed library; its sources are listed by src/<room>/CMakeLists.txt.
find_package(Threads REQUIRED)
configure_file(${PROJECT_SOURCE_DIR}/cmake/config.hpp.in ${PROJECT_BINARY_DIR}/include/ringcomm/config.hpp)
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.hpp.in ${PROJECT_BINARY_DIR}/include/ringcomm/version.hpp)
set(ringcomm_include_dirs ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
file(GLOB_RECURSE ringcomm_public_headers ${PROJECT_SOURCE_DIR}/include/ringcomm/*.hpp ${PROJECT_SOURCE_DIR}/include/ringcomm/*.h)
list(FILTER ringcomm_public_headers EXCLUDE REGEX "/interop/(mpi|cuda|nccl)\\.hpp$")  # installed beside, need a vendor

# Hidden by default; public headers push default visibility around their namespace.
target_include_directories(ringcomm_objects PUBLIC ${ringcomm_include_dirs} PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_features(ringcomm_objects PUBLIC cxx_std_20)
target_link_libraries(ringcomm_objects PUBLIC Threads::Threads PRIVATE ringcomm_warnings)
set_target_properties(ringcomm_objects PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON)

target_sources(ringcomm PRIVATE $<TARGET_OBJECTS:ringcomm_objects>
  PUBLIC FILE_SET HEADERS BASE_DIRS ${ringcomm_include_dirs}
  FILES ${ringcomm_public_headers} ${PROJECT_BINARY_DIR}/include/ringcomm/config.hpp
        ${PROJECT_BINARY_DIR}/include/ringcomm/version.hpp)
target_compile_features(ringcomm PUBLIC cxx_std_20)
target_link_libraries(ringcomm PUBLIC Threads::Threads PRIVATE $<BUILD_INTERFACE:ringcomm_warnings>)
# SOVERSION is the version of the C interface, the only ABI that is promised.
set(RINGCOMM_C_ABI 0)
set_target_properties(ringcomm PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${RINGCOMM_C_ABI}
  POSITION_INDEPENDENT_CODE ON VERIFY_INTERFACE_HEADER_SETS ON)
if(BUILD_SHARED_LIBS)
  target_link_options(ringcomm PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/ringcomm.map)
  set_target_properties(ringcomm PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/ringcomm.map)
endif()

target_link_libraries(ringcomm_internal PUBLIC ringcomm_objects)
target_include_directories(ringcomm_internal PUBLIC ${PROJECT_SOURCE_DIR}/src)

# Vendor libraries that the objects call; ringcomm_uses(TARGET NAME) in src/<room>/CMakeLists.txt collects them.
get_property(ringcomm_vendor_targets GLOBAL PROPERTY RINGCOMM_VENDOR_TARGETS)
get_property(ringcomm_vendor_names GLOBAL PROPERTY RINGCOMM_VENDOR_NAMES)
foreach(target ${ringcomm_vendor_targets})
  target_link_libraries(ringcomm_objects PRIVATE ${target})
  target_link_libraries(ringcomm_internal PUBLIC $<LINK_ONLY:${target}>)
  target_link_libraries(ringcomm PRIVATE $<BUILD_INTERFACE:${target}>)
endforeach()
if(NOT BUILD_SHARED_LIBS)  # who links an installed static ringcomm names the libraries
  foreach(name ${ringcomm_vendor_names})
    target_link_libraries(ringcomm PRIVATE $<INSTALL_INTERFACE:${name}>)
  endforeach()
endif()

# Halves the time of the sanitizer builds on two cores. Off by default, so that a missing include shows.
if(RINGCOMM_PCH)
  ringcomm_precompile(ringcomm_objects <algorithm> <array> <atomic> <chrono> <functional> <memory> <mutex> <span>
    <string> <vector>)
endif()
