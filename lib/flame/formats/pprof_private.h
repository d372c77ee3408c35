/* Declares the field numbers of profile.proto. */
#ifndef STALLKIT_FLAME_PPROF_PRIVATE_H
#define STALLKIT_FLAME_PPROF_PRIVATE_H

enum pprof_profile {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14
};
enum pprof_value_type { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum pprof_sample { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum pprof_mapping {
    MAPPING_ID = 1,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    MAPPING_HAS_INLINES = 10
};
enum pprof_location {
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4
};
enum pprof_line { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum pprof_function {
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4
};

#endif
