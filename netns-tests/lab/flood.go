package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Flood is a stream of prepared frames from one host.
type Flood struct {
	stop atomic.Bool
	sent atomic.Int64
	wait sync.WaitGroup
}

const (
	// floodBatch is how many frames one call gives to the kernel.
	floodBatch = 64
	// floodThread is what one thread sends in a second without being behind. The kernel carries each frame through the switch into its receiver on
	// the processor that has sent it, so a faster flood needs threads on more of them.
	floodThread = 15_000
)

// Flood sends the frames from the peer, one after the other and from the start
// again, so many in a second. A sender that was late sends at most 20 ms' worth
// at once: it is junk, not a benchmark of the switch.
func (l *Lab) Flood(from *Peer, frames [][]byte, perSecond int) (_ *Flood, err error) {
	defer try.Catch(&err)
	index := try.Get(from.linkIndex("eth0"))
	threads := min((perSecond+floodThread-1)/floodThread, runtime.NumCPU(), len(frames))
	fds := make([]int, threads)
	pastQueues := option(unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1)
	for i := range fds {
		if fds[i], err = packetSocket(from.Namespace, 0, index, pastQueues); err != nil {
			for _, fd := range fds[:i] {
				unix.Close(fd)
			}
			return nil, err
		}
	}
	f := &Flood{}
	for i, fd := range fds {
		share := frames[i*len(frames)/threads : (i+1)*len(frames)/threads]
		f.wait.Go(func() { f.run(l, fd, messages(share), perSecond/threads) })
	}
	return f, nil
}

// message is struct mmsghdr of sendmmsg(2).
type message struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

// messages are the frames as sendmmsg takes them.
func messages(frames [][]byte) []message {
	vectors, all := make([]unix.Iovec, len(frames)), make([]message, len(frames))
	for i, f := range frames {
		vectors[i].Base = &f[0]
		vectors[i].SetLen(len(f))
		all[i].header.Iov = &vectors[i]
		all[i].header.SetIovlen(1)
	}
	return all
}

// sendBatch sends messages, and returns how many the kernel took.
func sendBatch(fd int, batch []message) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&batch[0])), uintptr(len(batch)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (f *Flood) run(l *Lab, fd int, all []message, perSecond int) {
	runtime.LockOSThread() // never unlocked: the thread has another policy
	defer unix.Close(fd)
	// Measuring threads and programs under test must be able to interrupt it.
	if setScheduler(0, unix.SCHED_NORMAL, 0) != nil {
		return
	}
	gap := time.Second / time.Duration(perSecond)
	next := l.now()
	for at := 0; !f.stop.Load(); {
		now := l.now()
		next = max(next, now-20*time.Millisecond)
		for next <= now && !f.stop.Load() {
			due := min(int((now-next)/gap)+1, floodBatch, len(all)-at)
			n, err := sendBatch(fd, all[at:at+due])
			if err != nil && !errors.Is(err, unix.EINTR) {
				n = 1 // it is lost, as one that the link has no room for is
			} else {
				f.sent.Add(int64(n))
			}
			at = (at + n) % len(all)
			next += gap * time.Duration(max(n, 1))
		}
		ts := unix.NsecToTimespec(max(next-l.now(), time.Millisecond).Nanoseconds())
		_ = unix.Nanosleep(&ts, nil)
	}
}

// Stop ends the flood and returns how many frames were sent.
func (f *Flood) Stop() int {
	f.stop.Store(true)
	f.wait.Wait()
	return int(f.sent.Load())
}

// Forgery describes a VRRP packet to send by hand, good or bad. The zero
// values of the fields from TTL on make a good one.
type Forgery struct {
	Source    netip.Addr
	Version   int // 2 or 3
	VRID      int
	Priority  int
	Interval  time.Duration
	Addresses []netip.Addr
	Auth      [8]byte // VRRPv2
	AuthType  byte

	TTL       byte // 0 = 255
	FlipSum   bool // a checksum that is wrong by one bit
	Cut       int  // octets missing at the end
	CountDiff int  // added to the count of addresses
}

// Forge builds the Ethernet frame of a packet to the VRRP group as the peer
// would send it. The checksum of version 3 covers the pseudo-header.
func (p *Peer) Forge(f Forgery) []byte {
	group := netip.MustParseAddr("224.0.0.18")
	mac := net.HardwareAddr{0x01, 0, 0x5e, 0, 0, 0x12}
	if f.Source.Is6() {
		group, mac = netip.MustParseAddr("ff02::12"), net.HardwareAddr{0x33, 0x33, 0, 0, 0, 0x12}
	}
	b := []byte{byte(f.Version)<<4 | 1, byte(f.VRID), byte(f.Priority), byte(len(f.Addresses) + f.CountDiff)}
	if f.Version == 2 {
		b = append(b, f.AuthType, byte(f.Interval/time.Second))
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(f.Interval/(10*time.Millisecond)))
	}
	b = append(b, 0, 0)
	for _, a := range f.Addresses {
		b = append(b, a.AsSlice()...)
	}
	sum := pseudoChecksum(f.Source, group, protoVRRP, b)
	if f.Version == 2 {
		sum = ^sum16(0, b)
		b = append(b, f.Auth[:]...)
	}
	if f.FlipSum {
		sum ^= 0x0100
	}
	binary.BigEndian.PutUint16(b[6:], sum)
	ttl := f.TTL
	if ttl == 0 {
		ttl = 255
	}
	return ipFrame(ends{fromMAC: p.MAC, toMAC: mac}, f.Source, group, protoVRRP, ttl, b[:len(b)-f.Cut])
}

