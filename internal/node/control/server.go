package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/places"
)

// Program is what the socket's API needs of the program. Its methods are called from several
// goroutines.
type Program struct {
	Status   func() any                                   // encoded as JSON
	Config   func() any                                   // what it runs with, likewise
	History  func(io.Writer) error                        // writes JSON, as it is read
	Announce func(names []string) error                   // at once; no names: all
	Reload   func(context.Context) (summary any, _ error) // read the configuration again

	// Handover passes addresses on, to one node if that is named; Drain makes the node one that comes last first, until
	// Resume, and Hold one that stays out, with force also if nobody could take the addresses. No names: all. They return
	// when it is done, or with an error when ctx has ended.
	Handover func(ctx context.Context, names []string, to string) error
	Drain    func(ctx context.Context, names []string, wait bool) error // with wait for the end of connections
	Hold     func(ctx context.Context, names []string, reason string, force bool) error
	Resume   func(names []string) error

	// Member changes the members of the raft cluster: see Client.Member.
	Member func(ctx context.Context, op, address string) error

	// Drill begins a failover on purpose, or notes what was measured of one: see Client.Drill and Client.DrillSeen. It returns when the drill
	// is over, which ends early with ctx. DrillPlan says what is to be measured.
	Drill     func(ctx context.Context, vip, kind string, lasts time.Duration, back bool) (any, error)
	DrillSeen func(vip string, seen DrillSeen) error
	DrillPlan func(vip string) (any, error)

	// LogLevel has another level of the log for a while: see Client.LogLevel.
	LogLevel func(level string, lasts time.Duration) error

	// Asked is told of every verb when it is over, with its error; nil: nobody is.
	Asked func(Asked, error)
}

// Server serves the API on a unix socket.
type Server struct {
	dir  string // made by us, and removed with the socket; empty when it was there before
	path string
	made os.FileInfo // of the socket
	ln   *net.UnixListener
	http *http.Server
	all  *bounded
}

// Count is how it stands with the places for commands.
func (s *Server) Count() places.Count { return s.all.count() }

// MistakeError says that the path of the socket is one that another program of this user, or another kind of file of its, has: whoever made the
// configuration has to choose. Every other error may pass; what another user has put there decides nothing.
type MistakeError struct{ text string }

// Error implements error.
func (e *MistakeError) Error() string { return e.text }

const (
	dirMode    = 0o750
	socketMode = 0o660
	// maxReason bounds what an operator may give as a reason, in bytes: it is shown to every member.
	maxReason = 120
	// controlPlaces bounds the connections, among which may be verbs that wait.
	controlPlaces = 64
	// controlBreath is for what only root and its group may open, and where an answer may cost a tenth of a millisecond.
	controlBreath = 4
	// answerTime bounds how long an asker may take to read its answer.
	answerTime = 10 * time.Second
	// dialTime bounds how long a socket that is there may take to show that somebody serves it.
	dialTime = time.Second
)

// Open makes the socket, and its directory when that is missing. A socket that nobody serves any more
// is replaced; one that somebody does is an error, because two managers must not run on one host by
// mistake.
func Open(path string, b Program) (*Server, error) { return open(path, handler(b)) }

// OpenStatus is Open for a process that has nothing but a status.
func OpenStatus(path string, status func() any) (*Server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathStatus, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, status()) })
	return open(path, mux)
}

func open(path string, h http.Handler) (*Server, error) {
	dir, err := makeDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("control: directory of the socket: %w", err)
	}
	if err := vacate(path); err != nil {
		removeDir(dir)
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		removeDir(dir)
		return nil, fmt.Errorf("control: listen: %w", err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("control: mode of the socket: %w", err), ln.Close())
	}
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control: listen: %w", err), ln.Close())
	}
	ln.SetUnlinkOnClose(false) // by then the name may be somebody else's
	srv := &http.Server{Handler: keepPlace(h), ConnContext: withPeer, ReadTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	all := newBounded(controlPlaces, &bounded{Listener: ln, turns: places.Turns{Of: controlBreath}, owner: processOf})
	return &Server{dir: dir, path: path, made: made, ln: ln, http: srv, all: all}, nil
}

