{{- define "keepvip.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}
{{- else -}}{{ .repository }}:{{ .tag | default (printf "v%s" $.Chart.AppVersion) }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The configuration as text. The kubelet expands $(NAME) in a variable: $$ is a dollar sign. */}}
{{- define "keepvip.config" -}}
{{- $head := dict "apiVersion" "keepvip/v1" "kind" "Config" -}}
{{- toYaml (merge (deepCopy .) $head) | replace "$" "$$" | quote -}}
{{- end }}

{{/* Where the kubelet asks for the health: host and port of the metrics listener; empty if it is off. */}}
{{- define "keepvip.metrics" -}}
{{- $m := .metrics | default "" -}}
{{- if kindIs "map" $m -}}{{- $m = $m.address | default "" -}}{{- end -}}
{{- if eq $m "off" -}}{{- else -}}{{ $m | default "127.0.0.1:9645" }}{{- end -}}
{{- end }}

{{- define "keepvip.probe" -}}
httpGet:
  host: {{ .host | quote }}
  path: {{ .path }}
  port: {{ .port }}
failureThreshold: {{ .failures }}
periodSeconds: {{ .period }}
timeoutSeconds: 2
{{- end }}

{{/* The spec of a pod: values, chart, config, follower. It is that of `keepvip manifest daemonset`; make test-installers compares them. */}}
{{- define "keepvip.spec" -}}
{{- $config := .config -}}
{{- $checks := .root.Files.Get "files/checks.yaml" | fromYaml -}}
{{- $files := deepCopy .root.Values.files -}}
{{- range $config.vips -}}
{{- if kindIs "string" .check -}}
{{- with get $checks .check -}}{{- $files = append $files . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $metrics := include "keepvip.metrics" $config -}}
{{- $host := "" -}}{{- $port := 0 -}}{{- $open := false -}}
{{- if $metrics -}}
{{- $port = regexFind "[0-9]+$" $metrics | int -}}
{{- $host = trimSuffix (printf ":%d" $port) $metrics | trimAll "[]" -}}
{{- $open = not (or (hasPrefix "127." $host) (eq "::1" $host) (eq "localhost" $host)) -}}
{{- if or (eq "0.0.0.0" $host) (eq "" $host) -}}{{- $host = "127.0.0.1" -}}{{- end -}}
{{- if eq "::" $host -}}{{- $host = "::1" -}}{{- end -}}
{{- end -}}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: node-role.kubernetes.io/control-plane
          operator: {{ ternary "DoesNotExist" "Exists" .follower }}
automountServiceAccountToken: false
containers:
- name: keepvip
  image: {{ include "keepvip.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
  - {{ ternary "follow" "run" .follower }}
  env:
  - name: KEEPVIP_CONFIG_YAML
    value: {{ include "keepvip.config" $config }}
  {{- if $open }}
  ports:
  - name: metrics
    containerPort: {{ $port }}
  {{- end }}
  {{- if $metrics }}
  livenessProbe:
    {{- include "keepvip.probe" (dict "host" $host "port" $port "path" "/livez" "failures" 3 "period" 10) | nindent 4 }}
  readinessProbe:
    {{- include "keepvip.probe" (dict "host" $host "port" $port "path" "/readyz" "failures" 2 "period" 5) | nindent 4 }}
  startupProbe:
    {{- include "keepvip.probe" (dict "host" $host "port" $port "path" "/livez" "failures" 30 "period" 1) | nindent 4 }}
  {{- end }}
  resources:
    limits:
      memory: 128Mi
    requests:
      cpu: 100m
      memory: 32Mi
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      add:
      - NET_ADMIN
      - NET_RAW
      {{- if $config.realtime }}
      - SYS_NICE
      {{- end }}
      {{- if and .follower (not (dig "follow" "keyFile" "" $config)) (not (dig "key" "file" "" $config)) }}
      - NET_BIND_SERVICE
      {{- end }}
      drop:
      - ALL
    readOnlyRootFilesystem: true
    runAsGroup: 0
    runAsUser: 0
    seccompProfile:
      type: RuntimeDefault
  volumeMounts:
  - name: run
    mountPath: /run/keepvip
  - name: state
    mountPath: /var/lib/keepvip
  {{- if or .root.Values.secret (contains "/etc/keepvip/" (toYaml $config)) }}
  - name: key
    mountPath: /etc/keepvip
    readOnly: true
  {{- end }}
  {{- range $i, $file := $files | uniq | sortAlpha }}
  - name: file-{{ $i }}
    mountPath: {{ $file | quote }}
    readOnly: true
  {{- end }}
dnsPolicy: Default
enableServiceLinks: false
hostNetwork: true
priorityClassName: system-node-critical
terminationGracePeriodSeconds: 10
tolerations:
- operator: Exists
volumes:
- name: run
  hostPath:
    path: /run/keepvip
    type: DirectoryOrCreate
- name: state
  hostPath:
    path: /var/lib/keepvip
    type: DirectoryOrCreate
{{- if .root.Values.secret }}
- name: key
  secret:
    secretName: {{ .root.Values.secret }}
    defaultMode: 0400
{{- else if contains "/etc/keepvip/" (toYaml $config) }}
- name: key
  hostPath:
    path: /etc/keepvip
    type: Directory
{{- end }}
{{- range $i, $file := $files | uniq | sortAlpha }}
- name: file-{{ $i }}
  hostPath:
    path: {{ $file | quote }}
    type: File
{{- end }}
{{- end }}

{{/* One DaemonSet: root, name, config, follower, nodeSelector. */}}
{{- define "keepvip.daemonset" -}}
{{- if not .config.vips }}{{ fail (printf "%s.config.vips: missing; name at least one address" .values) }}{{ end -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ .name }}
    app.kubernetes.io/instance: {{ .root.Release.Name }}
    app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
    app.kubernetes.io/managed-by: {{ .root.Release.Service }}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{ .name }}
    spec:
      {{- include "keepvip.spec" . | nindent 6 }}
      {{- with .nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  # One node after the other: each has taken its part in the election again before the next one leaves it.
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 1
{{- end }}
