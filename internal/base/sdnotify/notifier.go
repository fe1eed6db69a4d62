package sdnotify

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// sendTime bounds how long a manager that does not read may hold up the sender.
const sendTime = time.Second

// Notifier knows whom to tell. A nil one tells nobody.
type Notifier struct {
	watchdog time.Duration // 0: the manager does not wait for signs of life
	send     func(message string) error
}

// New reads what the manager has put into the environment (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID) for the process
// pid. Without a manager that wants to be told it returns nil.
func New(getenv func(string) string, pid int) (*Notifier, error) {
	socket := getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil, nil
	}
	if len(socket) < 2 || (socket[0] != '/' && socket[0] != '@') {
		return nil, fmt.Errorf("sdnotify: NOTIFY_SOCKET is %q, want an absolute path or @ and a name", socket)
	}
	watchdog, err := watchdogTime(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"), pid)
	if err != nil {
		return nil, err
	}
	return &Notifier{watchdog: watchdog, send: func(m string) error { return send(socket, m) }}, nil
}

// watchdogTime is after what silence the manager ends the process; 0 when it does not.
func watchdogTime(usec, owner string, pid int) (time.Duration, error) {
	if usec == "" || (owner != "" && owner != strconv.Itoa(pid)) {
		return 0, nil
	}
	n, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || n <= 0 || n > int64(24*time.Hour/time.Microsecond) {
		return 0, fmt.Errorf("sdnotify: WATCHDOG_USEC is %q, want microseconds, at most a day", usec)
	}
	return time.Duration(n) * time.Microsecond, nil
}

// send opens the socket each time: a manager that was started anew is then found again. Go turns a leading @ into the NUL
// of an abstract name.
func send(socket, message string) error {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("sdnotify: %w", err)
	}
	defer c.Close()
	if err := c.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return fmt.Errorf("sdnotify: %w", err)
	}
	if _, err := c.Write([]byte(message)); err != nil {
		return fmt.Errorf("sdnotify: %w", err)
	}
	return nil
}

// statusLine keeps a status from adding lines of its own to a message.
func statusLine(status string) string {
	return "STATUS=" + strings.NewReplacer("\n", " ", "\r", " ").Replace(status)
}
