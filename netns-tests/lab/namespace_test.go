package lab

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A signal removes the labs while episodes go on.
func TestRemovedNamespaceRefusesWork(t *testing.T) {
	n := &Namespace{Name: "n1", jobs: make(chan func()), done: make(chan struct{})}
	close(n.done)
	assert.ErrorContains(t, n.Do(func() error { return nil }), "n1 is removed")
}
