// Package repository lays packages out as apt, dnf and zypper look for them on a web server: the directories are served as they lie. What is
// said about a package is read from the package itself. The same packages give the same files.
//
// # Goroutines
//
// None.
package repository

// Signer signs as OpenPGP; package signing has one.
type Signer interface {
	Armored(data []byte) ([]byte, error) // a signature in a file of its own
	Clear(text []byte) ([]byte, error)   // the text with its signature
}
