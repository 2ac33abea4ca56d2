# ringcomm_test(core_tests SOURCES a_test.cpp b_test.cpp LABELS unit [TIMEOUT 60]): one GoogleTest program whose cases
# are ctest tests. Tests may look into src/ and tests/.
#
# RINGCOMM_TESTS picks what is built: all, minimal (values, and one path through everything) or threads (what
# ThreadSanitizer can judge: one process, several threads).
set(RINGCOMM_TESTS all CACHE STRING "Which tests to build: all, minimal or threads")
set(RINGCOMM_TESTS_minimal core_tests topology_tests fuzz_replay_tests smoke_tests)
set(RINGCOMM_TESTS_threads device_tests transport_tests comm_tests collectives_tests attention_tests)
# Under a sanitizer, starting a process takes longer than most cases.
set(RINGCOMM_TEST_SHARDS 0 CACHE STRING "0: each case is a ctest test; N: each program runs its cases in N processes")
# The tests' own code need not be fast, but it should compile fast.
set(RINGCOMM_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)
# g++ 12 at -O1 takes an empty std::optional for an uninitialised value, and objects to std::string + literal and to moved
# strings of literals (its bugs 105651, 105329); the address sanitizer sees the true ones.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND RINGCOMM_TEST_OPTIONS -Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict)
endif()

# Where the source and the programs are: a header and no option of every command line, so that a clone in another folder finds
# the other objects in ccache.
configure_file(${CMAKE_CURRENT_LIST_DIR}/test_paths.hpp.in ${PROJECT_BINARY_DIR}/test_include/test_paths.hpp)

function(ringcomm_test name)
  cmake_parse_arguments(arg "SERIAL" "TIMEOUT" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT RINGCOMM_TESTS STREQUAL "all" AND NOT name IN_LIST RINGCOMM_TESTS_${RINGCOMM_TESTS})
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${RINGCOMM_TEST_OPTIONS})
  target_link_libraries(${name} PRIVATE ringcomm_internal ringcomm_warnings GTest::gtest GTest::gtest_main ${arg_LIBRARIES})
  if(RINGCOMM_PCH)
    if(NOT TARGET ringcomm_test_pch)
      file(WRITE ${CMAKE_BINARY_DIR}/test_pch.cpp "")
      add_library(ringcomm_test_pch OBJECT ${CMAKE_BINARY_DIR}/test_pch.cpp)
      set_target_properties(ringcomm_test_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_link_libraries(ringcomm_test_pch PRIVATE ringcomm_objects ringcomm_warnings GTest::gtest)
      target_compile_options(ringcomm_test_pch PRIVATE ${RINGCOMM_TEST_OPTIONS})
      ringcomm_precompile(ringcomm_test_pch <gtest/gtest.h> <algorithm> <array> <atomic> <chrono>
        <functional> <memory> <mutex> <span> <string> <thread> <vector>)
    endif()
    target_precompile_headers(${name} REUSE_FROM ringcomm_test_pch)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests ${PROJECT_BINARY_DIR}/test_include)
  # SERIAL: starts so many polling processes that nothing else should run beside it.
  if(RINGCOMM_TEST_SHARDS)
    math(EXPR last "${RINGCOMM_TEST_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}.${shard} COMMAND ${name})
      set_tests_properties(${name}.${shard} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 900 RUN_SERIAL "${arg_SERIAL}"
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${RINGCOMM_TEST_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endforeach()
    return()
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    RUN_SERIAL "${arg_SERIAL}")
endfunction()

# ringcomm_docs_test(plan.docs plan.md): runs the commands that docs/plan.md shows, with this build's programs.
function(ringcomm_docs_test name page)
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    add_test(NAME ${name} COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/lint/fences.py
      ${PROJECT_SOURCE_DIR}/docs/${page} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    set_tests_properties(${name} PROPERTIES LABELS programs)
  endif()
endfunction()
