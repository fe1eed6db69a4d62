// Package metrics serves what a process tells Prometheus and the kubelet, at the listener that `metrics` of its configuration names.
package metrics
