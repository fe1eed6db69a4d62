import { problems, vip, wrong, move } from "./render.js";

const every = 2000, mostMoves = 20, mostVIPs = 50;
const at = id => document.getElementById(id);
let codes = new Map();

const get = async path => {
  const r = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(4000) });
  if (!r.ok) throw new Error(`${path}: ${r.status}`);
  return r.json();
};

const show = async () => {
  try {
    if (!codes.size) codes = new Map((await get("codes")).map(e => [e.code, e]));
    const status = await get("status"), history = await get("history"), now = new Date(), all = problems(status);
    at("node").textContent = `${status.node} · ${status.version}`;
    at("wrong").replaceChildren(...all.map(p => wrong(p, codes)));
    at("vips").replaceChildren(...status.vips.slice(0, mostVIPs).map(v => vip(v, now)));
    if (status.vips.length > mostVIPs) at("vips").append(`${status.vips.length - mostVIPs} more: keepvip status`);
    at("moves").replaceChildren(...history.transitions.slice(-mostMoves).reverse().map(t => move(t, now)));
    at("asked").textContent = `${all.length ? `${all.length} found` : "Nothing is wrong"} · ${now.toLocaleTimeString()}`;
    at("asked").className = all.length ? "bad" : "good";
    document.title = `${all.length ? "! " : ""}keepvip ${status.node}`;
    document.body.dataset.shown = "yes";
  } catch (e) {
    at("asked").textContent = `This node does not answer; what follows is old. ${e.message}`;
    at("asked").className = "bad";
  }
  setTimeout(show, every);
};
show();
