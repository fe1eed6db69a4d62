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

{{/*
Adds a path of the node to the list all.mounts, unless something there shows it already: key, the option that names it; what, the path; and the
mount for it: path, type, readOnly.
*/}}
{{- define "keepvip.see" -}}
{{- if or (not (isAbs .what)) (ne (clean .what) .what) (contains ":" .what) -}}
{{- fail (printf "%s: %s, want an absolute, clean path on the node" .key (quote .what)) -}}
{{- end -}}
{{- $at := . -}}
{{- $seen := false -}}
{{- range .all.mounts -}}
{{- if or (eq .path $at.what) (hasPrefix (printf "%s/" .path) $at.what) -}}{{- $seen = true -}}{{- end -}}
{{- end -}}
{{- if not $seen -}}
{{- $_ := set .all "mounts" (append .all.mounts (pick . "path" "type" "readOnly")) -}}
{{- end -}}
{{- end }}

{{/* Adds the directory of a path, which is made where it is missing: all, key, what, path, readOnly. */}}
{{- define "keepvip.directory" -}}
{{- if lt (len (splitList "/" .path)) 3 -}}
{{- fail (printf "%s: %s, want a directory of its own such as /run/keepvip: the pod would see all of %s" .key .what .path) -}}
{{- end -}}
{{- include "keepvip.see" (dict "all" .all "key" .key "what" .what "path" .path "type" "DirectoryOrCreate" "readOnly" .readOnly) -}}
{{- end }}

{{/* Adds files, of which nothing is written; a directory of our own is seen whole, so that replacing a file there is noticed: all, key, files. */}}
{{- define "keepvip.files" -}}
{{- $at := . -}}
{{- range .files | uniq | sortAlpha -}}
{{- $own := eq (base (dir .)) "keepvip" -}}
{{- include "keepvip.see" (dict "all" $at.all "key" $at.key "what" . "path" (ternary (dir .) . $own) "type" (ternary "Directory" "File" $own) "readOnly" true) -}}
{{- end -}}
{{- end }}

