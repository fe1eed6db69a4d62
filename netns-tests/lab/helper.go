package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	// roleEnv names the environment variable that makes [Enter] turn this process into one of the lab's helpers. That of configEnv has
	// the helper's configuration, as JSON.
	roleEnv, configEnv = "KEEPVIP_LAB_ROLE", "KEEPVIP_LAB_CONFIG"

	roleAPIServer   = "apiserver"
	roleReaper      = "reaper"
	roleCallers     = "callers"
	roleSubscribers = "subscribers"
	roleIdle        = "idle connections"
	roleTracer      = "tracer"
)

// helpers are what this executable does in each role.
func helpers() map[string]func() error {
	return map[string]func() error{
		roleAPIServer: given(runAPIServer), roleReaper: given(runReaper), roleCallers: given(runCallers),
		roleSubscribers: given(runSubscribers), roleIdle: given(runIdle), roleTracer: given(runTracer),
	}
}

// given has a role read its configuration.
func given[C any](run func(C) error) func() error {
	return func() (err error) {
		defer try.Catch(&err)
		var c C
		try.Do(json.Unmarshal([]byte(os.Getenv(configEnv)), &c))
		return run(c)
	}
}

// roleOf is the environment of a helper.
func roleOf(role string, config any) []string {
	text, err := json.Marshal(config)
	if err != nil {
		panic(err) // it is a configuration of our own
	}
	return []string{roleEnv + "=" + role, configEnv + "=" + string(text)}
}

// helper returns a command that runs this executable again in the given role.
func helper(role string, config any) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleOf(role, config)...)
	return cmd
}

// A helper process has so long to be ready, and to end.
const readyLimit, helperEnd = 3 * time.Minute, 30 * time.Second

// helperProcess works in a namespace until its input is closed, and may write at its end what has come of that. What has many connections
// must not share the Go runtime of the threads that measure.
type helperProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	out bytes.Buffer
}

// startHelper starts one with a policy of the scheduler, and returns when it is ready.
func (n *Namespace) startHelper(role string, config any, policy int) (_ *helperProcess, err error) {
	defer try.Say(&err, "lab: start %s", role)
	p := &helperProcess{cmd: helper(role, config)}
	ready, write := try.Two(os.Pipe())
	defer ready.Close()
	p.cmd.ExtraFiles, p.cmd.Stdout, p.cmd.Stderr = []*os.File{write}, &p.out, os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		err = n.Do(func() (err error) {
			defer try.Catch(&err)
			try.Do(setScheduler(0, policy, 0)) // which a process has of the thread that starts it
			defer func() { _ = setScheduler(0, unix.SCHED_NORMAL, 0) }()
			return p.cmd.Start()
		})
	}
	_ = write.Close()
	try.Do(err)
	_ = ready.SetReadDeadline(time.Now().Add(readyLimit))
	if b, _ := io.ReadAll(ready); len(b) == 0 {
		p.end()
		return nil, fmt.Errorf("the process has said why, or was not ready within %v", readyLimit)
	}
	return p, nil
}

// tellReady is for the helper process.
func tellReady() {
	ready := os.NewFile(3, "ready")
	_, _ = ready.Write([]byte{1})
	_ = ready.Close()
}

// end has it end, and returns when it has.
func (p *helperProcess) end() {
	_ = p.in.Close()
	late := time.AfterFunc(helperEnd, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Wait()
}