// ForgeUDP builds the Ethernet frame of a datagram from source to a port at the VRRP group, as the peer would send it.
func (p *Peer) ForgeUDP(source netip.AddrPort, port uint16, content []byte) []byte {
	group := netip.MustParseAddr("224.0.0.18")
	mac := net.HardwareAddr{0x01, 0, 0x5e, 0, 0, 0x12}
	b := binary.BigEndian.AppendUint16(nil, source.Port())
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, uint16(udpHeader+len(content)))
	b = append(append(b, 0, 0), content...) // over IPv4 it may go without a checksum
	return ipFrame(ends{fromMAC: p.MAC, toMAC: mac}, source.Addr(), group, unix.IPPROTO_UDP, 255, b)
}

// ForgeClaim builds the Ethernet frame by which a host with that MAC would claim an address, to everybody.
func (p *Peer) ForgeClaim(mac net.HardwareAddr, addr netip.Addr) []byte { return gratuitous(mac, addr) }

// ForgeSYNs builds Ethernet frames with which the peer begins so many TCP connections at the target, over IPv4, that nobody goes on with.
// They are from addresses behind the router (10.97.0.128/25), and answers to them are lost there: see [Lab.LoseBehindRouter].
func (p *Peer) ForgeSYNs(to net.HardwareAddr, target netip.AddrPort, count int) [][]byte {
	frames := make([][]byte, count)
	for i := range frames {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 97, 0, byte(128 + rand.N(127))}), uint16(1024+rand.N(60000)))
		b := binary.BigEndian.AppendUint16(nil, from.Port())
		b = binary.BigEndian.AppendUint16(b, target.Port())
		b = binary.BigEndian.AppendUint32(b, rand.Uint32())
		b = append(b, 0, 0, 0, 0, 5<<4, 0x02, 0xff, 0xff, 0, 0, 0, 0)
		binary.BigEndian.PutUint16(b[16:], pseudoChecksum(from.Addr(), target.Addr(), unix.IPPROTO_TCP, b))
		frames[i] = ipFrame(ends{fromMAC: p.MAC, toMAC: to}, from.Addr(), target.Addr(), unix.IPPROTO_TCP, 64, b)
	}
	return frames
}

// LoseBehindRouter has the router lose what goes to the addresses of [Peer.ForgeSYNs].
func (l *Lab) LoseBehindRouter() error {
	if l.Router == nil {
		return fmt.Errorf("lab: no router: the lab was opened without OffLink")
	}
	return try.Err(l.Router.Run("ip", "route", "replace", "blackhole", "10.97.0.128/25"))
}

// Pressure is work that keeps every processor busy with short tasks.
type Pressure struct {
	loops []*exec.Cmd
}

// Press starts so many loops per processor that each run one short program
// after the other, at the ordinary priority.
func (l *Lab) Press(perCPU int) (*Pressure, error) {
	p := &Pressure{}
	for range perCPU * runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do /bin/true; done")
		// Its own group, so that the loop and its task end together.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
		if err := l.Switch.Do(cmd.Start); err != nil {
			p.Release()
			return nil, fmt.Errorf("lab: start a loop of short tasks: %w", err)
		}
		p.loops = append(p.loops, cmd)
	}
	return p, nil
}

// Release ends the loops.
func (p *Pressure) Release() {
	for _, cmd := range p.loops {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	}
	p.loops = nil
}

// ErrNoThrottle: this machine has no cgroup whose processor time can be limited.
var ErrNoThrottle = errors.New("lab: no cgroup limits processor time on this machine")

// throttlePeriod is that of the kernel's limit in microseconds: a process that has used its share stands still until the next one.
const throttlePeriod = 100_000

// throttles are the kernel's two interfaces: where the groups are, and what is written into which of a group's files.
func throttles(quota int) []struct{ root, file, text string } {
	return []struct{ root, file, text string }{
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", strconv.Itoa(quota)},
		{"/sys/fs/cgroup", "cpu.max", fmt.Sprintf("%d %d", quota, throttlePeriod)},
	}
}

// Throttle lets the process have so many per cent of one processor, until release is called. The error is ErrNoThrottle where nothing can.
func (p *Process) Throttle(percent int) (release func() error, err error) {
	for _, t := range throttles(throttlePeriod / 100 * percent) {
		dir := filepath.Join(t.root, fmt.Sprintf("%s%d-%d", runPrefix, os.Getpid(), p.PID()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		if write(filepath.Join(dir, t.file), t.text) != nil {
			_ = os.Remove(dir)
			continue
		}
		release := func() error {
			moved := write(filepath.Join(t.root, "cgroup.procs"), strconv.Itoa(p.PID()))
			if !p.Alive() {
				moved = nil
			}
			return errors.Join(moved, os.Remove(dir))
		}
		if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(p.PID())); err != nil {
			return nil, errors.Join(fmt.Errorf("lab: throttle %s: %w", p.Name, err), release())
		}
		return release, nil
	}
	return nil, ErrNoThrottle
}

// Hang has whoever opens a file wait in the kernel, as for a file system whose server is gone.
type Hang struct{ fd int }

// HangOpens begins with a file that is there. It works by permission events of fanotify(7), which nobody answers.
func HangOpens(path string) (_ *Hang, err error) {
	defer try.Say(&err, "lab: have opens of %s hang", path)
	h := &Hang{try.Get(unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_LARGEFILE|unix.O_CLOEXEC))}
	if err := unix.FanotifyMark(h.fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, path); err != nil {
		return nil, errors.Join(err, h.End())
	}
	return h, nil
}

// Waits tells whether somebody has begun to wait since it was asked last.
func (h *Hang) Waits() bool {
	event := make([]byte, 4096)
	n, err := unix.Read(h.fd, event)
	return err == nil && n > 0 // the descriptor in it is closed with this process: there are few
}

// End lets everybody go on.
func (h *Hang) End() error { return unix.Close(h.fd) }
