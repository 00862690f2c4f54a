// Draws the timeline and, when it is opened, the close-up: unpacks plotly.js, colors the figures for
// light or dark paper, and gives each fault's label the room that it has. Without it the page is
// complete but for the pictures.
"use strict";
(async () => {
  const picture = document.getElementById("picture");
  const text = (id) => document.getElementById(id).textContent;
  const dark = JSON.parse(text("dark"));
  const darkPaper = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const PHONE = 600, PAPER = 700; // width in px of what counts as a phone, and of a printed page

  async function plotly() {
    const bytes = Uint8Array.from(atob(text("plotly")), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(plain).text();
    document.head.append(script);
  }

  // Colors are strings that occur nowhere else, so the figure is recolored as text.
  function figure(id, inDark) {
    const escaped = Object.keys(dark).map((color) => color.replace(/[().]/g, "\\$&"));
    const colors = new RegExp(escaped.join("|"), "g");
    return JSON.parse(inDark ? text(id).replace(colors, (c) => dark[c]) : text(id));
  }

  // Labels lie flat where all have room, stand upright where they have not, and wait for the
  // reader to zoom in where they would touch each other even so.
  function label(layout, width, range) {
    const faults = (layout.annotations || []).filter((note) => note.name === "fault");
    const scale = (width - layout.margin.l - layout.margin.r) / (range[1] - range[0]);
    const lines = faults.flatMap((note) => note.text.split("<br>").map((line) => line.length));
    const longest = Math.max(0, ...lines) * 5.7 + 6; // px; faults of one moment share a label
    const high = 14 * Math.max(0, ...faults.map((note) => note.text.split("<br>").length));
    const inside = faults.filter((note) => note.x >= range[0] && note.x <= range[1]);
    const room = inside.map((note, n) => ((inside[n + 1]?.x ?? range[1]) - note.x) * scale);
    const flat = room.every((pixels) => pixels >= longest);
    const upright = !flat && room.slice(0, -1).every((pixels) => pixels >= high);
    for (const note of faults) {
      note.visible = inside.includes(note) && (flat || upright);
      Object.assign(note, { textangle: flat ? 0 : -90, xanchor: flat ? "left" : "center" });
    }
    const bar = touch ? 28 : 0; // the tools of a touch screen are always there
    const top = bar + (upright ? longest + 6 : flat && inside.length ? high + 10 : 10);
    layout.height += top - layout.margin.t;
    layout.margin.t = top;
  }

  function draw(box, id, inDark, width) {
    const { data, layout } = figure(id, inDark);
    const range = box.layout?.xaxis?.range ?? layout.xaxis.range;
    const phone = width < PHONE;
    layout.xaxis.range = [...range];
    layout.width = width;
    // A finger scrolls the page until a tool of the bar is chosen; a mouse zooms.
    layout.dragmode = box.layout?.dragmode ?? (touch ? false : "zoom");
    layout.modebar = { bgcolor: "rgba(0,0,0,0)" };
    layout.hoverlabel = { font: { size: phone ? 10 : 12 }, bgcolor: inDark ? "#1b2127" : "#fff" };
    if (phone) layout.xaxis.nticks = 6;
    label(layout, width, range);
    const config = {
      displaylogo: false,
      displayModeBar: touch,
      doubleClick: "reset",
      showTips: false,
      modeBarButtons: [["zoomIn2d", "zoomOut2d", "zoom2d", "pan2d", "resetScale2d"]],
    };
    return Plotly.react(box, data, layout, config);
  }

  // A picture that follows the reader: to another width, to dark paper, into a zoom, onto paper.
  async function follow(box, id) {
    const redraw = () => box.clientWidth && draw(box, id, darkPaper.matches, box.clientWidth);
    await redraw();
    let width = box.clientWidth;
    box.on("plotly_relayout", (change) => {
      if (Object.keys(change).some((key) => key.startsWith("xaxis"))) redraw();
    });
    new ResizeObserver(() => {
      if (box.clientWidth !== width && box.clientWidth) {
        width = box.clientWidth;
        redraw();
      }
    }).observe(box);
    darkPaper.addEventListener("change", redraw);
    addEventListener("beforeprint", () => draw(box, id, false, PAPER));
    addEventListener("afterprint", redraw);
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const part of opened) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of opened) part.open = false;
  });

  try {
    await plotly();
    document.getElementById("no-picture").remove();
    await follow(picture, "figure");
  } catch (error) {
    document.getElementById("no-picture").textContent =
      "This browser is too old to draw the timeline; the tables below say the same in numbers.";
    throw error;
  }

  const closeUp = document.getElementById("close-up");
  const drawCloseUp = () => {
    if (closeUp.open) {
      closeUp.removeEventListener("toggle", drawCloseUp);
      follow(document.getElementById("close-up-picture"), "close-up-figure");
    }
  };
  closeUp?.addEventListener("toggle", drawCloseUp);
  if (closeUp) drawCloseUp(); // opened while plotly was unpacked
})();
