// Shows what the pointer is over, and paints heat maps. Without this script curves, tables and small
// heat maps are complete.
"use strict";

const box = document.getElementById("hover");

function show(text, event) {
  box.textContent = text;
  box.hidden = false;
  // Beside the pointer, but inside of the window.
  const left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
  const below = event.clientY + 18;
  const above = event.clientY - box.offsetHeight - 12;
  box.style.left = Math.max(8, left) + "px";
  box.style.top = (below + box.offsetHeight > innerHeight ? Math.max(8, above) : below) + "px";
}

function hide() {
  box.hidden = true;
}

// Times with three figures, in the units of the tables.
function time(ns) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
  const [factor, unit] = units.find(([factor]) => ns >= factor * 0.9995) || units[3];
  const value = ns / factor;
  return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + " " + unit;
}

function paint(canvas, map) {
  const spes = map.rows.length;
  const context = canvas.getContext("2d");
  const image = context.createImageData(spes, spes);
  const colours = map.colours.map((text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
  const span = Math.log(map.high_ns / map.low_ns);
  map.rows.forEach((row, from) => row.forEach((ns, to) => {
    if (ns === null) return; // Stays transparent: the hatching behind the canvas shows.
    const share = span > 0 ? Math.min(1, Math.max(0, Math.log(ns / map.low_ns) / span)) : 0.5;
    const [red, green, blue] = colours[Math.round(share * (colours.length - 1))];
    image.data.set([red, green, blue, 255], (from * spes + to) * 4);
  }));
  context.putImageData(image, 0, 0);
}

function pair(canvas, map, event) {
  const area = canvas.getBoundingClientRect();
  const spes = map.rows.length;
  const at = (offset, length) => Math.min(spes - 1, Math.max(0, Math.floor(offset / length * spes)));
  const to = at(event.clientX - area.left, area.width);
  const from = at(event.clientY - area.top, area.height);
  const ns = map.rows[from][to];
  if (from === to && ns === null) return null;
  return `${map.names[from]} to ${map.names[to]}: ${ns === null ? "not measured" : time(ns)}`;
}

const maps = new Map();
for (const figure of document.querySelectorAll(".painted")) {
  const canvas = figure.querySelector("canvas");
  const map = JSON.parse(figure.querySelector("script").textContent);
  maps.set(canvas, map);
  paint(canvas, map);
}

function point(event) {
  const element = event.target;
  const map = maps.get(element);
  const text = map ? pair(element, map, event) : element.closest?.("[data-hover]")?.dataset.hover;
  if (text) show(text, event); else hide();
}

document.addEventListener("pointermove", point);
document.addEventListener("pointerdown", point);
document.addEventListener("scroll", hide, { passive: true });
document.documentElement.addEventListener("pointerleave", hide);
