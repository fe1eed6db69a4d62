// Package health probes a service, most often the local apiserver, and turns the results into a verdict.
//
// A [Prober] takes one look, which a [Probing] repeats; a [Gate], which is pure, counts; a [Checker] has a Gate hear what the Probing
// finds. Checkers that ask the same have one Probing. What real apiservers
// answer shaped the rules: 200 is healthy; 401 is healthy, because a server that asks who we are is alive; 403 is unhealthy,
// because that is what an apiserver answers anonymously until it has loaded its roles; a refused connection means that no
// process listens, and a 500 that names shutdown that one is going, which needs no second look; everything else is counted.
//
// Death is an event: one good probe leaves its connection open, idle, and when that ends the next probe follows at once. The
// connection decides nothing.
//
// A fast check, of less than 250 ms, asks most of its questions on one connection; every failure is found out on new ones.
//
// Further kinds of check are further Probers. Left out: what a verdict means for the election, and what
// several checks for one address amount to (package instance).
//
// # Goroutines
//
//   - Checker.Run uses its caller's; a Probing has one while a Checker of it runs, and a Watcher one more, which the last Run waits for;
//   - one while credentials or a file are looked at, processes are listed or a program runs. What hangs in the kernel can keep
//     it, and nothing can end it then: at most one for each check;
//   - two while a program runs, on threads of their own, and one that reads what it prints.
package health
