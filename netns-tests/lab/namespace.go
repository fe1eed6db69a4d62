package lab

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Namespace is one network namespace with a thread that lives inside it.
type Namespace struct {
	Name string // name under /run/netns, usable with `ip netns exec`

	jobs chan func()
	end  chan struct{} // closed to end the thread
	done chan struct{} // closed when it has ended
}

// makeNamespace creates a named network namespace and its worker thread.
func makeNamespace(name string) (*Namespace, error) {
	n := &Namespace{Name: name, jobs: make(chan func()), end: make(chan struct{}), done: make(chan struct{})}
	ready := make(chan error)
	go n.work(ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	return n, nil
}

// work owns one thread inside the namespace. The thread is SCHED_OTHER, because
// programs under test are started from it and inherit its policy; and it stays
// until the end, because they are killed when the thread that started them ends.
func (n *Namespace) work(ready chan<- error) {
	defer close(n.done)
	runtime.LockOSThread() // never unlocked: the thread must not serve anything else
	if err := n.create(); err != nil {
		ready <- fmt.Errorf("lab: make the namespace %s: %w", n.Name, err)
		return
	}
	ready <- setScheduler(0, unix.SCHED_NORMAL, 0)
	for {
		select {
		case job := <-n.jobs:
			job()
		case <-n.end:
			return
		}
	}
}

// create does what `ip netns add` does, in the calling thread, which must be locked and is inside afterwards, and sets the loopback up: a lab has six
// of them, and each program that is started takes some ten milliseconds.
func (n *Namespace) create() (err error) {
	defer try.Catch(&err)
	try.Do(shareNetns())
	try.Do(unix.Unshare(unix.CLONE_NEWNET))
	try.Get(os.OpenFile(n.path(), os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0)).Close()
	try.Do(unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), n.path(), "none", unix.MS_BIND, ""))
	return netlink.LinkSetUp(try.Get(netlink.LinkByName("lo")))
}

// shareNetns makes netnsRoot a mount of its own that others see, as `ip netns add` does: else a namespace that one process removes goes on in another's.
func shareNetns() (err error) {
	defer try.Catch(&err)
	try.Do(os.MkdirAll(netnsRoot, 0o755))
	err = unix.Mount("", netnsRoot, "none", unix.MS_SHARED|unix.MS_REC, "")
	if err != unix.EINVAL { // it is no mount yet
		return err
	}
	try.Do(unix.Mount(netnsRoot, netnsRoot, "none", unix.MS_BIND|unix.MS_REC, ""))
	return unix.Mount("", netnsRoot, "none", unix.MS_SHARED|unix.MS_REC, "")
}

// short is the name within its lab, "c1".
func (n *Namespace) short() string {
	_, short, _ := cutLast(n.Name, "-")
	return short
}

func (n *Namespace) path() string { return filepath.Join(netnsRoot, n.Name) }

// enter moves the calling thread, which must be locked, into the namespace.
func (n *Namespace) enter() (err error) {
	defer try.Say(&err, "lab: enter namespace %s", n.Name)
	f := try.Get(os.Open(n.path()))
	defer f.Close()
	return unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
}

// Do runs fn on the thread inside the namespace. Sockets opened there belong to
// the namespace for good. fn must not block for long: everything that happens
// in the namespace waits for it. The error is fn's, or says that the namespace is
// removed, as it is while a signal ends this process.
func (n *Namespace) Do(fn func() error) error {
	result := make(chan error, 1)
	select {
	case n.jobs <- func() { result <- fn() }:
		return <-result
	case <-n.done:
		return fmt.Errorf("lab: %s is removed", n.Name)
	}
}

// doIn is [Namespace.Do] for what returns something.
func doIn[T any](n *Namespace, fn func() (T, error)) (got T, err error) {
	err = n.Do(func() (err error) { got, err = fn(); return err })
	return got, err
}

// Listen listens for connections of TCP.
func (n *Namespace) Listen(at string) (net.Listener, error) {
	return doIn(n, func() (net.Listener, error) { return net.Listen("tcp", at) })
}

// Dial connects over TCP.
func (n *Namespace) Dial(to netip.AddrPort, limit time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: limit, FallbackDelay: -1}
	return doIn(n, func() (net.Conn, error) { return d.Dial("tcp", to.String()) })
}

// Run runs a short command inside the namespace and returns its standard
// output; the error carries what it wrote to standard error.
func (n *Namespace) Run(name string, args ...string) (string, error) {
	return n.RunInput("", name, args...)
}

// RunInput is [Namespace.Run] with a standard input.
func (n *Namespace) RunInput(input, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	if err := n.Do(cmd.Start); err != nil {
		return "", fmt.Errorf("lab: %s in %s: %w", name, n.Name, err)
	}
	if err := cmd.Wait(); err != nil {
		return out.String(), fmt.Errorf("lab: %s %s in %s: %w: %s", name, strings.Join(args, " "), n.Name, err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.String(), nil
}

// Sysctl writes a per-namespace setting, for example net.ipv4.ip_forward given
// as "net/ipv4/ip_forward".
func (n *Namespace) Sysctl(key, value string) (err error) {
	defer try.Say(&err, "lab: sysctl %s in %s", key, n.Name)
	return n.Do(func() error { return os.WriteFile("/proc/sys/"+key, []byte(value), 0o644) })
}

// close ends the worker and deletes the namespace.
func (n *Namespace) close() {
	close(n.end)
	<-n.done
	removeNamespace(n.path())
}
