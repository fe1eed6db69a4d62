package kubeadm

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// The shape that core/v1 and apps/v1 give to what the manifests use, written down apart from the renderer: what it writes has
// to decode strictly into this, so that a field in the wrong place, or of the wrong type, is seen.
type (
	k8sObject struct {
		APIVersion string  `json:"apiVersion"`
		Kind       string  `json:"kind"`
		Metadata   k8sMeta `json:"metadata"`
	}
	k8sMeta struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	}
	k8sPod struct {
		k8sObject
		Spec k8sPodSpec `json:"spec"`
	}
	k8sDaemonSet struct {
		k8sObject
		Spec struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			Template struct {
				Metadata k8sMeta    `json:"metadata"`
				Spec     k8sPodSpec `json:"spec"`
			} `json:"template"`
			UpdateStrategy struct {
				Type          string `json:"type"`
				RollingUpdate struct {
					MaxUnavailable int32 `json:"maxUnavailable"`
				} `json:"rollingUpdate"`
			} `json:"updateStrategy"`
		} `json:"spec"`
	}
	k8sPodSpec struct {
		Affinity struct {
			NodeAffinity struct {
				Required struct {
					NodeSelectorTerms []struct {
						MatchExpressions []struct {
							Key      string   `json:"key"`
							Operator string   `json:"operator"`
							Values   []string `json:"values"`
						} `json:"matchExpressions"`
					} `json:"nodeSelectorTerms"`
				} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
			} `json:"nodeAffinity"`
		} `json:"affinity"`
		AutomountServiceAccountToken  *bool  `json:"automountServiceAccountToken"`
		DNSPolicy                     string `json:"dnsPolicy"`
		EnableServiceLinks            *bool  `json:"enableServiceLinks"`
		HostNetwork                   bool   `json:"hostNetwork"`
		HostPID                       bool   `json:"hostPID"`
		Priority                      *int32 `json:"priority"`
		PriorityClassName             string `json:"priorityClassName"`
		TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds"`
		Tolerations                   []struct {
			Operator string `json:"operator"`
		} `json:"tolerations"`
		Containers []k8sContainer `json:"containers"`
		Volumes    []struct {
			Name     string `json:"name"`
			HostPath struct {
				Path string `json:"path"`
				Type string `json:"type"`
			} `json:"hostPath"`
		} `json:"volumes"`
	}
	k8sContainer struct {
		Name            string   `json:"name"`
		Image           string   `json:"image"`
		ImagePullPolicy string   `json:"imagePullPolicy"`
		Args            []string `json:"args"`
		Env             []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"env"`
		LivenessProbe  *k8sProbe `json:"livenessProbe"`
		ReadinessProbe *k8sProbe `json:"readinessProbe"`
		StartupProbe   *k8sProbe `json:"startupProbe"`
		Resources      struct {
			Limits   map[string]string `json:"limits"`
			Requests map[string]string `json:"requests"`
		} `json:"resources"`
		SecurityContext struct {
			AllowPrivilegeEscalation *bool `json:"allowPrivilegeEscalation"`
			Capabilities             struct {
				Add  []string `json:"add"`
				Drop []string `json:"drop"`
			} `json:"capabilities"`
			ReadOnlyRootFilesystem *bool  `json:"readOnlyRootFilesystem"`
			RunAsGroup             *int64 `json:"runAsGroup"`
			RunAsUser              *int64 `json:"runAsUser"`
			SeccompProfile         struct {
				Type string `json:"type"`
			} `json:"seccompProfile"`
		} `json:"securityContext"`
		VolumeMounts []struct {
			Name      string `json:"name"`
			MountPath string `json:"mountPath"`
			ReadOnly  bool   `json:"readOnly"`
		} `json:"volumeMounts"`
	}
	k8sProbe struct {
		HTTPGet struct {
			Host   string `json:"host"`
			Path   string `json:"path"`
			Port   int32  `json:"port"` // IntOrString
			Scheme string `json:"scheme"`
		} `json:"httpGet"`
		InitialDelaySeconds int32 `json:"initialDelaySeconds"`
		TimeoutSeconds      int32 `json:"timeoutSeconds"`
		PeriodSeconds       int32 `json:"periodSeconds"`
		SuccessThreshold    int32 `json:"successThreshold"`
		FailureThreshold    int32 `json:"failureThreshold"`
	}
)

var (
	k8sName     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	k8sQuantity = regexp.MustCompile(`^[0-9]+(m|Mi)?$`)
)

func shapes() map[string]PodConfig {
	all := flags()
	all.Processes, all.Realtime, all.Tun = true, true, true
	all.Watched = []string{"/run/keepvip/maintenance", "/var/lib/infra/drain", "/srv/flags/b"}
	all.CAFiles = []string{"/etc/kubernetes/pki/ca.crt", "/etc/ssl/b.pem"}
	return map[string]PodConfig{"flags": flags(), "inline": inline(), "file": file(), "all": all}
}

func TestPodHasTheShapeOfCoreV1(t *testing.T) {
	for name, cfg := range shapes() {
		t.Run(name, func(t *testing.T) {
			out, err := Pod(cfg)
			require.NoError(t, err)
			var p k8sPod
			require.NoError(t, yaml.UnmarshalStrict(out, &p))
			assert.Equal(t, "v1/Pod", p.APIVersion+"/"+p.Kind)
			require.NotNil(t, p.Spec.Priority)
			assert.Equal(t, int32(2000001000), *p.Spec.Priority)
			checkSpec(t, p.Spec)
		})
	}
}

func TestDaemonSetHasTheShapeOfAppsV1(t *testing.T) {
	for name, cfg := range shapes() {
		t.Run(name, func(t *testing.T) {
			out, err := DaemonSet(cfg)
			require.NoError(t, err)
			var d k8sDaemonSet
			require.NoError(t, yaml.UnmarshalStrict(out, &d))
			assert.Equal(t, "apps/v1/DaemonSet", d.APIVersion+"/"+d.Kind)
			assert.NotEmpty(t, d.Spec.Selector.MatchLabels)
			assert.Equal(t, d.Spec.Selector.MatchLabels, d.Spec.Template.Metadata.Labels)
			assert.Nil(t, d.Spec.Template.Spec.Priority, "admission takes it from the class")
			terms := d.Spec.Template.Spec.Affinity.NodeAffinity.Required.NodeSelectorTerms
			require.Len(t, terms, 1)
			assert.Equal(t, "Exists", terms[0].MatchExpressions[0].Operator, "kubeadm's label has no value")
			checkSpec(t, d.Spec.Template.Spec)
		})
	}
}

// checkSpec holds a spec against the API server's validation of what is used.
func checkSpec(t *testing.T, s k8sPodSpec) {
	t.Helper()
	require.Len(t, s.Containers, 1)
	c := s.Containers[0]
	assert.Regexp(t, k8sName, c.Name)
	assert.NotEmpty(t, c.Image)
	volumes, paths := map[string]bool{}, map[string]bool{}
	for _, v := range s.Volumes {
		assert.Regexp(t, k8sName, v.Name)
		assert.False(t, volumes[v.Name], "volume %s twice", v.Name)
		volumes[v.Name] = true
		assert.Contains(t, []string{"Directory", "DirectoryOrCreate", "File", "CharDevice"}, v.HostPath.Type)
		assert.NotContains(t, v.HostPath.Path, "..")
	}
	for _, m := range c.VolumeMounts {
		assert.True(t, volumes[m.Name], "mount of %s", m.Name)
		assert.False(t, paths[m.MountPath], "mount path %s twice", m.MountPath)
		paths[m.MountPath] = true
		assert.NotContains(t, m.MountPath, ":")
	}
	assert.Len(t, c.VolumeMounts, len(s.Volumes))
	for name, q := range c.Resources.Requests {
		assert.Regexp(t, k8sQuantity, q, name)
	}
	for _, p := range []*k8sProbe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p == nil {
			continue
		}
		assert.Regexp(t, `^/`, p.HTTPGet.Path)
		assert.Positive(t, p.HTTPGet.Port)
		assert.Positive(t, p.FailureThreshold)
		assert.Positive(t, p.PeriodSeconds)
		assert.Positive(t, p.TimeoutSeconds)
	}
}

func TestDaemonSetGolden(t *testing.T) {
	cfg := inline()
	got, err := DaemonSet(cfg)
	require.NoError(t, err)
	golden(t, "daemonset.yaml", got)
	out, err := DaemonSet(PodConfig{})
	assert.Error(t, err)
	assert.Nil(t, out)
}

func TestPodMountsTheDirectoriesOfWatchedFiles(t *testing.T) {
	p := parse(t, shapes()["all"])
	var got []hostPath
	for _, v := range p.Spec.Volumes {
		got = append(got, v.HostPath)
	}
	assert.Equal(t, []hostPath{
		{"/run/keepvip", "DirectoryOrCreate"},
		{"/var/lib/keepvip", "DirectoryOrCreate"},
		{"/etc/kubernetes/pki/ca.crt", "File"},
		{"/etc/ssl/b.pem", "File"},
		{"/dev/net/tun", "CharDevice"},
		{"/var/lib/infra", "DirectoryOrCreate"},
		{"/srv/flags", "DirectoryOrCreate"},
	}, got)
	assert.True(t, p.Spec.HostPID)
	assert.False(t, parse(t, flags()).Spec.HostPID)

	cfg := flags()
	cfg.Watched = []string{"/etc/maintenance"}
	_, err := Pod(cfg)
	assert.EqualError(t, err, "kubeadm: watched file /etc/maintenance, want a directory of its own such as /run/keepvip: the pod would see all of /etc")
}
