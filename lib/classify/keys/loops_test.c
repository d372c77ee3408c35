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
 * library of the system, "image!?" one without a name, a function alone one of the app. Cuts the
 * text into its names. */
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
        const char *name = function ? function : at;
        fixture_frame(f, function ? at : "Shop", !function, strcmp(name, "?") == 0 ? NULL : name,
                      0x100 * (f->used + 1));
    }
    fixture_stack(f, 20);
}

static void check_stacks(const char *const *stacks, size_t n, enum key_status want) {
    struct rules *r = NULL;
    struct keyer *k = NULL;
    size_t bad = 0;
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
            print_error("status %d of %s\n", (int)key.status, stacks[i]);
            bad++;
        }
    }
    keyer_free(k);
    rules_free(r);
    assert_int_equal(bad, 0);
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

#define SELECT    "libc.so!select < "
#define GLIB_LOOP "libglib.so!g_main_context_iterate < libglib.so!g_main_context_iteration < "
#define NIO                                                                                        \
    EPOLL "libnio.so!Java_sun_nio_ch_EPoll_wait < sun.nio.ch.EPoll.wait < "                        \
          "sun.nio.ch.EPollSelectorImpl.doSelect < sun.nio.ch.SelectorImpl.select < "
#define WORKER                                                                                     \
    "libc.so!syscall < parking_lot_core::thread_parker::imp::ThreadParker::futex_wait < "          \
    "parking_lot::condvar::Condvar::wait_until_internal < "                                        \
    "tokio::runtime::scheduler::multi_thread::park::Parker::park < "
#define POSTGRES                                                                                   \
    EPOLL "postgres!WaitEventSetWaitBlock < postgres!WaitEventSetWait < postgres!secure_read < "
#define BACKEND                                                                                    \
    "postgres!PostgresMain < postgres!BackendMain < postgres!postmaster_child_launch < "           \
    "postgres!ServerLoop < postgres!PostmasterMain < postgres!main"

static void a_loop_with_a_wait_of_its_own_is_idle(void **state) {
    (void)state;
    static const char *const stacks[] = {
        POLL "libxul.so!PollWrapper < " GLIB_LOOP "libxul.so!nsAppShell::ProcessNextNativeEvent < "
             "libxul.so!nsThread::ProcessNextEvent < libxul.so!MessageLoop::Run < main",
        EPOLL "polling::epoll::Poller::wait < calloop::loop_logic::EventLoop<T>::dispatch < "
              "winit::platform_impl::linux::x11::EventLoop<T>::poll_events_with_timeout < "
              "winit::event_loop::EventLoop<T>::run_app < app::main < main",
        WORKER "tokio::runtime::scheduler::multi_thread::worker::Context::park_timeout < "
               "tokio::runtime::scheduler::multi_thread::worker::Context::run < "
               "tokio::runtime::scheduler::multi_thread::worker::run < "
               "tokio::runtime::blocking::pool::Inner::run < std::sys::thread::thread_start",
        EPOLL "polling::Poller::wait < async_io::reactor::ReactorLock::react < "
              "async_io::driver::main_loop < std::sys::thread::thread_start",
        EPOLL "libecore.so!_ecore_main_select < libecore.so!_ecore_main_loop_iterate_internal < "
              "libecore.so!_ecore_main_loop_begin < libecore.so!_efl_loop_begin < main",
        EPOLL "python3!select_epoll_poll_impl < epollreactor.py!EPollReactor.doPoll < "
              "base.py!_SignalReactorMixin.mainLoop < base.py!_SignalReactorMixin.run < main",
        POLL "poll.py!Hub.do_poll < poll.py!Hub.wait < hub.py!BaseHub.run < main",
        SELECT "python3!select_select_impl < arbiter.py!Arbiter.sleep < arbiter.py!Arbiter.run < "
               "main",
        SELECT "python3!select_select_impl < sync.py!SyncWorker.wait < "
               "sync.py!SyncWorker.run_for_one < sync.py!SyncWorker.run < main",
        POLL "libwayland-client.so!wl_display_poll < "
             "libwayland-client.so!wl_display_dispatch_queue < "
             "libwayland-client.so!wl_display_dispatch < main",
        POLL "libxcb.so!_xcb_conn_wait < libxcb.so!xcb_wait_for_event < libX11.so!_XReadEvents < "
             "libX11.so!XNextEvent < main",
        POLL "libpulse.so!pa_mainloop_poll < libpulse.so!pa_mainloop_iterate < "
             "libpulse.so!pa_mainloop_run < main",
        EPOLL "libspa-support.so!impl_pollfd_wait < libspa-support.so!loop_iterate < "
              "libpipewire.so!pw_main_loop_run < main",
        NIO "org.apache.tomcat.util.net.NioEndpoint$Poller.run < java.lang.Thread.run",
        NIO "org.eclipse.jetty.io.ManagedSelector.nioSelect < "
            "org.eclipse.jetty.io.ManagedSelector.select < "
            "org.eclipse.jetty.io.ManagedSelector$SelectorProducer.select < "
            "org.eclipse.jetty.io.ManagedSelector$SelectorProducer.produce < java.lang.Thread.run",
        NIO "org.xnio.nio.WorkerThread.run",
    };
    check_stacks(stacks, LENGTH(stacks), KEY_IDLE);
}

