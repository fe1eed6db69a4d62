package code

import (
	"fmt"
	"time"
)

// expiresSoon is how long before its end a certificate is worth a word: kubeadm's last a year, and nothing renews them but an upgrade, or a
// person.
const expiresSoon = 14 * 24 * time.Hour

// Expiry is the code of a certificate that is valid for so long from now on, and says when it expires; "" for one that
// is valid for more than 14 days.
func Expiry(certificate string, ends time.Time, left time.Duration) (c Code, says string) {
	day := ends.UTC().Format(time.DateOnly)
	switch {
	case left <= 0:
		return CertificateExpired, fmt.Sprintf("%s has expired on %s", certificate, day)
	case left <= expiresSoon:
		return CertificateExpires, fmt.Sprintf("%s expires on %s, in %d days", certificate, day, int(left.Hours()/24))
	}
	return "", ""
}
