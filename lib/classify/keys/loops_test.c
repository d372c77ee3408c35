/* Tests which stacks are those of a toolkit's loop that waits for work, and which are not although
 * the same functions are on them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/key.h"

enum { STACK_MAX = 1024 };

/* Adds a sample of frames, innermost first, separated by " < ". "image!function" is a function of a
 * library of the system, a function alone one of the app. Cuts the text into its names. */
static void add_stack(struct fixture *f, char *text) {
    static const char between[] = " < ";
    for (char *at = text, *next; at; at = next) {
        next = strstr(at, between);
        if (next) {
            *next = 0;
            next += sizeof between - 1;
        }
        char *function = strchr(at, '!');
        if (function) {
            *function++ = 0;
        }
        fixture_frame(f, function ? at : "Shop", !function, function ? function : at,
                      0x100 * (f->used + 1));
    }
    fixture_stack(f, 20);
}

static void check_stacks(const char *const *stacks, size_t n, enum key_status want) {
    struct rules *r = NULL;
    struct keyer *k = NULL;
    assert_int_equal(rules_new(&r, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(r, NULL), ST_OK);
    assert_int_equal(keyer_new(&k, &(struct key_options){.rules = r}, NULL), ST_OK);
    for (size_t i = 0; i < n; i++) {
        struct fixture f = {0};
        struct stall_key key;
        char text[STACK_MAX];
        assert_true(strlen(stacks[i]) < sizeof text);
        memcpy(text, stacks[i], strlen(stacks[i]) + 1);
        f.d.device.os = strstr(text, "AppKit!") ? "macOS 15.3" : "Debian GNU/Linux 12 (bookworm)";
        add_stack(&f, text);
        assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
        if (key.status != want) {
            fail_msg("status %d of %s", (int)key.status, stacks[i]);
        }
    }
    keyer_free(k);
    rules_free(r);
}

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define POLL      "libc.so!__poll < "
#define EPOLL     "libc.so!epoll_wait < "
#define COND      "libc.so!__futex_abstimed_wait_common < libc.so!pthread_cond_wait < "
#define MACH                                                                                       \
    "libsystem_kernel.dylib!mach_msg < CoreFoundation!__CFRunLoopServiceMachPort < "               \
    "CoreFoundation!__CFRunLoopRun < "
#define NEXT_EVENT MACH "HIToolbox!ReceiveNextEventCommon < AppKit!_DPSNextEvent < "
#define GO_FUTEX   "runtime.futex.abi0 < runtime.futexsleep < runtime.notesleep < "

static void a_loop_of_a_toolkit_that_waits_is_idle(void **state) {
    (void)state;
    static const char *const stacks[] = {
        POLL "libSDL2.so!X11_WaitEventTimeout < libSDL2.so!SDL_WaitEventTimeout_Device < "
             "libSDL2.so!SDL_WaitEventTimeout_REAL < libSDL2.so!SDL_WaitEvent < game_loop < main",
        POLL "libSDL3.so!SDL_IOReady < libSDL3.so!Wayland_WaitEventTimeout < "
             "libSDL3.so!SDL_WaitEventTimeoutNS < libSDL3.so!SDL_WaitEvent < main",
        POLL "libglfw.so!_glfwPollPOSIX < libglfw.so!waitForAnyEvent < "
             "libglfw.so!_glfwWaitEventsX11 < libglfw.so!glfwWaitEvents < App::run < main",
        "libc.so!select < libtcl.so!Tcl_WaitForEvent < libtcl.so!Tcl_DoOneEvent < "
        "_tkinter.so!_tkinter_tkapp_mainloop < main",
        COND
        "libtcl.so!Tcl_ConditionWait < libtcl.so!Tcl_WaitForEvent < libtcl.so!Tcl_DoOneEvent < "
        "libtk.so!Tk_MainLoop < main",
        EPOLL "rustix::event::epoll::wait < polling::epoll::Poller::wait_deadline < "
              "calloop::sys::Poll::poll < calloop::loop_logic::EventLoop<T>::dispatch_events < "
              "winit::platform_impl::linux::wayland::event_loop::EventLoop<T>::pump_events < "
              "winit::event_loop::EventLoop<T>::run < app::main",
        EPOLL "mio::sys::unix::selector::epoll::Selector::select < mio::poll::Poll::poll < "
              "tokio::runtime::io::driver::Driver::turn < tokio::runtime::driver::Driver::park < "
              "tokio::runtime::scheduler::current_thread::Context::park < "
              "tokio::runtime::scheduler::current_thread::CoreGuard::block_on < "
              "tokio::runtime::runtime::Runtime::block_on < svc::main < main",
        GO_FUTEX "runtime.mPark < runtime.stopm < runtime.findRunnable < runtime.schedule < "
                 "runtime.park_m < runtime.mcall",
        "internal/runtime/syscall.Syscall6 < runtime.netpoll < runtime.findRunnable < "
        "runtime.schedule < runtime.mstart1 < runtime.mstart0 < runtime.mstart",
        COND
        "base::ConditionVariable::Wait < base::WaitableEvent::TimedWaitImpl < "
        "base::WaitableEvent::TimedWait < base::MessagePumpDefault::Run < base::RunLoop::Run < "
        "content::RendererMain < main",
        NEXT_EVENT "XUL!-[GeckoNSApplication nextEventMatchingMask:untilDate:inMode:dequeue:] < "
                   "AppKit!-[NSApplication run] < XUL!nsAppShell::Run < main",
        NEXT_EVENT "AppKit!-[NSApplication run] < libglass.dylib!-[GlassApplication runLoop:] < "
                   "Foundation!__NSThreadPerformPerform < CoreFoundation!__CFRunLoopDoSources0 < "
                   "CoreFoundation!__CFRunLoopRun < libjli.dylib!apple_main < main",
        COND
        "libxul.so!mozilla::detail::ConditionVariableImpl::wait < "
        "libxul.so!mozilla::OffTheBooksCondVar::Wait < "
        "libxul.so!mozilla::ThreadEventQueue::GetEvent < libxul.so!nsThread::ProcessNextEvent < "
        "libxul.so!NS_ProcessNextEvent < libxul.so!MessageLoop::Run < main",
        COND "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await < "
             "java.awt.EventQueue.getNextEvent < com.intellij.ide.IdeEventQueue.getNextEvent < "
             "java.awt.EventDispatchThread.pumpEvents < java.awt.EventDispatchThread.run",
        EPOLL
        "libnetty.so!netty_epoll_native_epollWait0 < io.netty.channel.epoll.Native.epollWait < "
        "io.netty.channel.epoll.EpollEventLoop.epollWait < "
        "io.netty.channel.epoll.EpollEventLoop.run < java.lang.Thread.run",
        POLL "libcli.so!Avalonia.X11.NativeMethods::poll < "
             "libcli.so!Avalonia.X11.X11PlatformThreading::RunLoop < "
             "libcli.so!Avalonia.Threading.Dispatcher::MainLoop < Program::Main",
        "libc.so!pselect < xg_select < wait_reading_process_output < kbd_buffer_get_event < "
        "read_char < read_key_sequence < emacs!command_loop_1 < emacs!recursive_edit_1 < main",
        EPOLL "libwayland-server.so!wl_event_loop_dispatch < libwayland-server.so!wl_display_run < "
              "server_run < main",
        EPOLL
        "boost::asio::detail::epoll_reactor::run < boost::asio::detail::scheduler::do_run_one < "
        "boost::asio::detail::scheduler::run < boost::asio::io_context::run < main",
        EPOLL
        "libevent.so!epoll_dispatch < libevent.so!event_base_loop < folly::EventBase::loopBody < "
        "folly::EventBase::loopForever < main",
        POLL "libfltk.so!Fl::wait < libfltk.so!Fl::run < main",
        "libc.so!nanosleep < OS_Unix::delay_usec < OS::add_frame_delay < OS_LinuxBSD::run < main",
    };
    check_stacks(stacks, LENGTH(stacks), KEY_IDLE);
}

static void a_wait_of_the_apps_is_no_loop(void **state) {
    (void)state;
    static const char *const stacks[] = {
        /* what main does not call, a handler may */
        EPOLL
        "mio::poll::Poll::poll < tokio::runtime::io::driver::Driver::turn < "
        "tokio::runtime::scheduler::current_thread::Context::park < "
        "tokio::runtime::scheduler::current_thread::CoreGuard::block_on < "
        "tokio::runtime::runtime::Runtime::block_on < shop::fetch < shop::tui < svc::main < main",
        /* the task of a loop */
        "libc.so!read < svc::load < tokio::runtime::scheduler::current_thread::CoreGuard::block_on "
        "< "
        "tokio::runtime::runtime::Runtime::block_on < svc::main < main",
        /* a loop that a handler of the same toolkit runs */
        POLL "libglfw.so!_glfwWaitEventsX11 < libglfw.so!glfwWaitEvents < shop_wait < "
             "libglfw.so!_glfwInputKey < libglfw.so!glfwWaitEvents < main",
        COND
        "base::WaitableEvent::TimedWait < base::MessagePumpDefault::Run < base::RunLoop::Run < "
        "shop::WaitForReply < base::TaskAnnotator::RunTaskImpl < base::MessagePumpDefault::Run < "
        "base::RunLoop::Run < main",
        POLL "libglib.so!g_main_context_iteration < libxul.so!nsAppShell::ProcessNextNativeEvent < "
             "libxul.so!nsThread::ProcessNextEvent < libxul.so!NS_ProcessNextEvent < "
             "libxul.so!mozilla::dom::XMLHttpRequestMainThread::SendInternal < "
             "libxul.so!nsThread::ProcessNextEvent < libxul.so!MessageLoop::Run < "
             "libxul.so!nsAppStartup::Run < main",
        "libc.so!select < libtcl.so!Tcl_WaitForEvent < libtcl.so!Tcl_DoOneEvent < "
        "libtcl.so!Tcl_VwaitObjCmd < libtcl.so!Tcl_EvalObjv < libtcl.so!Tcl_ServiceEvent < "
        "libtcl.so!Tcl_DoOneEvent < libtk.so!Tk_MainLoop < main",
        /* another wait in the loop's own code */
        COND "base::WaitableEvent::TimedWait < shop::Sync < base::MessagePumpDefault::Run < "
             "base::RunLoop::Run < main",
        "libc.so!pselect < wait_reading_process_output < Faccept_process_output < eval_sub < "
        "command_loop_1 < recursive_edit_1 < main",
        /* functions of the app that are named as other programs' loops */
        POLL "run_poll_loop < Printer::wait < Game::frame < main",
        EPOLL "scheduler_wait < Job::join < Game::frame < main",
        EPOLL
        "boost::asio::detail::epoll_reactor::run < boost::asio::io_context::run < Client::get < "
        "Game::on_click < Game::frame < main",
        "libc.so!__select < Tcl_WaitForEvent < Tcl_DoOneEvent < Client::get < Game::frame < main",
        /* Go: the thread's own goroutine waits, or the stack tells which one does */
        GO_FUTEX "runtime.stoplockedm < runtime.schedule < runtime.park_m < runtime.mcall",
        GO_FUTEX
        "runtime.mPark < runtime.stopm < runtime.findRunnable < runtime.schedule < "
        "runtime.park_m < runtime.mcall < runtime.gopark < runtime.chanrecv1 < main.load < "
        "main.main < runtime.main",
        "libc.so!nanosleep < OS_Unix::delay_usec < Shop::_process < OS_LinuxBSD::run < main",
        NEXT_EVENT "-[ShopTracker trackMouse] < AppKit!-[NSWindow sendEvent:] < "
                   "AppKit!-[NSApplication run] < main",
    };
    check_stacks(stacks, LENGTH(stacks), KEY_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_of_a_toolkit_that_waits_is_idle),
        cmocka_unit_test(a_wait_of_the_apps_is_no_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
