// Package try has a step that fails end the function that takes it. A trial takes hundreds of steps in a row, none of which is expected to
// fail, and what is to be done when one does is always the same. A test has require for that; this is it for what returns an error.
//
//	func moved(host *lab.Host) (_ Findings, err error) {
//		defer try.Catch(&err)
//		g := try.Get(Open(host, Config{}))
//		defer g.Close()
//		try.Do(g.LinkDown())
//
// Each function and each closure that takes such steps catches them itself, or is handed to a function that says that it does. So a step never ends
// another goroutine than its own, nor a function that does not say so in its first line.
package try

import "fmt"

// failure is what a step that fails panics with.
type failure struct{ error }

// Do takes a step that returns nothing else.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get takes a step, and returns what it returns.
func Get[T any](got T, err error) T {
	Do(err)
	return got
}

// Two is [Get] for a step that returns two things.
func Two[T, U any](first T, second U, err error) (T, U) {
	Do(err)
	return first, second
}

// Of is what a function returns that takes such steps without catching them.
func Of[T any](do func() T) (got T, err error) {
	defer Catch(&err)
	return do(), nil
}

// Err is the error of a step whose other result nobody needs.
func Err[T any](_ T, err error) error { return err }

// Catch is deferred. It makes the error of the step that has failed that of the function; other panics go on.
func Catch(err *error) { Caught(recover(), err) }

// Caught is [Catch] for what a function that is deferred itself recovers.
func Caught(recovered any, err *error) {
	switch f := recovered.(type) {
	case nil:
	case failure:
		*err = f.error
	default:
		panic(f)
	}
}

// Say is deferred. It is [Catch], and the error begins with what was being done.
func Say(err *error, format string, args ...any) {
	if Caught(recover(), err); *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
