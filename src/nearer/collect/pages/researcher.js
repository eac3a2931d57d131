"use strict";
// The researcher's page: asks every few seconds how the study goes, and draws it.
(() => {
  const $ = (id) => document.getElementById(id);
  let token = "", last = null, sortBy = "participant", down = false;

  async function ask(path, options = {}) {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    return fetch(path, { cache: "no-store", ...options, headers });
  }

  const percent = (share) => (share === null || share === undefined ? "" : `${(100 * share).toFixed(1)} %`);
  const whole = (number) => number.toLocaleString("en");
  const maker = (space) => (name, attributes, ...children) => {
    const made = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const [element, svg] = [maker("http://www.w3.org/1999/xhtml"), maker("http://www.w3.org/2000/svg")];

  function tiles({ status }) {
    const figures = [
      [quota(status.funnel.finished, last.study.wanted), "finished"],
      [whole(status.present), "active in the last minute"], [whole(status.answers), "answers"],
      [whole(status.per_minute[59]), "in the last minute"],
    ];
    if (status.cannot_tell) figures.push([whole(status.cannot_tell), "times “cannot tell”"]);
    if (last.study.adaptive) figures.push([whole(status.questions_ready), "chosen questions ready"]);
    const share = status.adaptive_share;
    if (share !== null) figures.push([percent(share), "of adaptive questions were ready in time, the others random"]);
    const box = ([number, name]) => element("div", {}, element("strong", {}, number), element("span", {}, name));
    $("tiles").replaceChildren(...figures.map(box));
  }

  const quota = (count, wanted) => (wanted ? `${whole(count)} of ${whole(wanted)}` : whole(count));
  const mixed = () => Object.keys(last.study.conditions).length > 1;
  const finishedIn = (name) => last.people.filter((person) => person.step === "finished" && person.condition === name).length;

  // Whether latecomers are turned away, as by the server.
  function filled() {
    const { wanted, conditions } = last.study;
    const quotas = Object.entries(conditions);
    return (wanted > 0 && last.status.funnel.finished >= wanted)
      || quotas.every(([name, number]) => number > 0 && finishedIn(name) >= number);
  }

  const STAGES = {
    opened: "opened", consented: "consented", finished: "finished", declined: "did not agree",
    screened_out: "screened out", timed_out: "timed out", full: "came too late",
  };

  function funnel({ status, people: rows }) {
    const { funnel: counts, unfilled } = status;
    const stages = Object.entries(STAGES).filter(([key]) => counts[key] || key in { opened: 1, consented: 1, finished: 1 });
    $("funnel").replaceChildren(...stages.map(([key, name]) => {
      const bar = element("meter", { min: 0, max: Math.max(1, counts.opened), value: counts[key], "aria-label": name });
      return element("p", {}, element("span", {}, name), element("strong", {}, whole(counts[key])), bar);
    }));
    const sum = (name) => rows.reduce((total, person) => total + person[name], 0);
    const sentences = [`Attention checks passed: ${whole(sum("catch_right"))} of ${whole(sum("catch_asked"))}.`];
    if (status.median_minutes !== null) {
      sentences.push(`From the consent to the end: ${status.median_minutes.toFixed(1)} minutes (median).`);
    }
    if (status.left_after.length) {
      const left = status.left_after.map(([answers, count]) => `${whole(answers)} (${whole(count)})`);
      sentences.push(`Left for half an hour or longer after this many answers (people): ${left.join(", ")}.`);
    }
    const { conditions } = last.study;
    if (mixed()) {
      const parts = Object.keys(conditions).map((name) => `${name} ${quota(finishedIn(name), conditions[name])}`);
      sentences.push(`Finished in each condition: ${parts.join(", ")}.`);
    }
    $("way").replaceChildren(...sentences.map((text) => element("li", {}, text)));
    $("unfilled").textContent = unfilled
      ? `Somebody arrived with ${unfilled.value} as ${unfilled.name} (${new Date(1000 * unfilled.at).toLocaleString()}): the link was not filled in. Check it on the recruiting site.`
      : "";
  }

  function minutes({ status }) {
    const most = Math.max(1, ...status.per_minute);
    const bars = status.per_minute.map((count, at) => {
      const height = 64 * count / most;
      return svg("rect", { x: at * 10 + 1, y: 70 - height, width: 8, height });
    });
    const notes = [
      svg("line", { x1: 0, x2: 600, y1: 70.5, y2: 70.5, class: "axis" }),
      svg("text", { x: 0, y: 75, class: "small below" }, "an hour ago"),
      svg("text", { x: 600, y: 75, "text-anchor": "end", class: "small below" }, "now"),
      svg("text", { x: 0, y: 16, class: "small" }, `at most ${whole(most)}`),
    ];
    const { width } = $("minutes").getBoundingClientRect();
    const size = 12 * 600 / (width || 600); // 12 pixels
    $("minutes").style.fontSize = `${size}px`;
    $("minutes").setAttribute("viewBox", `0 0 600 ${Math.ceil(76 + 1.3 * size)}`);
    $("minutes").replaceChildren(...bars, ...notes);
    $("minutes").setAttribute("aria-label", `${whole(status.per_minute[59])} answers in the last minute`);
  }

  // Each label beside its dot, where it covers no other and no dot; those without room are removed and counted.
  // A pixel has so many units of the map, and those sizes are in pixels.
  const LABELLED = 300; // objects
  const [DOT, GAP] = [3.5, 6];
  const SIDES = [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [-1, -1], [1, 1], [-1, 1]];
  function placeLabels(labels, units) {
    const [dot, gap] = [DOT * units, GAP * units];
    const taken = labels.map(({ x, y }) => [x - dot, y - dot, x + dot, y + dot]);
    const covers = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    const free = (box) => box[0] >= 0 && box[1] >= 0 && box[2] <= 600 && box[3] <= 460
      && !taken.some((other) => covers(box, other));
    const sizes = labels.map(({ text }) => text.getBBox());
    let without = 0;
    labels.forEach(({ text, x, y }, number) => {
      const { width, height } = sizes[number];
      const boxes = SIDES.map(([across, down]) => {
        const left = x - width / 2 + across * (width / 2 + gap);
        const top = y - height / 2 + down * (height / 2 + (across ? 0 : dot));
        return [left, top, left + width, top + height];
      });
      const box = boxes.find(free);
      if (!box) {
        text.remove();
        without += 1;
        return;
      }
      taken.push(box);
      text.setAttribute("x", box[0]);
      text.setAttribute("y", (box[1] + box[3]) / 2);
    });
    return without;
  }

  function drawMap(found) {
    const there = found && found.embedding.length > 0;
    $("map").hidden = !there;
    const ago = there ? Math.max(0, Math.round((last.now - found.made) / 60)) : 0;
    $("mixed").hidden = !mixed();
    $("mapnote").textContent = there
      ? `${whole(found.labels.length)} of ${whole(last.study.n_objects)} objects, ${whole(found.n_rows)} comparisons, computed ${ago ? `${ago} min ago` : "just now"}.`
      : "There are too few answers for a map, or it is being computed.";
    if (!there) return;
    const points = found.embedding.map((row) => [row[0], row.length > 1 ? row[1] : 0]);
    const span = (axis) => {
      const values = points.map((point) => point[axis]);
      return [Math.min(...values), Math.max(...values)];
    };
    const [[left, right], [bottom, top]] = [span(0), span(1)];
    const scale = Math.min(500 / Math.max(right - left, 1e-9), 390 / Math.max(top - bottom, 1e-9));
    const place = ([x, y]) => [300 + scale * (x - (left + right) / 2), 230 - scale * (y - (bottom + top) / 2)];
    const pictures = last.study.images;
    const shown = $("map").getBoundingClientRect();
    const units = 1 / Math.min(shown.width / 600, shown.height / 460);
    $("map").style.fontSize = `${12 * units}px`;
    const labels = [];
    $("map").replaceChildren(...points.flatMap((point, number) => {
      const [x, y] = place(point);
      const label = found.labels[number];
      const title = svg("title", {}, label);
      if (pictures[label] && points.length <= 150) {
        return [svg("image", { x: x - 16, y: y - 16, width: 32, height: 32, href: pictures[label] }, title)];
      }
      const dot = svg("circle", { cx: x, cy: y, r: DOT * units }, title);
      const cut = label.length > 18 ? `${label.slice(0, 17)}…` : label;
      if (points.length > LABELLED) return [dot];
      const text = svg("text", { "dominant-baseline": "central" }, cut);
      labels.push({ text, x, y });
      return [dot, text];
    }));
    const without = placeLabels(labels, units);
    if (without) $("mapnote").textContent += ` There is no room for ${whole(without)} of the names.`;
  }

  // Without reports for so long, the process that computes the map is not running, whatever the map says.
  const SILENT = 180; // seconds
  function drawBackground(found) {
    const minutes = found ? Math.floor((last.now - found.seen) / 60) : 0;
    $("background").textContent = !found
      ? "No background process has reported yet: it computes the map and the quality of participants."
      : last.now - found.seen > SILENT
        ? `The background process last reported ${whole(minutes)} min ago: map, quality and chosen questions are not being updated.`
        : "";
  }

  function good({ map, forecast }) {
    const sentences = [];
    if (map && map.accuracy !== null) {
      sentences.push(`The map predicts ${percent(map.accuracy)} (± ${(196 * map.accuracy_se).toFixed(1)}) of ${whole(map.n_held_out)} held-out answers to random questions.`);
    }
    if (map && map.ceiling !== null) {
      sentences.push(`The best possible accuracy lies between about ${percent(map.ceiling_low)} and ${percent(map.ceiling)}, by the answers to ${whole(map.n_repeated)} questions answered more than once.`);
    } else if (map) {
      sentences.push("The best possible accuracy is unknown: too few questions were answered more than once.");
    }
    if (forecast) {
      const range = `${percent(forecast.low)} to ${percent(forecast.high)}`;
      sentences.push(forecast.early
        ? "There are too few answers to predict the effect of more."
        : `Twice as many answers would give about ${percent(forecast.doubled)} (90 % interval ${range}), instead of ${percent(forecast.now)}.`);
    }
    if (!sentences.length) sentences.push("No results yet.");
    $("good").replaceChildren(...sentences.map((text) => element("li", {}, text)));
  }

  const COLUMNS = [
    ["participant", "participant", (p) => p.participant],
    ["condition", "condition", (p) => p.condition],
    ["step", "is at", (p) => STAGES[p.step] || p.step],
    ["progress", "answered", (p) => `${p.answered} of ${p.total}`, (p) => p.answered / p.total],
    ["visits", "visits", (p) => p.visits],
    ["catch", "catch passed", (p) => (p.catch_asked ? `${p.catch_right} of ${p.catch_asked}` : ""), (p) => (p.catch_asked ? p.catch_right / p.catch_asked : 2)],
    ["seconds", "median s", (p) => (p.quality && p.quality.seconds !== null ? p.quality.seconds.toFixed(1) : ""), (p) => (p.quality ? p.quality.seconds : 1e9)],
    ["first", "first option", (p) => percent(p.quality && p.quality.first), (p) => (p.quality ? p.quality.first : 2)],
    ["agreement", "agrees with others", (p) => percent(p.quality && p.quality.agreement), (p) => (p.quality ? p.quality.agreement : 2)],
    ["guesses", "guesses", (p) => (p.quality && p.quality.inverted ? "inverted" : p.quality && p.quality.guesses !== null ? `${(100 * p.quality.guesses).toFixed(0)} % (${(100 * p.quality.guesses_low).toFixed(0)}–${(100 * p.quality.guesses_high).toFixed(0)})` : ""), (p) => (p.quality ? (p.quality.inverted ? -2 : -p.quality.guesses) : 2)],
    ["seen", "last active", (p) => new Date(1000 * p.seen).toLocaleString([], { dateStyle: "short", timeStyle: "short" }), (p) => -p.seen],
  ];
  const SHOWN = 500;

  function people({ people: rows }) {
    const columns = COLUMNS.filter(([key]) => key !== "condition" || mixed());
    $("columns").replaceChildren(...columns.map(([key, name]) => {
      const button = element("button", {}, name + (key === sortBy ? " ▾" : ""));
      button.onclick = () => { sortBy = key; draw(); };
      return element("th", {}, button);
    }));
    const column = COLUMNS.find(([key]) => key === sortBy);
    const value = column[3] || column[2];
    const order = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return x < y ? -1 : x > y ? 1 : 0;
    });
    const line = (person) => element("tr", {}, ...columns.map(([key, name, text]) => {
      const missed = key === "catch" && person.catch_right < person.catch_asked;
      const guessing = key === "guesses" && person.quality && (person.quality.inverted || person.quality.guesses_low > 0.5);
      return element("td", { "data-name": name, ...(missed || guessing ? { class: "bad" } : {}) }, text(person));
    }));
    $("people").replaceChildren(...order.slice(0, SHOWN).map(line));
    $("rest").textContent = rows.length > SHOWN ? `${SHOWN} of ${whole(rows.length)}; the download has all of them.` : "";
  }

  function draw() {
    document.title = $("title").textContent = last.study.title;
    $("state").textContent = down ? "The server does not answer; the figures are old." : last.status.paused ? "Paused: no questions are handed out." : filled() ? "Full: as many as are wanted have finished, and latecomers are turned away." : "Open.";
    $("pause").textContent = last.status.paused ? "Go on" : "Pause";
    tiles(last);
    funnel(last);
    minutes(last);
    drawMap(last.map);
    drawBackground(last.background);
    good(last);
    people(last);
    document.documentElement.dataset.ready = "yes";
  }

  async function update() {
    try {
      const response = await ask("api/researcher/status");
      if (response.status === 401 || response.status === 429) {
        $("refused").textContent = token ? (await response.json()).error : "";
        $("board").hidden = true;
        $("login").hidden = false;
        return;
      }
      if (!response.ok) throw new Error(response.statusText);
      last = await response.json();
      down = false;
      sessionStorage.setItem("nearer:token", token);
      $("login").hidden = true;
      $("board").hidden = false;
    } catch {
      down = true;
    }
    if (last) draw();
    setTimeout(update, 5000);
  }

  window.addEventListener("resize", () => { if (last) draw(); });
  $("enter").onclick = () => { token = $("token").value.trim(); update(); };
  $("token").onkeydown = (event) => { if (event.key === "Enter") $("enter").click(); };
  $("pause").onclick = async () => {
    const response = await ask("api/researcher/pause", { method: "POST", body: JSON.stringify({ paused: !last.status.paused }) });
    if (response.ok) {
      last.status.paused = (await response.json()).paused;
      draw();
    }
  };
  const downloading = (name) => async () => {
    const response = await ask(`api/researcher/${name}`);
    if (!response.ok) return;
    const link = element("a", { href: URL.createObjectURL(await response.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  $("download").onclick = downloading("answers.csv");
  $("downloadpeople").onclick = downloading("participants.csv");

  // The token is in the fragment of the address, which is never sent to a server, and is removed from it here.
  token = location.hash.slice(1) || sessionStorage.getItem("nearer:token") || "";
  history.replaceState(null, "", location.pathname);
  update();
})();
