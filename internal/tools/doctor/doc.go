// Package doctor says what would keep a host, its network or its cluster from carrying a virtual address.
//
// It judges facts and gathers none: [Judge] is pure, and gets what was found on a host as [Facts]. Whatever is not known is left at its
// zero value, and nothing is said about it. Each [Finding] has a code of package internal/base/code, so that what doctor says can be looked up.
//
// Left out on purpose: reading the host (package internal/tools/doctor/gather), and mending anything.
package doctor
