package kubeadm

// The part of the Kubernetes API that the static pod uses. Fields stand here only when they are written.

type pod struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       podSpec  `json:"spec"`
}

type metadata struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace"`
	Labels    map[string]string `json:"labels"`
}

type podSpec struct {
	AutomountServiceAccountToken  bool         `json:"automountServiceAccountToken"`
	Containers                    []container  `json:"containers"`
	DNSPolicy                     string       `json:"dnsPolicy"`
	EnableServiceLinks            bool         `json:"enableServiceLinks"`
	HostNetwork                   bool         `json:"hostNetwork"`
	Priority                      int32        `json:"priority"`
	PriorityClassName             string       `json:"priorityClassName"`
	TerminationGracePeriodSeconds int64        `json:"terminationGracePeriodSeconds"`
	Tolerations                   []toleration `json:"tolerations"`
	Volumes                       []volume     `json:"volumes"`
}

type container struct {
	Name            string          `json:"name"`
	Image           string          `json:"image"`
	ImagePullPolicy string          `json:"imagePullPolicy"`
	Args            []string        `json:"args"`
	Env             []envVar        `json:"env,omitempty"`
	LivenessProbe   *probe          `json:"livenessProbe,omitempty"`
	ReadinessProbe  *probe          `json:"readinessProbe,omitempty"`
	StartupProbe    *probe          `json:"startupProbe,omitempty"`
	Resources       resources       `json:"resources"`
	SecurityContext securityContext `json:"securityContext"`
	VolumeMounts    []volumeMount   `json:"volumeMounts"`
}

type envVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type probe struct {
	HTTPGet          httpGet `json:"httpGet"`
	FailureThreshold int     `json:"failureThreshold"`
	PeriodSeconds    int     `json:"periodSeconds"`
	TimeoutSeconds   int     `json:"timeoutSeconds"`
}

type httpGet struct {
	Host string `json:"host"`
	Path string `json:"path"`
	Port int    `json:"port"`
}

type resources struct {
	Limits   map[string]string `json:"limits"`
	Requests map[string]string `json:"requests"`
}

type securityContext struct {
	AllowPrivilegeEscalation bool           `json:"allowPrivilegeEscalation"`
	Capabilities             capabilities   `json:"capabilities"`
	ReadOnlyRootFilesystem   bool           `json:"readOnlyRootFilesystem"`
	RunAsGroup               int64          `json:"runAsGroup"`
	RunAsUser                int64          `json:"runAsUser"`
	SeccompProfile           seccompProfile `json:"seccompProfile"`
}

type capabilities struct {
	Add  []string `json:"add"`
	Drop []string `json:"drop"`
}

type seccompProfile struct {
	Type string `json:"type"`
}

type toleration struct {
	Operator string `json:"operator"`
}

type volume struct {
	Name     string   `json:"name"`
	HostPath hostPath `json:"hostPath"`
}

type hostPath struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

type volumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
}
