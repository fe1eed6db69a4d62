// Package config reads keepvip's configuration: one strict YAML file, KEEPVIP_ environment variables and flags.
//
// Every option is written once, in the table of table.go: its key in the file, its flag, its default, its help and its
// range. Flags, environment, file, JSON schema ([Schema]) and docs/configuration.md ([Reference]) derive from it.
// A flag wins over the environment, the environment over the file, the file over the default; [Config.Origin] tells
// for each value where it came from, and every complaint names that place.
//
// Left out: what needs the host. Whether an address lies in a local subnet is for package link to say; the only files
// opened are the configuration and the key. The package starts no goroutine and keeps no state.
package config