{{/*
What a pod sees of its node, by its configuration, as JSON: mounts, each with path, type and readOnly; processes; and with secret the mount
of that. It is what cmd/keepvip/manifest_pod.go and kubeadm/mount.go give a pod, in their order.
*/}}
{{- define "keepvip.sees" -}}
{{- $config := .config -}}{{- $values := .values -}}{{- $follower := .follower -}}
{{- $presets := .root.Files.Get "files/checks.yaml" | fromYaml -}}
{{- $socket := $config.socket | default "/run/keepvip/keepvip.sock" -}}
{{- $state := $config.stateDir | default "/var/lib/keepvip" -}}
{{- $all := dict "mounts" list "processes" false -}}
{{- $secrets := list -}}{{- $cas := list -}}{{- $watched := list -}}{{- $tun := false -}}{{- $followed := false -}}{{- $elected := false -}}
{{- $key := dig "key" "file" "" $config -}}
{{- $m := ternary $config.metrics dict (kindIs "map" $config.metrics) -}}
{{- if $m.privateKey -}}
{{- $cas = append $cas $m.certificate -}}
{{- end -}}
{{- $secrets = concat $secrets (list ($m.privateKey | default $m.certificate) $m.tokenFile) -}}
{{- range $i, $vip := $config.vips -}}
{{- $spread := ternary (dict "via" $vip.spread) $vip.spread (kindIs "string" $vip.spread) | default dict -}}
{{- if and (ne (default "off" $spread.via) "off") (not $spread.backends) -}}{{- $followed = true -}}{{- end -}}
{{- if not $follower -}}
{{- if $vip.hooks -}}
{{- fail (printf "%s.config.vips[%d].hooks, but a pod has neither their programs nor the right to change the user; use the unit" $values $i) -}}
{{- end -}}
{{- if eq (default "vrrp" $vip.election) "raft" -}}{{- $elected = true -}}{{- end -}}
{{- $by := dig "announce" "by" "" $vip -}}
{{- if and (ne (default "internal" $vip.mode) "external") (or (eq $by "route") (and (eq $by "") (eq (default "vrrp" $vip.election) "local"))) -}}
{{- $tun = true -}}
{{- end -}}
{{- $secrets = append $secrets (dig "vrrp" "passwordFile" "" $vip) -}}
{{- $check := ternary (dict "url" $vip.check) $vip.check (kindIs "string" $vip.check) | default dict -}}
{{- if and (not $vip.checks) (ne (default "" $check.url) "none") -}}
{{- $cas = append $cas ($check.ca | default (get $presets ($check.url | default ""))) -}}
{{- end -}}
{{- range $j, $one := $vip.checks -}}
{{- if eq (default "" $one.kind) "exec" -}}
{{- fail (printf "%s.config.vips[%d].checks[%d]: kind exec, but a pod has neither its program nor the right to change the user; use the unit" $values $i $j) -}}
{{- end -}}
{{- $cas = concat $cas (list $one.ca $one.clientCert $one.clientKey $one.tokenFile) -}}
{{- $watched = append $watched $one.path -}}
{{- if $one.process -}}{{- $_ := set $all "processes" true -}}{{- end -}}
{{- end -}}
{{- $asked := ternary (dict "url" $spread.backendCheck) $spread.backendCheck (kindIs "string" $spread.backendCheck) | default dict -}}
{{- range $spread.backends -}}
{{- $own := ternary (dict "url" .check) .check (kindIs "string" .check) | default dict -}}
{{- $url := $own.url | default $asked.url | default "" -}}
{{- if or (hasKey $presets $url) (hasPrefix "https:" $url) -}}
{{- $cas = append $cas ($own.ca | default $asked.ca | default (get $presets $url)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $follower -}}
{{- if not $followed -}}
{{- fail (printf "%s.config.vips: no entry is spread over its members, want one with spread: direct: a follower follows those" $values) -}}
{{- end -}}
{{- if and $key (not (dig "follow" "keyFile" "" $config)) -}}
{{- fail (printf "%s.config.key.file: %s is the members' key, want follow.keyFile with the followers' one (keepvip key derive makes it)" $values $key) -}}
{{- end -}}
{{- $key = dig "follow" "keyFile" "" $config -}}
{{- else -}}
{{- if dig "notifyFIFO" "path" "" $config -}}
{{- fail (printf "%s.config.notifyFIFO.path, but nobody outside the pod could read a pipe that is made in it; use the unit" $values) -}}
{{- end -}}
{{- range dig "key" "accept" list $config -}}
{{- $secrets = append $secrets (splitn "=" 2 .)._1 -}}
{{- end -}}
{{- if $elected -}}
{{- $raft := $config.raft | default dict -}}
{{- $secrets = concat $secrets (list $raft.certificate $raft.privateKey) -}}
{{- $cas = append $cas $raft.ca -}}
{{- end -}}
{{- end -}}
{{- $at := printf "%s.config" $values -}}
{{- include "keepvip.directory" (dict "all" $all "key" (printf "%s.socket" $at) "what" $socket "path" (dir $socket) "readOnly" false) -}}
{{- include "keepvip.directory" (dict "all" $all "key" (printf "%s.stateDir" $at) "what" $state "path" $state "readOnly" false) -}}
{{- with .root.Values.secret -}}
{{- include "keepvip.see" (dict "all" $all "key" "secret" "what" "/etc/keepvip" "path" "/etc/keepvip" "type" "Secret" "readOnly" true) -}}
{{- end -}}
{{- range list (compact (list $key)) (compact $secrets) (compact $cas) -}}
{{- include "keepvip.files" (dict "all" $all "key" $at "files" .) -}}
{{- end -}}
{{- include "keepvip.files" (dict "all" $all "key" "files" "files" .root.Values.files) -}}
{{- if $tun -}}
{{- $_ := set $all "mounts" (append $all.mounts (dict "path" "/dev/net/tun" "type" "CharDevice" "readOnly" false)) -}}
{{- end -}}
{{- range compact $watched -}}
{{- include "keepvip.directory" (dict "all" $all "key" $at "what" . "path" (dir .) "readOnly" true) -}}
{{- end -}}
{{- $all | toJson -}}
{{- end }}

{{/* The spec of a pod: root, values, config, follower. It is that of `keepvip manifest daemonset`; make test-installers compares them. */}}
{{- define "keepvip.spec" -}}
{{- $config := .config -}}
{{- $sees := include "keepvip.sees" . | fromJson -}}
{{- $metrics := include "keepvip.metrics" $config -}}
{{- $host := "" -}}{{- $port := 0 -}}{{- $open := false -}}
{{- if $metrics -}}
{{- $port = regexFind "[0-9]+$" $metrics | int -}}
{{- $host = trimSuffix (printf ":%d" $port) $metrics | trimAll "[]" -}}
{{- $open = not (or (hasPrefix "127." $host) (eq "::1" $host) (eq "localhost" $host)) -}}
{{- if or $open (eq "localhost" $host) -}}{{- $host = "127.0.0.1" -}}{{- end -}}
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
      {{- if and $config.realtime (not .follower) }}
      - SYS_NICE
      {{- end }}
      {{- if and .follower (not (dig "follow" "keyFile" "" $config)) }}
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
  {{- range $i, $mount := $sees.mounts }}
  - name: host-{{ $i }}
    mountPath: {{ $mount.path | quote }}
    {{- if $mount.readOnly }}
    readOnly: true
    {{- end }}
  {{- end }}
dnsPolicy: Default
enableServiceLinks: false
hostNetwork: true
{{- if $sees.processes }}
hostPID: true
{{- end }}
priorityClassName: system-node-critical
terminationGracePeriodSeconds: 10
tolerations:
- operator: Exists
volumes:
{{- range $i, $mount := $sees.mounts }}
- name: host-{{ $i }}
  {{- if eq $mount.type "Secret" }}
  secret:
    secretName: {{ $.root.Values.secret }}
    defaultMode: 0400
  {{- else }}
  hostPath:
    path: {{ $mount.path | quote }}
    type: {{ $mount.type }}
  {{- end }}
{{- end }}
{{- end }}

{{/* One DaemonSet: root, name, values, config, follower, nodeSelector. */}}
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
