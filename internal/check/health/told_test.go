package health

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

func reasons(reports []Verdict) (out []string) {
	for _, v := range reports {
		out = append(out, string(v.Code)+" "+v.Reason)
	}
	return out
}

func TestCheckerTellsTheNewestReasonOfAServiceThatStaysUnhealthy(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, down, down, fail}}
		reports, _ := run(t, s, given(config.ListedCheck{}), 4*time.Second, nil)
		assert.Equal(t, []string{" 200", "KV201 connection refused", "KV202 500"}, reasons(reports))
		assert.Equal(t, Unhealthy, reports[2].State)
		assert.Equal(t, reports[1].Since, reports[2].Since, "it is no change of state")
	})
}

func TestCheckerTellsAReasonThatAlternatesAtMostOnceASecond(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, down}}
		for range 50 {
			s.steps = append(s.steps, fail, down)
		}
		_, at := run(t, s, given(config.ListedCheck{}), 10*time.Second, nil)
		require.Greater(t, len(at), 3)
		for i := 2; i < len(at); i++ {
			assert.GreaterOrEqual(t, at[i]-at[i-1], time.Second)
		}
	})
}

func TestCheckerTellsThatDampingAloneKeepsAServiceUnhealthy(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, down, pass, pass, down, down, down, down, down, pass}}
		reports, _ := run(t, s, given(config.ListedCheck{}), 6*time.Second, nil)
		last := reports[len(reports)-1]
		assert.Equal(t, Unhealthy, last.State)
		assert.Equal(t, code.CheckFlaps, last.Code, "it is not refused any more")
		assert.Equal(t, "200", last.Reason)
	})
}

func TestReasonOfAnExpiredCertificateHasNoCurrentTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	expired := x509.CertificateInvalidError{Cert: &x509.Certificate{NotAfter: at}, Reason: x509.Expired, Detail: "current time is later"}
	assert.Equal(t, "it expired at 2026-01-02T03:04:05Z", outOfTime(expired))
	early := x509.CertificateInvalidError{Cert: &x509.Certificate{NotBefore: time.Now().Add(time.Hour)}, Reason: x509.Expired}
	assert.Contains(t, outOfTime(early), "it is not valid before ")
	assert.Empty(t, outOfTime(x509.UnknownAuthorityError{}))
}
