"use strict";
// Words and tables are there without this script. It draws figures when they come into sight, and
// makes tables sortable and searchable. What is long (Plotly, rows of large tables, data of figures)
// is read when it is first asked for: a reader sees the answer first, then the first figure.
(() => {
  document.documentElement.classList.add("js");
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const element = (name, attributes = {}, text = "") => {
    const made = Object.assign(document.createElement(name), attributes);
    made.textContent = text;
    return made;
  };

  const unpacked = (script) => {
    const packed = atob(script.textContent);
    const bytes = new Uint8Array(packed.length);
    for (let place = 0; place < packed.length; place += 1) bytes[place] = packed.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };

  // --- tables ---------------------------------------------------------------------------------
  const rowsOf = async (sheet) => {
    const packed = sheet.querySelector("script.rows");
    if (packed) return JSON.parse(await unpacked(packed));
    return all("tbody tr", sheet).map((row) =>
      [...row.cells].map((cell) => [
        cell.textContent,
        cell.dataset.key === undefined ? null : Number(cell.dataset.key),
      ]));
  };

  const compare = (place, sign) => (one, other) => {
    const [a, b] = [one[place], other[place]];
    const [empty, without] = [a[0] === "–", b[0] === "–"];
    if (empty || without) return empty - without;  // no value: last either way
    if (a[1] !== null && b[1] !== null) return sign * (a[1] - b[1]);
    return sign * a[0].localeCompare(b[0], "en", { numeric: true });
  };

  const makeTable = (sheet) => {
    const table = sheet.querySelector("table");
    const [page, total] = [Number(sheet.dataset.page), Number(sheet.dataset.rows)];
    const heads = all("th", table);
    const kinds = heads.map((head) => head.className);
    const state = { words: [], place: -1, sign: 1, start: 0, shown: [] };
    const tools = element("div", { className: "tools" });
    const label = element("label", {}, "Filter ");
    const input = element("input", { type: "search", placeholder: "words in any column" });
    const count = sheet.querySelector("[role=status]");
    const before = element("button", { type: "button", disabled: true }, "Previous");
    const after = element("button", { type: "button" }, "Next");
    label.append(input);
    let rows = null;

    const draw = () => {
      const part = state.shown.slice(state.start, state.start + page);
      table.tBodies[0].replaceChildren(...part.map((cells) => {
        const row = document.createElement("tr");
        row.append(...cells.map((cell, place) =>
          element("td", { className: kinds[place] }, cell[0])));
        return row;
      }));
      const words = (number) => number.toLocaleString("en");
      const end = state.start + part.length;
      const range = state.shown.length > page ? `${words(state.start + 1)} to ${words(end)} of ` : "";
      const of = state.shown.length < total ? ` of ${words(total)}` : "";
      count.textContent = `${range}${words(state.shown.length)}${of} rows`;
      before.disabled = state.start === 0;
      after.disabled = end >= state.shown.length;
    };
    const chosen = (found) => {
      const fits = (row) => {
        const text = row.map((cell) => cell[0]).join("\t").toLowerCase();
        return state.words.every((word) => text.includes(word));
      };
      state.shown = state.words.length ? found.filter(fits) : found.slice();
      if (state.place >= 0) state.shown.sort(compare(state.place, state.sign));
      return state.shown;
    };
    const told = (error) => {
      count.textContent = "This browser cannot read the other rows.";
      console.warn(String(error));
    };
    // Every row is asked for once, by the first that sorts, filters or turns over.
    const ask = (start) => (rows ??= rowsOf(sheet)).then((found) => {
      if (start === 0 || state.shown.length === 0) chosen(found);
      state.start = start;
      draw();
    }).catch(told);
    heads.forEach((head, place) => {
      const button = element("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        state.sign = state.place === place ? -state.sign : 1;
        state.place = place;
        heads.forEach((each) => each.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", state.sign > 0 ? "ascending" : "descending");
        ask(0);
      });
    });
    input.addEventListener("input", () => {
      state.words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      ask(0);
    });
    before.addEventListener("click", () => ask(state.start - page));
    after.addEventListener("click", () => ask(state.start + page));
    if (!count) return;
    tools.append(label);
    if (total > page) tools.append(before, after);
    tools.append(count);
    sheet.prepend(tools);
  };
  all(".sheet").forEach(makeTable);

  // --- figures --------------------------------------------------------------------------------
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const NARROW = 600;
  const MOST_AHEAD = 60;
  const [LONGEST, ONE_LINE] = [24, 16];
  // Long names on a narrow screen: two lines, parted at the space nearest the middle. What is too
  // long still loses its own middle, since ends tell cases apart.
  const short = (text) => {
    const words = plain(text);
    const off = (place) => Math.abs(place - words.length / 2);
    const [place] = [...words.matchAll(/ /g)].map((each) => each.index).sort((a, b) => off(a) - off(b));
    const parted = words.length > ONE_LINE && place !== undefined;
    const lines = parted ? [words.slice(0, place), words.slice(place + 1)] : [words];
    return lines.map((line) => {
      const kept = line.length > LONGEST ? `${line.slice(0, 7)}…${line.slice(8 - LONGEST)}` : line;
      return kept.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    }).join("<br>");
  };
  const plain = (text) => {
    const box = document.createElement("textarea");  // text that is escaped for Plotly, as it was
    box.innerHTML = text;
    return box.value;
  };

  const themed = (figure, plot) => {
    const layout = structuredClone(figure.layout);
    const axis = { gridcolor: style("--grid"), linecolor: style("--line"), zerolinecolor: style("--line") };
    layout.xaxis = { ...layout.xaxis, ...axis };
    layout.yaxis = { ...layout.yaxis, ...axis };
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.font = { color: style("--soft"), family: getComputedStyle(document.body).fontFamily, size: 12 };
    layout.hoverlabel = {
      bgcolor: style("--raised"), bordercolor: style("--line"), align: "left",
      font: { color: style("--ink") },
    };
    if (plot.clientWidth < NARROW) {
      layout.margin = { ...layout.margin, l: 10, r: 10 };
      layout.xaxis.nticks = 5;
      if (layout.meta.lying) {
        layout.yaxis.ticktext = layout.yaxis.ticktext.map(short);
        layout.yaxis.tickfont = { size: 10 };
      }
    }
    return layout;
  };

  const inked = (figure) => figure.data.map((trace) => (
    trace.error_x ? { ...trace, error_x: { ...trace.error_x, color: style("--ink") } } : trace));

  const settings = { responsive: true, displaylogo: false, displayModeBar: "hover",
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] };
  // By the element that each is drawn in: what it shows, and the promise of its drawing.
  const figures = new Map();
  const shownIn = (plot) => {
    const own = figures.get(plot);
    return own.figure ??= JSON.parse(own.script.textContent);
  };
  let library = null;
  const plotly = () => library ??= unpacked(document.getElementById("plotly")).then((text) => {
    document.head.append(element("script", {}, text));
  });

  // On paper a drawing is scaled to the width of the page, for which it has to say its own.
  const scalable = (plot) => {
    const [width, height] = [plot._fullLayout.width, plot._fullLayout.height];
    all(".main-svg", plot).forEach((svg) => svg.setAttribute("viewBox", `0 0 ${width} ${height}`));
    plot.style.setProperty("--shape", `${width} / ${height}`);
  };

  const draw = async (plot) => {
    const own = figures.get(plot);
    return own.drawn ??= (async () => {
      if (!window.Plotly) await plotly();  // else drawn before this function returns
      const figure = shownIn(plot);
      await Plotly.newPlot(plot, inked(figure), themed(figure, plot), settings);
      plot.on("plotly_afterplot", () => scalable(plot));
      scalable(plot);
      plot.dataset.drawn = "true";
    })();
  };

  const dataTable = (figure, title) => {
    const { lying, x, y } = figure.layout.meta;
    const names = figure.layout.yaxis.ticktext;
    const table = element("table");
    table.append(element("caption", {}, `Data: ${title}`));
    const head = table.createTHead().insertRow();
    const heads = lying ? [y, "series", `${x} (number)`, "in words"] : ["series", x, `${y} (number)`, "in words"];
    heads.forEach((text) => head.append(element("th", { scope: "col" }, text)));
    const body = table.createTBody();
    for (const trace of figure.data.filter((each) => each.meta === "data")) {
      trace.x.forEach((value, index) => {
        const row = body.insertRow();
        const place = lying ? plain(names[trace.y[index]]) : plain(trace.name);
        const rest = lying ? [plain(trace.name), value] : [value, trace.y[index]];
        [place, ...rest, plain(trace.hovertext[index])].forEach((text) => {
          row.append(element("td", typeof text === "number" ? { className: "number" } : {}, String(text)));
        });
      });
    }
    const scroll = element("div", { className: "scroll", tabIndex: 0 });
    scroll.append(table);
    return scroll;
  };

  all("figure").forEach((each) => {
    const plot = each.querySelector(".plot");
    figures.set(plot, { script: each.querySelector("script.figure") });
    const details = each.querySelector(".data");
    const title = each.querySelector("figcaption").textContent;
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(dataTable(shownIn(plot), title));
    });
  });

  const failed = (plot) => (error) => {
    plot.style.minHeight = "0";
    plot.textContent = "This browser cannot draw the figure; its data are in the table below.";
    console.warn(String(error));
  };
  const watcher = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      draw(target).catch(failed(target));
    }
  }, { rootMargin: "400px" });
  figures.forEach((_, plot) => watcher.observe(plot));

  const redraw = () => figures.forEach(({ figure }, plot) => {
    if (plot.dataset.drawn) Plotly.react(plot, inked(figure), themed(figure, plot), settings);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", redraw);
  // Once the words have been painted, so that nobody waits for them.
  if (figures.size) requestAnimationFrame(() => setTimeout(() => plotly().catch(() => {})));
  // Not too many are drawn while nothing else is to do, so that they are there when asked for.
  const waiting = figures.size > MOST_AHEAD ? [] : [...figures.keys()];
  const idle = window.requestIdleCallback ?? ((call) => setTimeout(call, 200));
  const ahead = () => {
    const plot = waiting.shift();
    if (plot) draw(plot).catch(failed(plot)).then(() => idle(ahead));
  };
  addEventListener("load", () => idle(ahead));
  // What was not in sight is drawn for paper as well, and notes stand open there.
  const opened = [];
  addEventListener("beforeprint", () => {
    figures.forEach((_, plot) => { if (plot.checkVisibility?.() ?? true) draw(plot); });
    opened.push(...all("details.notes:not([open])"));
    opened.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => opened.splice(0).forEach((each) => { each.open = false; }));
  window.drawAllFigures = () => Promise.all([...figures.keys()].map(draw));
})();
