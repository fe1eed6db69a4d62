package kubevip

import (
	"errors"
	"fmt"
	"strings"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// Refused is why a text is not converted: at least one reason, in the order of the file.
type Refused []reason

// reason is one of them, with its place.
type reason struct {
	File string
	Line int // from 1; 0: the file as a whole
	Text string
}

// Error has a line for each reason.
func (r Refused) Error() string {
	var lines []string
	for _, why := range r {
		lines = append(lines, place(why.File, why.Line)+why.Text)
	}
	return strings.Join(lines, "\n")
}

// refused is an error with one reason.
func refused(name string, line int, format string, args ...any) error {
	return Refused{{name, line, fmt.Sprintf(format, args...)}}
}

// refusedBy takes over the reasons of the packages that read templates, and other errors as they are.
func refusedBy(err error) error {
	var all Refused
	var take func(err error) bool
	take = func(err error) bool {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, sub := range joined.Unwrap() {
				if !take(sub) {
					return false
				}
			}
			return true
		}
		var one *yamledit.Error
		if !errors.As(err, &one) {
			return false
		}
		all = append(all, reason{one.File, one.Line, one.Text})
		return true
	}
	if !take(err) {
		return err
	}
	return all
}
