"use strict";
// Words and tables are there without this script. It draws figures when they come into sight, and
// makes tables sortable and searchable.
(() => {
  document.documentElement.classList.add("js");
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const element = (name, attributes = {}, text = "") => {
    const made = Object.assign(document.createElement(name), attributes);
    made.textContent = text;
    return made;
  };

  // --- tables ---------------------------------------------------------------------------------
  const rowsOf = (sheet) => {
    const packed = sheet.querySelector("script.rows");
    if (packed) return JSON.parse(packed.textContent);
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
    const rows = rowsOf(sheet);
    const page = Number(sheet.dataset.page);
    const heads = all("th", table);
    const kinds = heads.map((head) => head.className);
    const state = { words: [], place: -1, sign: 1, start: 0, shown: rows };
    const tools = element("div", { className: "tools" });
    const label = element("label", {}, "Filter ");
    const input = element("input", { type: "search", placeholder: "words in any column" });
    const count = element("span");
    count.setAttribute("role", "status");
    const before = element("button", { type: "button" }, "Previous");
    const after = element("button", { type: "button" }, "Next");
    label.append(input);

    const draw = () => {
      const part = state.shown.slice(state.start, state.start + page);
      table.tBodies[0].replaceChildren(...part.map((cells) => {
        const row = document.createElement("tr");
        row.append(...cells.map((cell, place) =>
          element("td", { className: kinds[place] }, cell[0])));
        return row;
      }));
      const end = state.start + part.length;
      const range = state.shown.length > page ? `${state.start + 1} to ${end} of ` : "";
      const of = state.shown.length < rows.length ? ` of ${rows.length}` : "";
      count.textContent = `${range}${state.shown.length}${of} rows`;
      before.disabled = state.start === 0;
      after.disabled = end >= state.shown.length;
    };
    const choose = () => {
      const fits = (row) => {
        const text = row.map((cell) => cell[0]).join("\t").toLowerCase();
        return state.words.every((word) => text.includes(word));
      };
      state.shown = state.words.length ? rows.filter(fits) : rows.slice();
      if (state.place >= 0) state.shown.sort(compare(state.place, state.sign));
      state.start = 0;
      draw();
    };
    heads.forEach((head, place) => {
      const button = element("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        state.sign = state.place === place ? -state.sign : 1;
        state.place = place;
        heads.forEach((each) => each.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", state.sign > 0 ? "ascending" : "descending");
        choose();
      });
    });
    input.addEventListener("input", () => {
      state.words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      choose();
    });
    before.addEventListener("click", () => { state.start -= page; draw(); });
    after.addEventListener("click", () => { state.start += page; draw(); });
    if (rows.length > 5) tools.append(label);
    if (rows.length > page) tools.append(before, after);
    if (rows.length > 5) {
      tools.append(count);
      sheet.prepend(tools);
      count.textContent = rows.length > page ? `1 to ${page} of ${rows.length} rows` : `${rows.length} rows`;
      before.disabled = true;
    }
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
  const figures = new Map();
  let library = null;

  const unpack = async () => {
    const packed = document.getElementById("plotly").textContent;
    const bytes = Uint8Array.from(atob(packed), (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  };

  // On paper a drawing is scaled to the width of the page, for which it has to say its own.
  const scalable = (plot) => {
    const [width, height] = [plot._fullLayout.width, plot._fullLayout.height];
    all(".main-svg", plot).forEach((svg) => svg.setAttribute("viewBox", `0 0 ${width} ${height}`));
    plot.style.setProperty("--shape", `${width} / ${height}`);
  };

  const draw = async (plot) => {
    const figure = figures.get(plot);
    if (figure.drawn) return figure.drawn;
    figure.drawn = (async () => {
      if (!window.Plotly) await (library ??= unpack());  // else drawn before this function returns
      await Plotly.newPlot(plot, inked(figure), themed(figure, plot), settings);
      plot.on("plotly_afterplot", () => scalable(plot));
      scalable(plot);
      plot.dataset.drawn = "true";
    })();
    return figure.drawn;
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
    figures.set(plot, JSON.parse(each.querySelector("script.figure").textContent));
    const details = each.querySelector(".data");
    const title = each.querySelector("figcaption").textContent;
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(dataTable(figures.get(plot), title));
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

  const redraw = () => figures.forEach((figure, plot) => {
    if (plot.dataset.drawn) Plotly.react(plot, inked(figure), themed(figure, plot), settings);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", redraw);
  // Not too many are drawn while nothing else is to do, so that they are there when asked for.
  const waiting = figures.size > MOST_AHEAD ? [] : [...figures.keys()];
  const idle = window.requestIdleCallback ?? ((call) => setTimeout(call, 200));
  const ahead = () => {
    const plot = waiting.shift();
    if (plot) draw(plot).catch(failed(plot)).then(() => idle(ahead));
  };
  addEventListener("load", () => idle(ahead));
  // What was not in sight is drawn for paper as well.
  addEventListener("beforeprint", () => figures.forEach((_, plot) => {
    if (plot.checkVisibility?.() ?? true) draw(plot);
  }));
  window.drawAllFigures = () => Promise.all([...figures.keys()].map(draw));
})();
