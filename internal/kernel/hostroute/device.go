package hostroute

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// deviceName is what the TUN device is called, so that the filter of a routing daemon can name it. A network namespace has one keepvip.
const deviceName = "keepvip0"

// tunPath is where the kernel makes TUN devices.
const tunPath = "/dev/net/tun"

// Device is a TUN device without persistence: it ends with the process that has it open. Nothing is read from it, and what is routed
// into it is dropped by the kernel as soon as its queue is full. The methods may be called from any goroutine.
type Device struct {
	mu    sync.Mutex // guards what follows
	fd    int        // -1: none is open
	index int
	users int
}

// NewDevice is a device that is made when it is used first.
func NewDevice() *Device { return &Device{fd: -1} }

// Use makes the device where it is not there, sets it up, and returns its index. Each successful Use is followed by one Release. An error
// wraps [unix.ENOENT], [unix.EPERM], [unix.EACCES] or [unix.ENODEV] where this host or container has no TUN devices.
func (d *Device) Use() (index int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return 0, err
	}
	d.users++
	return d.index, nil
}

// Mend makes the device anew where somebody has deleted it, and returns its index.
func (d *Device) Mend() (index int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users == 0 {
		return 0, errors.New("hostroute: nobody uses the device")
	}
	err = d.open() // which may change the index
	return d.index, err
}

// Release takes the device away with its last user, and all routes that hang on it.
func (d *Device) Release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users--; d.users == 0 {
		d.close()
	}
}

func (d *Device) close() {
	if d.fd >= 0 {
		_ = unix.Close(d.fd)
	}
	d.fd, d.index = -1, 0
}

// open is idempotent. The caller holds the lock.
func (d *Device) open() error {
	if d.fd >= 0 {
		if i, err := net.InterfaceByIndex(d.index); err == nil && i.Flags&net.FlagUp != 0 && i.Name == deviceName {
			return nil
		}
		d.close()
	}
	fd, err := unix.Open(tunPath, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("hostroute: open %s: %w", tunPath, err)
	}
	index, err := tun(fd)
	if err != nil {
		return errors.Join(fmt.Errorf("hostroute: make the device %s: %w", deviceName, err), unix.Close(fd))
	}
	d.fd, d.index = fd, index
	return nil
}

// tun makes the device of an open file, and sets it up.
func tun(fd int) (index int, err error) {
	ifr, err := unix.NewIfreq(deviceName)
	if err != nil {
		return 0, err
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_TUN_EXCL)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return 0, err
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(s) }()
	ifr.SetUint16(unix.IFF_UP | unix.IFF_NOARP | unix.IFF_POINTOPOINT)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr); err != nil {
		return 0, err
	}
	if ifr, err = unix.NewIfreq(deviceName); err != nil {
		return 0, err
	}
	err = unix.IoctlIfreq(s, unix.SIOCGIFINDEX, ifr)
	return int(ifr.Uint32()), err
}
