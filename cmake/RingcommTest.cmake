# ringcomm_test(core_tests SOURCES a_test.cpp b_test.cpp LABELS unit [TIMEOUT 60]): one GoogleTest program whose cases
# are ctest tests. Tests may look into src/ and tests/.
function(ringcomm_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ringcomm ringcomm_warnings GTest::gtest GTest::gtest_main ${arg_LIBRARIES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE RINGCOMM_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RINGCOMM_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()