static void a_server_that_waits_for_a_client_is_idle(void **state) {
    (void)state;
    static const char *const stacks[] = {
        POSTGRES "postgres!pq_recvbuf < postgres!pq_getbyte < postgres!SocketBackend < " BACKEND,
        EPOLL "postgres!WaitEventSetWait < postgres!WaitLatch < postgres!WalWriterMain < "
              "postgres!AuxiliaryProcessMain < postgres!PostmasterMain < postgres!main",
        EPOLL "postgres!WaitEventSetWait < postgres!ServerLoop < postgres!PostmasterMain < "
              "postgres!main",
        POLL "mysqld!Mysqld_socket_listener::listen_for_connection_event < "
             "mysqld!Connection_acceptor<T>::connection_event_loop < mysqld!mysqld_main < main",
        EPOLL "haproxy!_do_poll < haproxy!run_poll_loop < haproxy!main",
        EPOLL "lighttpd!fdevent_linux_sysepoll_poll < lighttpd!server_main_loop < lighttpd!main",
        EPOLL "mosquitto!mux_epoll__handle < mosquitto!mux__handle < "
              "mosquitto!mosquitto_main_loop < mosquitto!main",
        POLL "sshd!server_accept_loop < sshd!main",
        POLL "sshd!wait_until_can_do_something < sshd!server_loop2 < sshd!do_authenticated < "
             "sshd!main",
        POLL "ssh!client_wait_until_can_do_something < ssh!client_loop < ssh!main",
        EPOLL "php-fpm!fpm_event_epoll_wait < php-fpm!fpm_event_loop < php-fpm!fpm_run < "
              "php-fpm!main",
        "libc.so!accept < php-fpm!fcgi_accept_request < php-fpm!main",
        EPOLL "uwsgi!event_queue_wait < uwsgi!wsgi_req_accept < uwsgi!simple_loop_run < uwsgi!main",
        "libc.so!sigsuspend < nginx!ngx_master_process_cycle < nginx!main",
        EPOLL "nginx!ngx_epoll_process_events < nginx!ngx_process_events_and_timers < "
              "nginx!ngx_worker_process_cycle < nginx!ngx_spawn_process < "
              "nginx!ngx_start_worker_processes < nginx!ngx_master_process_cycle < nginx!main",
        EPOLL "dbus-daemon!socket_set_epoll_poll < dbus-daemon!_dbus_loop_iterate < "
              "dbus-daemon!_dbus_loop_run < dbus-daemon!main",
        EPOLL "Xorg!ospoll_wait < Xorg!WaitForSomething < Xorg!Dispatch < Xorg!dix_main < main",
        POLL "qemu-system-x86_64!qemu_poll_ns < qemu-system-x86_64!os_host_main_loop_wait < "
             "qemu-system-x86_64!main_loop_wait < qemu-system-x86_64!qemu_main_loop < main",
        POLL "libgnustep-base.so!-[GSRunLoopCtxt pollUntil:within:] < "
             "libgnustep-base.so!-[NSRunLoop acceptInputForMode:beforeDate:] < "
             "libgnustep-base.so!-[NSRunLoop runMode:beforeDate:] < "
             "libgnustep-gui.so!-[NSApplication run] < main",
        POLL "libwebsockets.so!_lws_plat_service_tsi < libwebsockets.so!lws_service < main",
    };
    check_stacks(stacks, LENGTH(stacks), KEY_IDLE);
}

