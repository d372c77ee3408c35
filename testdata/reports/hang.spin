Date/Time:        2026-11-20 10:10:14.120 +0100
End time:         2026-11-20 10:12:44.120 +0100
OS Version:       iPhone OS 18.7 (Build 22H20)
Architecture:     arm64e
Report Version:   53
Incident Identifier: 00000000-1111-4222-8333-000000000028

Data Source:      Stackshots
Shared Cache:     2AE032C1-0000-4000-8000-000000000001 slid base address 0x180000000, slide 0x0

Command:          Shop
Path:             /private/var/containers/Bundle/Application/9907EBFB-9352-46E9-8683-2D3987B026B5/Shop.app/Shop
Identifier:       com.example.shop
Version:          5.3.1 (1234)
Architecture:     arm64
PID:              301

Event:            hang
Action taken:     none
Duration:         150.41s
Duration Sampled: 119.32s
Steps:            19 (100ms sampling interval)

Hardware model:   iPhone13,3
Active cpus:      6

Heaviest stack for the target process:
  19  ??? (Shop + 1) [0x1b2bb8e4c]


Process:          mediad [88]
UUID:             AA8EBB25-0000-4000-8000-000000000002
Num samples:      2 (9%)
  Thread 0x7    2 samples (1-2)    priority 4
  2  ??? (mediad + 6324) [0x1007698b4]

  Binary Images:
           0x100768000 -                ???  mediad  <AA8EBB25-0000-4000-8000-000000000002>  /usr/libexec/mediad


Process:          Shop [301]
UUID:             4C4C442C-5555-3144-A1DE-7AABF56A019C
Path:             /private/var/containers/Bundle/Application/9907EBFB-9352-46E9-8683-2D3987B026B5/Shop.app/Shop
Num samples:      19 (86%)
  Thread 0x103    DispatchQueue "com.apple.main-thread"(1)    19 samples (1-19)    priority 47 (base 47)
  <process frontmost, thread QoS user interactive>
  19  start + 148 (dyld + 89676) [0x1b2bb8e4c] 1-19
    19  ??? (Shop + 16920) [0x104c8c218] 1-19
      19  UIApplicationMain + 164 (UIKitCore + 3098320) [0x18f5b86d0] 1-19
        19  -[UIApplication _run] + 36 (UIKitCore + 3100868) [0x18f5b90c4] 1-19
          19  GSEventRunModal + 36 (GraphicsServices + 5528) [0x1d3f06598] 1-19
            19  CFRunLoopRunSpecific + 148 (CoreFoundation + 498516) [0x18c75ab54] 1-19
              19  __CFRunLoopRun + 228 (CoreFoundation + 501776) [0x18c75b810] 1-19
                19  __CFRunLoopDoSources0 + 100 (CoreFoundation + 507684) [0x18c75cf24] 1-19
                  19  -[UIApplication sendAction:to:from:forEvent:] + 84 (UIKitCore + 1125440) [0x18f3d6c40] 1-19
                    16  ??? (Shop + 16724) [0x104c8c154] 1-16
                      4  ??? (Shop + 17148) [0x104c8c2fc] 1-4
                       *1   trap + 223 (kernel + 39327) [0xffffff800021999f]
                      12  ??? (Shop + 17180) [0x104c8c31c] 1-12
                        12  write + 84 (libsystem_kernel.dylib + 11060) [0x1dc4ecb34] 1-12
                         *1   trap + 223 (kernel + 39327) [0xffffff800021999f]
                    3  ??? (Shop + 16748) [0x104c8c16c] 1-3
                      3  ??? (Shop + 17404) [0x104c8c3fc] 1-3
                        3  ??? (Shop + 17600) [0x104c8c4c0] 1-3
                          3  fsync + 100 (libsystem_kernel.dylib + 24384) [0x1dc4eff40] 1-3
                           *1   trap + 223 (kernel + 39327) [0xffffff800021999f]
  Thread 0x1f3    Thread name "com.example.net"    3 samples (1-3)    priority 31 (base 31)
  3  ??? (dyld + 24) [0x1b2ba3018] 1-3

  Binary Images:
              0x104c88000 -        0x104c97fff  Shop <4C4C442C-5555-3144-A1DE-7AABF56A019C>  /private/var/containers/Bundle/Application/9907EBFB-9352-46E9-8683-2D3987B026B5/Shop.app/Shop
              0x18f2c4000 -        0x191113fff  UIKitCore <0CE08845-E892-4FDB-8F47-2B9E9FB71841>  /System/Library/PrivateFrameworks/UIKitCore.framework/UIKitCore
              0x18c6e1000 -        0x18cc27fff  CoreFoundation <EC051196-730F-4FD4-AA0E-7E69B1CE3E67>  /System/Library/Frameworks/CoreFoundation.framework/CoreFoundation
              0x1d3f05000 -        0x1d3f0dfff  GraphicsServices <D346A0DC-CBFD-4609-B426-4906B882C694>  /System/Library/PrivateFrameworks/GraphicsServices.framework/GraphicsServices
              0x1dc4ea000 -        0x1dc524fff  libsystem_kernel.dylib <3F1A5622-A1EF-44A2-9E85-A57BACC7D2C5>  /usr/lib/system/libsystem_kernel.dylib
              0x21c8f0000 -        0x21c8fcfff  libsystem_pthread.dylib <FED6730E-5514-4554-8738-DA69B0CDA63E>  /usr/lib/system/libsystem_pthread.dylib
              0x194631000 -        0x194676fff  libdispatch.dylib <19AEF17B-174C-4866-9C7F-F923DCF20B39>  /usr/lib/system/libdispatch.dylib
              0x1b2ba3000 -        0x1b2c31fff  dyld <37CFB067-E82D-4913-9D17-738871D56B2F>  /usr/lib/dyld

