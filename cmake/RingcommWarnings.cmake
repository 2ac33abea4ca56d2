# Warnings are errors for our own targets only. Contraction is off everywhere: the softmax merge must give the same bits
# whatever order its arguments come in, and -ffast-math is banned (the -inf and NaN rules depend on IEEE).
add_library(ringcomm_warnings INTERFACE)
target_compile_options(ringcomm_warnings INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wundef -Werror -ffp-contract=off
  $<$<CONFIG:Debug>:-fno-omit-frame-pointer>)
if(RINGCOMM_SANITIZE)
  target_compile_options(ringcomm_warnings INTERFACE -fsanitize=${RINGCOMM_SANITIZE} -fno-omit-frame-pointer)
  if(RINGCOMM_SANITIZE MATCHES "undefined")
    target_compile_options(ringcomm_warnings INTERFACE -fno-sanitize-recover=all)
  endif()
  target_link_options(ringcomm_warnings INTERFACE -fsanitize=${RINGCOMM_SANITIZE})
endif()
