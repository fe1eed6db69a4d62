// Package kubevip reads what kube-vip is run with (a static pod, a DaemonSet, its configuration file) and says what of that keepvip
// can be told: [Convert] returns the options of keepvip, and a [Finding] with its line for each setting, whether it was carried over, changed
// or left out, and why.
//
// Facts about kube-vip are those of v0.4 to v1.2. A variable wins over a flag, and both over the configuration file; an empty variable is
// none. The package is pure: it reads no file, resolves no name, and does not know the host.
package kubevip
