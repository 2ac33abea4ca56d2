# Properties of the one installed library; its sources are listed by src/<room>/CMakeLists.txt.
find_package(Threads REQUIRED)
configure_file(${PROJECT_SOURCE_DIR}/cmake/config.hpp.in ${PROJECT_BINARY_DIR}/include/ringcomm/config.hpp)
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.hpp.in ${PROJECT_BINARY_DIR}/include/ringcomm/version.hpp)
file(GLOB_RECURSE ringcomm_public_headers ${PROJECT_SOURCE_DIR}/include/ringcomm/*.hpp)
target_sources(ringcomm PUBLIC FILE_SET HEADERS
  BASE_DIRS ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
  FILES ${ringcomm_public_headers} ${PROJECT_BINARY_DIR}/include/ringcomm/config.hpp
        ${PROJECT_BINARY_DIR}/include/ringcomm/version.hpp)
target_include_directories(ringcomm PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_features(ringcomm PUBLIC cxx_std_20)
target_link_libraries(ringcomm PUBLIC Threads::Threads PRIVATE $<BUILD_INTERFACE:ringcomm_warnings>)
set_target_properties(ringcomm PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  POSITION_INDEPENDENT_CODE ON VERIFY_INTERFACE_HEADER_SETS ON)

# Halves the time of the sanitizer builds on two cores. Off by default, so that a missing include shows.
if(RINGCOMM_PCH)
  target_precompile_headers(ringcomm PRIVATE <algorithm> <array> <atomic> <chrono> <functional> <memory> <mutex> <span>
    <string> <vector>)
endif()