// vacate makes room for the socket: only a socket that nobody serves is taken away.
func vacate(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("control: --socket: %w", err)
	case info.Mode().Type() != os.ModeSocket:
		return mistakeOf(info, fmt.Sprintf("control: --socket %s: there is something that is no socket, and it was not touched: remove it, or name another path", path))
	}
	c, err := net.DialTimeout("unix", path, dialTime)
	switch {
	case err == nil:
		_ = c.Close()
		return mistakeOf(info, fmt.Sprintf("control: --socket %s: somebody serves it already, such as a keepvip of another network namespace: stop that, or name another path", path))
	case errors.Is(err, unix.ECONNREFUSED):
	default: // as one that does not get round to accepting
		return fmt.Errorf("control: --socket %s: cannot tell whether somebody serves it, and it was not touched: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("control: old socket: %w", err)
	}
	return nil
}

// mistakeOf is an error about a file that stands in the way: a mistake where it is this user's own.
func mistakeOf(in os.FileInfo, text string) error {
	if is, ok := in.Sys().(*syscall.Stat_t); ok && int(is.Uid) != os.Geteuid() {
		return fmt.Errorf("%s (it is user %d's)", text, is.Uid)
	}
	return &MistakeError{text}
}

// removeDir takes away a directory that makeDir has made, unless somebody has put something there.
func removeDir(dir string) {
	if dir != "" {
		_ = os.Remove(dir)
	}
}

// makeDir returns dir if it had to be made.
func makeDir(dir string) (string, error) {
	if _, err := os.Stat(dir); err == nil {
		return "", nil
	}
	return dir, os.MkdirAll(dir, dirMode)
}

// Serve answers until ctx ends, then removes the socket, and the directory if it was made for it.
func (s *Server) Serve(ctx context.Context) error {
	err := serve(ctx, s.http, s.all)
	if now, lost := os.Lstat(s.path); lost == nil && os.SameFile(now, s.made) {
		_ = os.Remove(s.path)
	}
	removeDir(s.dir)
	return err
}

// stopTime bounds how long requests under way hold up the end.
const stopTime = time.Second

// serve answers one request on each connection until ctx ends.
func serve(ctx context.Context, srv *http.Server, lns ...net.Listener) error {
	srv.ErrorLog = log.New(io.Discard, "", 0) // about what askers did wrong
	srv.SetKeepAlivesEnabled(false)
	ended := make(chan error, len(lns))
	for _, ln := range lns {
		go func() { ended <- srv.Serve(ln) }()
	}
	var failed error
	running := len(lns)
	select {
	case failed = <-ended:
		running--
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		_ = srv.Close()
	}
	for range running {
		<-ended
	}
	return failed
}

func handler(b Program) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, b.Status())
	})
	mux.HandleFunc("GET "+PathConfig, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, b.Config())
	})
	mux.HandleFunc("GET "+PathDrill, func(w http.ResponseWriter, r *http.Request) {
		plan, err := b.DrillPlan(r.URL.Query().Get("vip"))
		if err != nil {
			answer(w, http.StatusConflict, problem(err))
			return
		}
		answer(w, http.StatusOK, plan)
	})
	mux.HandleFunc("GET "+PathHistory, func(w http.ResponseWriter, r *http.Request) {
		stream(w, r, b.History)
	})
	for path, v := range b.verbs() {
		mux.HandleFunc("POST "+path, b.logged(path, rootOnly(v)))
	}
	return mux
}

func answer(w http.ResponseWriter, code int, body any) {
	// Not of the server: a verb takes as long as it takes, and only then has the answer to be read.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// An error here means that the asker has gone.
	_ = json.NewEncoder(w).Encode(body)
}

// stream answers with what write makes. A reader who takes its time has no claim to its place meanwhile.
func stream(w http.ResponseWriter, r *http.Request, write func(io.Writer) error) {
	if p, ok := r.Context().Value(placeKey{}).(*placedConn); ok {
		p.setBusy(false)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	w.Header().Set("Content-Type", "application/json")
	_ = write(w) // an error here means that the asker has gone
}
