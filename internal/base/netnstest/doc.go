// Package netnstest gives tests network namespaces of their own, with the build tag netns. Nothing but tests imports it, and it starts no goroutine.
package netnstest
