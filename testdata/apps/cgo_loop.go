// A Go program whose main thread runs an event loop in C: the Go runtime sends itself SIGURG all the
// time, to have goroutines make way for others, and runs its handlers on stacks of its own.
package main

/*
#include <poll.h>
#include <unistd.h>

static void turns(int n) {
	int ends[2];
	if (pipe(ends) != 0) {
		return;
	}
	struct pollfd fd = {.fd = ends[0], .events = POLLIN};
	for (int i = 0; i < n; i++) {
		poll(&fd, 1, 20);
	}
	close(ends[0]);
	close(ends[1]);
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

var stop atomic.Bool

func spin(done chan<- int) {
	n := 0
	for !stop.Load() {
		n++
	}
	done <- n
}

//go:noinline
func searchCatalogue(until time.Time) int {
	n := 0
	for time.Now().Before(until) {
		n++
	}
	return n
}

func init() {
	runtime.LockOSThread() // the main goroutine stays on the main thread
}

func main() {
	done := make(chan int)
	for i := 0; i < 2; i++ {
		go spin(done)
	}
	C.turns(6)
	n := searchCatalogue(time.Now().Add(1500 * time.Millisecond))
	C.turns(6)
	stop.Store(true)
	a, b := <-done, <-done
	C.turns(60) // quiet enough for the dump to be written: Go ends without the C library's exit
	if n == 0 || a == 0 || b == 0 {
		os.Exit(1)
	}
	fmt.Println("all goroutines ran")
}
