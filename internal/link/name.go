package link

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// nameOf is the present name of an interface. It asks for that one only: a node has hundreds of them, and a fence asks twice a
// second. The error is that of the kernel: ENODEV, there is none with that index.
func nameOf(index int) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("name of interface %d: %w", index, err)
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("")
	if err != nil {
		return "", err
	}
	ifr.SetUint32(uint32(index))
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFNAME, ifr); err != nil {
		return "", fmt.Errorf("name of interface %d: %w", index, err)
	}
	return ifr.Name(), nil
}
