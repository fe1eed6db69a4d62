// Package dump says a model in the words of keepalived's data file (the one that it writes on SIGUSR1), and reads such a file, so that tests can
// compare what keepvip makes of a keepalived.conf with what keepalived does. Nothing but tests imports it.
package dump
