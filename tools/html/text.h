// Foreign text inside a page of the kit.
#pragma once

#include "kernels/io/html/text.h"  // IWYU pragma: export
