package config

import (
	"net/netip"
	"time"
)

// ListedCheck is one of several checks of a VIP. Which fields count depends on Kind.
type ListedCheck struct {
	Name       string // its kind when not given
	Kind       CheckKind
	Weight     int // 0: a hard condition; above, added to the priority when good; below, taken off it when bad
	Interval   time.Duration
	Timeout    time.Duration
	Rise, Fall int
	Watch      bool          // notice the end of an idle connection or of the process
	URL        string        // https, http
	CA         string        // https: file; "" with Insecure
	Insecure   bool          // https: the certificate is not verified
	ServerName string        // https: "" for the URL's host, or "kubernetes" where that is an address
	Codes      []int         // https, http: healthy statuses; none: 200, and 401 to a check without credentials
	ClientCert string        // https: file
	ClientKey  string        // https: file; "": that of ClientCert
	TokenFile  string        // https
	Address    string        // tcp: host:port
	Command    []string      // exec: absolute path, and arguments
	User       string        // exec: a name, a user id, or user id and group id with a colon between
	UID, GID   uint32        // of User, as found on this machine
	Path       string        // file
	Absent     bool          // file: healthy without it
	MaxAge     time.Duration // file: 0 for any
	Process    string        // process: the name of its program
	Interface  string        // interface
	Router     netip.Addr    // gateway: the zero Addr for the next hop of the default route
}

// CheckKind is what a check looks at.
type CheckKind string

// The kinds.
const (
	CheckHTTPS     CheckKind = "https"
	CheckHTTP      CheckKind = "http"
	CheckTCP       CheckKind = "tcp"
	CheckExec      CheckKind = "exec"
	CheckFile      CheckKind = "file"
	CheckProcess   CheckKind = "process"
	CheckInterface CheckKind = "interface"
	CheckGateway   CheckKind = "gateway"
)

// kindKeys are the keys that each kind has beside those that all have; the first needed of them are required.
var kindKeys = map[CheckKind]struct {
	keys   []string
	needed int
}{
	CheckHTTPS:     {[]string{"url", "ca", "insecure", "serverName", "codes", "clientCert", "clientKey", "tokenFile", "watch"}, 1},
	CheckHTTP:      {[]string{"url", "codes", "watch"}, 1},
	CheckTCP:       {[]string{"address", "watch"}, 1},
	CheckExec:      {[]string{"command", "user"}, 2},
	CheckFile:      {[]string{"path", "absent", "maxAge"}, 1},
	CheckProcess:   {[]string{"process", "watch"}, 1},
	CheckInterface: {[]string{"interface"}, 1},
	CheckGateway:   {[]string{"router"}, 0},
}

// commonKeys are those of every kind.
var commonKeys = []string{"kind", "name", "weight", "interval", "timeout", "rise", "fall"}

const (
	checksKey = "checks"
	// maxWeight is what moves a priority from one end of its range to the other.
	maxWeight = 253
	// maxChecks bounds what one VIP can ask of a node.
	maxChecks = 100
)