static void a_loop_without_names_is_known_by_its_library(void **state) {
    (void)state;
    static const char *const idle[] = {
        POLL "libglfw.so!? < libglfw.so!? < libglfw.so!? < main",
        POLL "libXt.so!? < libXt.so!? < main",
        SELECT "libtcl.so!Tcl_WaitForEvent < libtcl.so!Tcl_DoOneEvent < libtk.so!? < libtk.so!? < "
               "main",
        SELECT "libtcl.so!Tcl_WaitForEvent < libtcl.so!Tcl_DoOneEvent < _tkinter.so!? < "
               "__init__.py!Misc.mainloop < main",
        POLL "libglib.so!? < libglib.so!? < libmutter.so!meta_context_run_main_loop < main",
        EPOLL "libnetty_transport.so!? < io.netty.channel.epoll.Native.epollWait < "
              "io.netty.channel.epoll.EpollEventLoop.epollWait < "
              "io.netty.channel.epoll.EpollEventLoop.run < java.lang.Thread.run",
    };
    static const char *const stalls[] = {
        /* a function of the app calls it */
        POLL "libglfw.so!? < libglfw.so!? < Shop::wait < main",
        /* what the toolkit's library itself does before its loop */
        "libc.so!read < libSDL2.so!? < libSDL2.so!? < main",
        "libc.so!ioctl < libSDL2.so!? < main",
        /* another library, which the toolkit's library calls, waits */
        POLL "libxcb.so!? < libX11.so!? < libglfw.so!? < main",
        POLL "libfoo.so!? < libfoo.so!? < main",
        /* a handler, which the toolkit called, waits */
        POLL "libglfw.so!? < Shop::on_key < libglfw.so!? < main",
        SELECT "libtcl.so!Tcl_WaitForEvent < libtcl.so!Tcl_DoOneEvent < libtk.so!? < "
               "libtcl.so!Tcl_EvalObjv < libtcl.so!Tcl_ServiceEvent < libtcl.so!Tcl_DoOneEvent < "
               "libtk.so!? < main",
    };
    check_stacks(idle, LENGTH(idle), KEY_IDLE);
    check_stacks(stalls, LENGTH(stalls), KEY_OK);
}

