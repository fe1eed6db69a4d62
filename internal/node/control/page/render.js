// What the page shows of the status and the history. Texts of other nodes are put in as texts, never as HTML.
export const el = (tag, attrs = {}, ...inside) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs)) if (v) e.setAttribute(k, v);
  e.append(...inside.filter(x => x !== undefined && x !== null && x !== ""));
  return e;
};

export const ago = (at, now) => {
  const s = Math.max(0, Math.round((now - new Date(at)) / 1000));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  return s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
};

const node = n => n?.address ? (n.node ? `${n.node} (${n.address})` : n.address) : "nobody";

// problems are what is wrong, each with its code. What is the same of several addresses is one.
export const problems = status => {
  const out = new Map();
  const add = (name, what, code, remedy) => {
    if (!what) return;
    const key = `${code} ${what}`;
    if (!out.has(key)) out.set(key, { names: [], what, code, remedy });
    const names = out.get(key).names;
    if (!names.includes(name)) names.push(name);
  };
  for (const l of status.listeners ?? []) add(l.option, l.problem, l.code);
  for (const v of status.vips ?? []) {
    if (v.observed === "fault") add(v.name, v.why?.reason ?? v.reason, v.why?.code ?? v.code);
    add(v.name, v.blocked, v.why?.code);
    add(v.name, v.uncovered, "KV361");
    add(v.name, v.fence.reason, v.fence.code);
    add(v.name, v.spread?.problem);
    for (const s of v.splits ?? []) add(v.name, `${node(s)} holds the address as well: ${s.cause}`, s.code, s.remedy);
    for (const c of v.conflicts ?? []) add(v.name, `${c.mac} claims ${c.address}`, c.code);
    for (const c of v.checks ?? (v.check ? [v.check] : [])) if (c.state === "unhealthy") add(v.name, `check ${c.name ?? ""}: ${c.reason}`, c.code);
    for (const m of v.members ?? []) {
      if (m.state === "silent") add(v.name, `nothing is heard of ${node(m)}${m.lastHeard ? " since " + new Date(m.lastHeard).toLocaleString() : ""}`, m.code,
        "if that node should run: is it up, is keepvip running there, and does the link between the nodes carry packets (keepvip doctor on both)?");
      else if (!m.self && m.fit === false) add(v.name, `${node(m)}: ${m.unfit}`, m.code);
    }
    if (v.takers?.count === 0) add(v.name, `no node could take the address over${v.takers.reason ? ": " + v.takers.reason : ""}`, undefined,
      "bring back the members that are silent or not fit, before the holder is stopped (keepvip status).");
  }
  return [...out.values()];
};

export const wrong = (p, codes) => {
  const e = codes.get(p.code), remedy = p.remedy || e?.remedy;
  return el("div", { class: "card bad" }, el("h2", {}, [p.code, p.names.slice(0, 5).join(", "), p.names.length > 5 ? `and ${p.names.length - 5} more` : ""].filter(Boolean).join(" ")),
    el("p", {}, p.what), remedy && el("p", {}, "Remedy: ", remedy));
};

const health = m => m.state === "silent" ? ["silent", "bad"] : m.witness ? ["witness", ""] : m.fit === false ? [m.unfit || "not fit", "bad"] : m.fit ? ["well", "good"] : ["not known", ""];

const member = (v, m, now) => {
  const [word, kind] = health(m);
  const shares = (v.spread?.tables ?? []).filter(t => t.slots).map(t => {
    const s = t.shares.find(s => s.address === m.address);
    return `${Math.round(100 * (s?.slots ?? 0) / t.slots)} %${s && s.condition !== "fit" ? ` ${s.condition}` : ""}`;
  });
  const cell = (of, text, kind) => el("td", { "data-of": of, class: kind }, text);
  return el("tr", {}, cell("node", `${m.node || m.address}${m.self ? " (this node)" : ""}`, m.address === v.holder ? "holder" : ""), cell("address", m.address), cell("state", m.state),
    cell("health", word, kind), cell("priority", String(m.priority)), v.spread && cell("share", [...new Set(shares)].join(", ") || "none"),
    cell("heard", m.self ? "itself" : m.lastHeard ? `${ago(m.lastHeard, now)} ago` : "never"));
};

export const vip = (v, now) => {
  const holder = (v.members ?? []).find(m => m.address === v.holder);
  const heads = ["node", "address", "state", "health", "priority", v.spread && "share", "heard"].filter(Boolean);
  return el("div", { class: "card" }, el("h2", {}, `${v.name} `, el("span", { class: "soft" }, v.addresses.join(", "))),
    el("p", {}, v.holder ? "Held by " : "", v.holder ? el("span", { class: "holder" }, node({ node: holder?.node, address: v.holder })) : el("b", { class: "bad" }, "Held by nobody that is heard"),
      `. This node is ${v.observed} for ${ago(v.since, now)}${v.reason ? ": " + v.reason : ""}.`),
    el("table", {}, el("thead", {}, el("tr", {}, ...heads.map(h => el("th", {}, h)))), el("tbody", {}, ...(v.members ?? []).map(m => member(v, m, now)))));
};

export const move = (t, now) => {
  const what = t.fault ? `${t.fault}${t.over ? " is over" : ""}` : !t.oldHolder && !t.newHolder ? `${t.from} → ${t.to}` : `${node(t.oldHolder)} → ${node(t.newHolder)}`;
  return el("li", { class: t.fault && !t.over ? "bad" : "" }, el("span", { class: "soft" }, `${new Date(t.at).toLocaleString()}, ${ago(t.at, now)} ago `), el("b", {}, t.vip), ` ${what}`,
    el("div", { class: "soft" }, [t.code, t.reason, t.cause, t.askedBy && `asked by ${t.askedBy}`, t.awaySeconds ? `away ${t.awaySeconds.toFixed(3)} s` : ""].filter(Boolean).join(" · ")));
};
