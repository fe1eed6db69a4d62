// Package packagetest installs the packages on a machine that is thrown away: the root file system of this one under an
// overlay in memory, in namespaces of its own, with systemd booted in it. Whatever a package leaves behind is in the overlay.
//
// It needs root, dpkg, rpm and systemd, and the build tag packages.
//
// # Goroutines
//
// None.
package packagetest
