/* Says that the target is an iPhone. */
#ifndef STANDIN_TARGET_CONDITIONALS_H
#define STANDIN_TARGET_CONDITIONALS_H

#define TARGET_OS_IPHONE      1
#define TARGET_OS_IOS         1
#define TARGET_OS_TV          0
#define TARGET_OS_WATCH       0
#define TARGET_OS_VISION      0
#define TARGET_OS_MACCATALYST 0

#endif
