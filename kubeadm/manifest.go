package kubeadm

// The part of the Kubernetes API that the manifests use. Fields stand here only when they are written.

type pod struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       podSpec  `json:"spec"`
}

type daemonSet struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Metadata   metadata      `json:"metadata"`
	Spec       daemonSetSpec `json:"spec"`
}

type daemonSetSpec struct {
	Selector       labelSelector  `json:"selector"`
	Template       podTemplate    `json:"template"`
	UpdateStrategy updateStrategy `json:"updateStrategy"`
}

type labelSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type podTemplate struct {
	Metadata metadata `json:"metadata"`
	Spec     podSpec  `json:"spec"`
}

type updateStrategy struct {
	RollingUpdate rollingUpdate `json:"rollingUpdate"`
	Type          string        `json:"type"`
}

type rollingUpdate struct {
	MaxUnavailable int `json:"maxUnavailable"`
}

type metadata struct {
	Name      string            `json:"name,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels"`
}

type podSpec struct {
	Affinity                      *affinity    `json:"affinity,omitempty"`
	AutomountServiceAccountToken  bool         `json:"automountServiceAccountToken"`
	Containers                    []container  `json:"containers"`
	DNSPolicy                     string       `json:"dnsPolicy"`
	EnableServiceLinks            bool         `json:"enableServiceLinks"`
	HostNetwork                   bool         `json:"hostNetwork"`
	HostPID                       bool         `json:"hostPID,omitempty"`
	Priority                      int32        `json:"priority,omitempty"`
	PriorityClassName             string       `json:"priorityClassName"`
	TerminationGracePeriodSeconds int64        `json:"terminationGracePeriodSeconds"`
	Tolerations                   []toleration `json:"tolerations"`
	Volumes                       []volume     `json:"volumes"`
}

type affinity struct {
	NodeAffinity nodeAffinity `json:"nodeAffinity"`
}

type nodeAffinity struct {
	Required nodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution"`
}

type nodeSelector struct {
	Terms []nodeSelectorTerm `json:"nodeSelectorTerms"`
}

type nodeSelectorTerm struct {
	MatchExpressions []nodeRequirement `json:"matchExpressions"`
}

type nodeRequirement struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
}

type container struct {
	Name            string          `json:"name"`
	Image           string          `json:"image"`
	ImagePullPolicy string          `json:"imagePullPolicy"`
	Args            []string        `json:"args"`
	Env             []envVar        `json:"env,omitempty"`
	Ports           []port          `json:"ports,omitempty"`
	LivenessProbe   *probe          `json:"livenessProbe,omitempty"`
	ReadinessProbe  *probe          `json:"readinessProbe,omitempty"`
	StartupProbe    *probe          `json:"startupProbe,omitempty"`
	Resources       resources       `json:"resources"`
	SecurityContext securityContext `json:"securityContext"`
	VolumeMounts    []volumeMount   `json:"volumeMounts"`
}

type port struct {
	Name          string `json:"name"`
	ContainerPort int    `json:"containerPort"`
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
