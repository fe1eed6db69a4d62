package lab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Transfer is a connection of a client to a server of transfers. It is for one goroutine.
type Transfer struct {
	Node      string // the label of the node that serves it
	conn      blocking
	block     []byte
	deferring []string
}

// transferPatience bounds each call that waits for the other side.
const transferPatience = 10 * time.Second

// OpenTransfer connects from a host.
func (l *Lab) OpenTransfer(from *Namespace, target netip.AddrPort) (_ *Transfer, err error) {
	defer try.Say(&err, "lab: connection for transfers from %s to %s", from.Name, target)
	t := &Transfer{conn: try.Get(blockingOf(try.Get(from.Dial(target, transferPatience)))), block: make([]byte, transferBlock), deferring: deferring()}
	patience := unix.NsecToTimeval(transferPatience.Nanoseconds())
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		err = errors.Join(err, unix.SetsockoptTimeval(int(t.conn), unix.SOL_SOCKET, option, &patience))
	}
	name := make([]byte, transferName)
	if _, failed := io.ReadFull(t.conn, name); failed != nil || err != nil {
		t.Close()
		return nil, errors.Join(err, failed)
	}
	t.Node = string(bytes.TrimRight(name, "\x00"))
	return t, nil
}

// Close ends the connection.
func (t *Transfer) Close() {
	t.conn.close()
	t.conn = -1 // it may be closed again
}

// RoundTrips asks so many times, one after the other, and returns what each answer took.
func (t *Transfer) RoundTrips(count int) (_ []time.Duration, err error) {
	defer try.Say(&err, "lab: round trip to %s", t.Node)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	request := make([]byte, transferRequest)
	request[0] = transferPing
	took := make([]time.Duration, count)
	for i := range took {
		began := time.Now()
		try.Get(t.conn.Write(request))
		try.Get(io.ReadFull(t.conn, request))
		took[i] = time.Since(began)
	}
	return took, nil
}

// Down has the server send so many octets, and returns the processor time that this took on all hosts.
func (t *Transfer) Down(octets int) (time.Duration, error) { return t.transfer(transferDown, octets) }

// Up sends the server so many octets, likewise.
func (t *Transfer) Up(octets int) (time.Duration, error) { return t.transfer(transferUp, octets) }

func (t *Transfer) transfer(kind byte, octets int) (_ time.Duration, err error) {
	defer try.Say(&err, "lab: transfer of %d octets with %s", octets, t.Node)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	request := binary.BigEndian.AppendUint64([]byte{kind, 0, 0, 0, 0, 0, 0, 0}, uint64(octets))
	report, move := make([]byte, transferReport), t.conn.Write
	if kind == transferDown {
		move = t.conn.Read
	}
	kernel, before := t.deferredTime(), threadTime()
	try.Get(t.conn.Write(request))
	try.Do(many(move, t.block, octets))
	own := threadTime() - before
	try.Get(io.ReadFull(t.conn, report))
	return own + time.Duration(binary.BigEndian.Uint64(report)) + t.deferredTime() - kernel, nil
}

// deferring finds the kernel's threads that do what it has put off, those called ksoftirqd, by the files that have their processor time.
func deferring() (files []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, comm := range all {
		if name, err := os.ReadFile(comm); err == nil && strings.HasPrefix(string(name), "ksoftirqd/") {
			files = append(files, filepath.Join(filepath.Dir(comm), "schedstat"))
		}
	}
	return files
}

// deferredTime is the processor time of these threads.
func (t *Transfer) deferredTime() (sum time.Duration) {
	for _, file := range t.deferring {
		text, err := os.ReadFile(file)
		if first, _, ok := strings.Cut(string(text), " "); err == nil && ok {
			ns, _ := strconv.ParseInt(first, 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}

// BusyTime is what all processors of the machine have worked so far, for whomever.
func BusyTime() (_ time.Duration, err error) {
	defer try.Say(&err, "lab: busy time")
	line, _, _ := strings.Cut(string(try.Get(os.ReadFile("/proc/stat"))), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq ...
	if len(fields) < 8 {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var ticks int64
	for _, i := range []int{1, 2, 3, 6, 7} {
		ticks += try.Get(strconv.ParseInt(fields[i], 10, 64))
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