static void a_wait_inside_of_a_loop_is_none_of_its_own(void **state) {
    (void)state;
    static const char *const stacks[] = {
        /* a handler, or a task, that waits in the same way */
        POLL "libxul.so!mozilla::dom::Request::Wait < libxul.so!nsThread::ProcessNextEvent < "
             "libxul.so!MessageLoop::Run < main",
        POLL "libgtk.so!gtk_wait < libglib.so!g_main_context_iterate < libglib.so!g_main_loop_run "
             "< main",
        EPOLL "polling::epoll::Poller::wait < calloop::loop_logic::EventLoop<T>::dispatch < "
              "shop::wait < winit::platform_impl::linux::x11::EventLoop<T>::single_iteration < "
              "winit::event_loop::EventLoop<T>::run_app < app::main < main",
        WORKER "shop::join < tokio::runtime::scheduler::multi_thread::worker::Context::run < "
               "tokio::runtime::scheduler::multi_thread::worker::run",
        "libc.so!syscall < parking_lot_core::thread_parker::imp::ThreadParker::futex_wait < "
        "parking_lot::condvar::Condvar::wait_until_internal < shop::Queue::pop < "
        "tokio::runtime::scheduler::multi_thread::worker::Context::run < "
        "tokio::runtime::scheduler::multi_thread::worker::run",
        EPOLL "python3!select_epoll_poll_impl < shop_fetch < base.py!ReactorBase.runUntilCurrent < "
              "base.py!_SignalReactorMixin.mainLoop < main",
        SELECT "python3!select_select_impl < shop_fetch < sync.py!SyncWorker.run_for_one < main",
        /* the display server's answer, and its events where no main function asks for them */
        POLL "libwayland-client.so!wl_display_poll < "
             "libwayland-client.so!wl_display_dispatch_queue < "
             "libwayland-client.so!wl_display_roundtrip < main",
        POLL "libwayland-client.so!wl_display_poll < "
             "libwayland-client.so!wl_display_dispatch_queue < "
             "libwayland-client.so!wl_display_dispatch < Shop::configure < main",
        POLL "libxcb.so!_xcb_conn_wait < libxcb.so!xcb_wait_for_reply < libX11.so!_XReply < "
             "libX11.so!XSync < main",
        POLL "libxcb.so!_xcb_conn_wait < libxcb.so!xcb_wait_for_event < libX11.so!_XReadEvents < "
             "libX11.so!XNextEvent < Shop::wait_for_map < Shop::show < main",
        EPOLL "libspa-support.so!impl_pollfd_wait < libspa-support.so!loop_iterate < "
              "libpipewire.so!pw_main_loop_run < Shop::roundtrip < main",
        NIO "com.shop.Sync.fetch < org.xnio.nio.WorkerThread.run",
        NIO "com.shop.Sync.fetch < com.shop.Main.main",
        /* a query that waits for its client, for a lock, or for a worker */
        POSTGRES "postgres!pq_recvbuf < postgres!pq_getbytes < postgres!CopyGetData < "
                 "postgres!DoCopy < postgres!exec_simple_query < " BACKEND,
        EPOLL "postgres!WaitEventSetWait < postgres!WaitLatch < postgres!ProcSleep < "
              "postgres!LockAcquire < postgres!exec_simple_query < " BACKEND,
        POLL "libpq.so!pqSocketPoll < haproxy!check_agent < haproxy!run_poll_loop < haproxy!main",
        "libc.so!accept < php-fpm!zif_stream_socket_accept < php-fpm!php_execute_script < "
        "php-fpm!main",
        "libc.so!poll < Xorg!glamor_wait < Xorg!ProcPutImage < Xorg!Dispatch < main",
        POLL "libgnustep-base.so!-[GSRunLoopCtxt pollUntil:within:] < "
             "libgnustep-base.so!-[NSRunLoop acceptInputForMode:beforeDate:] < "
             "libgnustep-base.so!-[NSRunLoop runMode:beforeDate:] < -[Shop waitFor:] < "
             "libgnustep-gui.so!-[NSApplication sendEvent:] < "
             "libgnustep-gui.so!-[NSApplication run] < main",
        /* functions of the app that are named as other programs' loops */
        POLL "wait_until_can_do_something < server_loop2 < main",
        EPOLL "ospoll_wait < WaitForSomething < Dispatch < main",
        EPOLL "WaitEventSetWait < secure_read < pq_recvbuf < pq_getbyte < SocketBackend < "
              "PostgresMain < main",
    };
    check_stacks(stacks, LENGTH(stacks), KEY_OK);
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
        GO_FUTEX "runtime.mPark < runtime.stoplockedm < runtime.schedule < runtime.park_m < "
                 "runtime.mcall < runtime.mstart.abi0",
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

/* Functions that no rule names may stand between a loop and its wait: wrappers of the system call,
 * helpers of the loop's own class or family, and overrides of the loop's functions. */
static void what_only_wraps_the_wait_of_a_loop_is_part_of_it(void **state) {
    (void)state;
    static const char *const idle[] = {
        "libc.so!__ppoll < libQt6Core.so!qt_ppoll < libQt6Core.so!qt_safe_poll < "
        "libQt6Core.so!QEventDispatcherUNIX::processEvents < "
        "libQt6XcbQpa.so!QXcbUnixEventDispatcher::processEvents < "
        "libQt6Core.so!QEventLoop::exec < libQt6Core.so!QCoreApplication::exec < main",
        POLL "libglib.so!g_main_context_iteration < "
             "libQtCore.so!QEventDispatcherGlib::processEvents < libQtGui.so!? < "
             "libQtCore.so!QEventLoop::processEvents < libQtCore.so!QEventLoop::exec < main",
        EPOLL "libutils.so!android::Looper::pollInner < libandroid.so!ALooper_pollOnce < "
              "android::Looper::pollAll < android_main",
        /* a runtime that is linked statically, and makes its system calls itself */
        "__syscall_cp_asm < __syscall_cp_c < epoll_pwait < uv__io_poll < uv_run < main",
        "libc.so!syscall < uv__epoll_wait < uv__io_poll < uv_run < main",
        "rustix::backend::arch::asm::syscall4 < rustix::backend::event::syscalls::epoll_wait < "
        "rustix::event::epoll::wait < polling::epoll::Poller::wait_deadline < "
        "calloop::sys::Poll::poll < calloop::loop_logic::EventLoop<T>::dispatch < "
        "winit::platform_impl::linux::wayland::event_loop::EventLoop<T>::loop_dispatch < "
        "winit::platform_impl::linux::wayland::event_loop::EventLoop<T>::pump_events < app::main",
        SELECT "libQtCore.so!QEventDispatcherUNIXPrivate::doSelect < "
               "libQtCore.so!QEventDispatcherUNIX::processEvents < libQtCore.so!QEventLoop::exec "
               "< main",
        POLL "libevent-2.1.so!event_base_wait < libevent-2.1.so!event_base_loop < main",
        "libc.so!ioctl < libbinder.so!android::IPCThreadState::talkWithDriver < "
        "libbinder.so!android::IPCThreadState::getAndExecuteCommand < "
        "libbinder.so!android::IPCThreadState::joinThreadPool < libutils.so!? < "
        "libc.so!__pthread_start",
        EPOLL "libutils.so!android::Looper::pollOnce < libdvm.so!dvmPlatformInvoke < libdvm.so!? < "
              "android.os.MessageQueue.next < android.os.Looper.loop < "
              "android.app.ActivityThread.main",
        "win32u.dll!NtUserGetMessage < USER32.dll!GetMessageW < Shop::Run < WinMain < "
        "KERNEL32.DLL!BaseThreadInitThunk < ntdll.dll!RtlUserThreadStart",
        "win32u.dll!_NtUserMsgWaitForMultipleObjectsEx@20 < "
        "user32.dll!_MsgWaitForMultipleObjectsEx@20 < base::MessagePumpForUI::WaitForWork < "
        "base::MessagePumpForUI::DoRunLoop < base::RunLoop::Run < main",
    };
    check_stacks(idle, LENGTH(idle), KEY_IDLE);
}

static void what_a_loop_calls_may_wait_for_something_else(void **state) {
    (void)state;
    static const char *const stalls[] = {
        /* neither a wrapper by its name, nor of the loop's own class */
        POLL "libQt6Core.so!qt_safe_poll < libQt6Network.so!QLocal::awaitReply < "
             "libQt6Core.so!QEventDispatcherUNIX::processEvents < libQt6Core.so!QEventLoop::exec "
             "< main",
        POLL "libglib.so!g_spawn_await < libglib.so!g_main_context_iterate < "
             "libglib.so!g_main_loop_run < main",
        EPOLL "fetch_cart < uv__io_poll < uv_run < main",
        /* a task of Rust that works, and one that waits */
        "shop::Cart::poll < tokio::runtime::scheduler::current_thread::CoreGuard::block_on < "
        "tokio::runtime::runtime::Runtime::block_on < svc::main < main",
        POLL "shop::Cart::poll < tokio::runtime::scheduler::current_thread::CoreGuard::block_on < "
             "tokio::runtime::runtime::Runtime::block_on < svc::main < main",
        /* a loop that nameless code of another library runs inside of a handler */
        POLL "libglib.so!g_main_loop_run < libfoo.so!? < libgobject.so!? < "
             "libglib.so!g_main_loop_run < main",
        POLL "libQtCore.so!QEventLoop::exec < Shop::processEvents < "
             "libQtCore.so!QEventLoop::processEvents < libQtCore.so!QEventLoop::exec < main",
        /* events that a handler waits for */
        POLL "libxcb.so!xcb_wait_for_event < libX11.so!_XReadEvents < libX11.so!XNextEvent < "
             "frame_extents < libQtCore.so!QCoreApplication::notify < "
             "libQtCore.so!QEventLoop::exec < main",
        "libc.so!ioctl < libbinder.so!android::IPCThreadState::talkWithDriver < "
        "libbinder.so!android::IPCThreadState::waitForResponse < "
        "libbinder.so!android::IPCThreadState::transact < Shop::query < "
        "libbinder.so!android::BBinder::transact < "
        "libbinder.so!android::IPCThreadState::executeCommand < "
        "libbinder.so!android::IPCThreadState::getAndExecuteCommand < "
        "libbinder.so!android::IPCThreadState::joinThreadPool < libutils.so!?",
        "win32u.dll!NtUserGetMessage < USER32.dll!GetMessageW < Shop::PumpUntilReply < "
        "Shop::WndProc < USER32.dll!DispatchMessageW < Shop::Run < WinMain",
        "win32u.dll!NtUserMsgWaitForMultipleObjectsEx < combase.dll!CCliModalLoop::BlockFn < "
        "combase.dll!CoWaitForMultipleHandles < Shop::Load < USER32.dll!DispatchMessageW < "
        "WinMain",
    };
    check_stacks(stalls, LENGTH(stalls), KEY_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_of_a_toolkit_that_waits_is_idle),
        cmocka_unit_test(a_loop_with_a_wait_of_its_own_is_idle),
        cmocka_unit_test(a_server_that_waits_for_a_client_is_idle),
        cmocka_unit_test(a_loop_without_names_is_known_by_its_library),
        cmocka_unit_test(a_wait_inside_of_a_loop_is_none_of_its_own),
        cmocka_unit_test(a_wait_of_the_apps_is_no_loop),
        cmocka_unit_test(what_only_wraps_the_wait_of_a_loop_is_part_of_it),
        cmocka_unit_test(what_a_loop_calls_may_wait_for_something_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
