"use strict";
// The participant's page. An answer is kept in the browser's storage until the server has acknowledged it.
(() => {
  const $ = (id) => document.getElementById(id);
  const QUICK = 250; // milliseconds: a second click so soon belongs to the question before
  const tab = Math.random().toString(36).slice(2);

  let study, texts, id, token; // id: the participant's; token: what stands for it
  let parameters = {}; // of the address, as the study declares them
  let place = ""; // where this participant's data are kept in the storage
  let queue = []; // answers that were not acknowledged yet, the oldest first
  let held = []; // questions to be shown, the first one is on the screen
  let state = null; // what the server said last
  let shown = null; // { question, since, chosen, practice }
  let rested = 0; // answers at the last break
  let sending = false, failures = 0, retry = null, asleep = false, begun = false, resting = false, polling = false;

  // ---- storage that may be missing ------------------------------------------------------------------------------
  const memory = new Map();
  const keep = (key, value) => {
    memory.set(key, value);
    try { localStorage.setItem(place + key, JSON.stringify(value)); } catch { /* kept in memory alone */ }
  };
  const kept = (key) => {
    try {
      const text = localStorage.getItem(place + key);
      if (text !== null) return JSON.parse(text);
    } catch { /* from memory */ }
    return memory.has(key) ? memory.get(key) : null;
  };

  // ---- requests ---------------------------------------------------------------------------------------------------
  async function ask(path, body) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), 20000);
    try {
      const options = { signal: stop.signal, cache: "no-store" };
      if (body !== undefined) {
        Object.assign(options, { method: "POST", body: JSON.stringify(body), keepalive: true });
        options.headers = { "content-type": "application/json" };
      }
      const response = await fetch(path, options);
      const values = await response.json();
      if (response.ok) return values;
      throw Object.assign(new Error(values.error), { status: response.status });
    } finally {
      clearTimeout(timer);
    }
  }

  const wait = (seconds) => new Promise((done) => {
    retry = done;
    setTimeout(done, seconds * 1000);
  });
  const wake = () => { if (retry) retry(); };

  // Try until it works; what the server refuses for good is thrown.
  async function insist(path, body) {
    for (;;) {
      try {
        const values = await ask(path, body);
        failures = 0;
        say("");
        return values;
      } catch (error) {
        const final = error.status >= 400 && error.status < 500 && error.status !== 408 && error.status !== 429;
        if (final) throw error;
        failures += 1;
        if (error.status === 429) say(texts ? texts.slow_down : "");
        else if (failures > 1 || held.length === 0 || !navigator.onLine) say(texts ? texts.waiting : "");
        await wait(Math.min(10, 0.5 * 2 ** Math.min(failures, 6)) * (0.75 + Math.random() / 2));
      }
    }
  }

  // ---- sending ------------------------------------------------------------------------------------------------------
  async function flush() {
    if (sending) return;
    sending = true;
    try {
      while (queue.length) {
        const entry = queue[0];
        try {
          const values = await insist("api/answer", entry);
          drop(entry);
          learn(values);
          if (begun && !shown && (held.length || values.step !== "questions")) next();
        } catch (error) {
          // The server does not want it: this cannot be mended by sending it again.
          console.error("answer refused:", error.message);
          drop(entry);
          say(texts.failed);
          if (begun) await start();
        }
      }
    } finally {
      sending = false;
    }
    if (begun && !resting && !shown && !asleep) next();
  }

  function drop(entry) {
    // Another tab may have sent some meanwhile.
    queue = queue.filter((one) => one.question !== entry.question);
    keep("queue", queue);
  }

  function learn(values) {
    state = values;
    const waiting = new Set(queue.map((entry) => entry.question));
    held = values.questions.filter((question) => !waiting.has(question.id));
    held.forEach(preload);
    progress();
    if (shown && !shown.practice && !held.some((question) => question.id === shown.question.id)) shown = null;
  }

  async function start() {
    const about = { parameters, agreed: false };
    const values = await insist("api/start", id === null ? about : { ...about, participant: id });
    id = values.id;
    token = values.participant;
    learn(values);
    return values;
  }

  // ---- loading ahead --------------------------------------------------------------------------------------------------
  const loaded = new Map();
  function preload(question) {
    for (const item of [question.head, ...question.options]) {
      if (!item || loaded.has(item.url)) continue;
      if (item.form === "image") loaded.set(item.url, make("img", { src: item.url }));
      else if (item.form === "audio") loaded.set(item.url, make("audio", { preload: "auto", src: item.url }));
    }
    if (loaded.size > 60) loaded.delete(loaded.keys().next().value);
  }

  // ---- screens ----------------------------------------------------------------------------------------------------------
  function make(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }
  const say = (text) => { if ($("status").textContent !== text) $("status").textContent = text; };
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (mark, name) => (name in values ? values[name] : mark));

  function progress() {
    $("progress").hidden = !state || state.step !== "questions";
    if ($("progress").hidden) return;
    const done = Math.min(state.total, state.answered + queue.length);
    $("bar").max = state.total;
    $("bar").value = done;
    $("bar").setAttribute("aria-label", $("count").textContent = fill(texts.progress, { done, total: state.total }));
  }

  function words(heading, text, button) {
    $("asking").hidden = true;
    $("words").hidden = false;
    $("heading").textContent = heading;
    $("heading").hidden = !heading;
    const parts = text.trim().split(/\n\s*\n/).filter(Boolean);
    $("text").replaceChildren(...parts.map((part) => make("p", {}, part.replace(/\s*\n\s*/g, " "))));
    $("code").hidden = $("link").hidden = $("form").hidden = $("decline").hidden = true;
    $("go").hidden = !button;
    $("go").textContent = button || "";
    window.scrollTo(0, 0);
    $("words").focus();
    return new Promise((done) => { $("go").onclick = done; });
  }

  // Consent: true or false.
  function consent() {
    const agreed = words(study.title, texts.consent, texts.agree).then(() => true);
    $("decline").hidden = false;
    $("decline").textContent = texts.disagree;
    return Promise.race([agreed, new Promise((done) => { $("decline").onclick = () => done(false); })]);
  }

  // Questions about the participant, on one page: the values by id. What is written survives a reload.
  async function form(step) {
    const fields = study[step], draft = kept(step) || {};
    const value = (name) => new FormData($("form")).get(name);
    const going = words("", "", texts.continue);
    const label = (field) => field.text + (field.required ? "" : ` ${texts.optional}`);
    $("form").replaceChildren(...fields.map((field) => {
      const about = { name: field.id, id: `field-${field.id}`, ...(field.required ? { required: "" } : {}) };
      if (field.kind === "choice") {
        const choices = field.choices.map((choice, number) => {
          const box = make("input", { ...about, id: `${about.id}-${number}`, type: "radio", value: choice });
          box.checked = draft[field.id] === choice;
          return make("label", { class: "choice" }, box, ` ${choice}`);
        });
        return make("fieldset", {}, make("legend", {}, label(field)), ...choices);
      }
      const kind = field.kind === "number" ? { type: "number", step: "any", inputmode: "decimal" } : { type: "text", maxlength: 2000 };
      if (field.least !== undefined) kind.min = field.least;
      if (field.most !== undefined) kind.max = field.most;
      const input = make("input", { ...about, ...kind, autocomplete: "off" });
      input.value = draft[field.id] || "";
      return make("p", {}, make("label", { for: about.id }, label(field)), input);
    }));
    $("form").hidden = false;
    $("form").oninput = () => keep(step, Object.fromEntries(new FormData($("form"))));
    $("form").onsubmit = (event) => { event.preventDefault(); $("go").click(); };
    const blanks = () => {
      for (const input of $("form").querySelectorAll("input[type=text]")) input.value = input.value.trim();
    };
    await going;
    for (blanks(); !$("form").reportValidity(); blanks()) await new Promise((done) => { $("go").onclick = done; });
    const typed = (field) => {
      const text = value(field.id) || "";
      return text === "" ? null : field.kind === "number" ? Number(text) : text;
    };
    return Object.fromEntries(fields.map((field) => [field.id, typed(field)]));
  }

  // Consent, a page of questions about the participant, or the instructions.
  async function stage() {
    resting = true;
    const step = state.step;
    if (step === "questions") {
      await words(study.title, texts.instructions, texts.start);
      if (state.practice) {
        preload(state.practice);
        await new Promise((done) => { show(state.practice, done); });
        await words("", texts.practice_done, texts.start);
      }
      keep("instructed", true);
    } else {
      const values = step === "consent" ? { agree: await consent() } : await form(step);
      $("go").hidden = $("decline").hidden = true;
      try {
        learn(await insist("api/step", { participant: token, step, values }));
      } catch (error) {
        console.error("step refused:", error.message);
        await start();
      }
    }
    resting = false;
    next();
  }

  function picture(item) {
    if (item.form === "image") {
      const image = make("img", { alt: item.alt, draggable: false });
      let tries = 0;
      image.onerror = () => {
        say(texts.no_media);
        tries += 1;
        setTimeout(() => { image.src = `${item.url}?${tries}`; }, Math.min(10000, 1000 * tries));
      };
      image.onload = () => { if (tries) say(""); };
      image.src = item.url;
      return image;
    }
    if (item.form === "audio") {
      const spoken = `${texts.play}: ${item.alt}`;
      return make("audio", { controls: "", preload: "auto", src: item.url, "aria-label": spoken });
    }
    if (item.form === "html") return make("iframe", { sandbox: "", title: item.alt, tabindex: -1, src: item.url });
    return make("span", { class: "word", dir: "auto" }, item.text);
  }

  function option(item, number) {
    const label = `${fill(texts.option, { number: number + 1 })}: ${item.alt}`;
    const button = make("button", { type: "button", "aria-label": label });
    button.onclick = (event) => choose(number, event);
    if (item.form === "text" || item.form === "image") {
      button.className = "item";
      button.append(picture(item));
      return button;
    }
    button.className = item.form === "html" ? "over" : "pick";
    if (item.form === "audio") button.textContent = texts.choose;
    return make("div", { class: "item card" }, picture(item), button);
  }

  const ready = (element) => {
    const media = element.querySelector("img, iframe, audio");
    if (!media || media.tagName === "AUDIO" || (media.tagName === "IMG" && media.complete)) return Promise.resolve();
    return new Promise((done) => { media.addEventListener("load", done, { once: true }); });
  };

  async function show(question, practice) {
    const mine = shown = { question, since: Infinity, chosen: [], practice };
    $("words").hidden = true;
    $("asking").hidden = false;
    $("practice").hidden = !practice;
    $("practice").textContent = texts.practice;
    $("question").textContent = question.text;
    $("cannot").hidden = !study.cannot_tell;
    $("cannot").textContent = texts.cannot_tell;
    $("undo").textContent = texts.undo;
    const head = $("head");
    const about = question.head && `${texts.head}: ${question.head.alt}`;
    head.hidden = !about;
    const box = { class: "item", role: "group", "aria-label": about };
    head.replaceChildren(...(about ? [make("div", box, picture(question.head))] : []));
    const cards = question.options.map(option);
    $("options").dataset.count = cards.length > 3 ? "many" : cards.length;
    $("options").style.setProperty("--columns", cards.length < 6 ? cards.length : Math.ceil(cards.length / 2));
    $("options").style.setProperty("--narrow", cards.length < 5 ? 2 : 3);
    $("options").replaceChildren(...cards);
    mark();
    $("asking").setAttribute("aria-label", about ? `${question.text} ${about}` : question.text);
    $("asking").focus({ preventScroll: true });
    // Times are fair only if everything is there when the clock starts.
    const loading = (still) => [head, $("options")].forEach((part) => part.classList.toggle("loading", still));
    loading(true);
    await Promise.race([Promise.all([head, ...cards].map(ready)), new Promise((done) => setTimeout(done, 8000))]);
    if (shown !== mine) return;
    loading(false);
    mine.since = performance.now();
    document.documentElement.dataset.ready = question.id || "practice";
  }

  function mark() {
    const { question, chosen } = shown;
    [...$("options").children].forEach((card, number) => {
      const rank = chosen.indexOf(number);
      card.classList.toggle("chosen", rank >= 0);
      card.dataset.rank = rank < 0 ? "" : question.ordered ? rank + 1 : "✓";
      const button = card.tagName === "BUTTON" ? card : card.querySelector("button");
      if (question.choose > 1) button.setAttribute("aria-pressed", rank >= 0);
    });
    const left = question.choose - chosen.length;
    $("more").hidden = question.choose === 1;
    $("more").textContent = fill(texts.choose_more, { left });
    $("undo").hidden = chosen.length === 0;
  }

  // ---- answering ----------------------------------------------------------------------------------------------------------
  const answerable = () => shown && performance.now() - shown.since >= QUICK;
  const cannot = () => { if (answerable()) answer(null); };

  function choose(number, event) {
    if (!answerable() || (event && event.detail > 1)) return;
    const at = shown.chosen.indexOf(number);
    if (at >= 0) shown.chosen.splice(at, 1);
    else shown.chosen.push(number);
    if (shown.chosen.length < shown.question.choose) mark();
    else answer([...shown.chosen]);
  }

  function answer(choice) {
    const { question, since, practice } = shown;
    const seconds = Math.round(performance.now() - since) / 1000;
    shown = null;
    if (practice) return practice();
    queue = kept("queue") || queue;
    if (!queue.some((entry) => entry.question === question.id)) {
      queue.push({ participant: token, question: question.id, choice, seconds });
    }
    keep("queue", queue);
    held = held.filter((one) => one.id !== question.id);
    progress();
    flush();
    next();
  }

  async function next() {
    if (asleep || resting) return;
    const done = state.answered + queue.length;
    if (state.finished && !queue.length) return finish();
    const asks = state.step !== "questions" || (state.answered === 0 && !queue.length && !kept("instructed"));
    if (!state.finished && asks && !state.paused) return stage();
    const every = study.break_every;
    if (every && done - rested >= every && done < state.total) {
      rested = done;
      resting = true;
      await words(texts.break_title, fill(texts.break_text, { done, total: state.total }), texts.go_on);
      resting = false;
      if (asleep) return;
    }
    if (held.length) return show(held[0]);
    // Nothing to show: answers are on their way, or the study rests.
    shown = null;
    if (queue.length) {
      words("", texts.sending, "");
      return flush();
    }
    words("", state.paused ? texts.paused : texts.sending, "");
    if (polling) return;
    polling = true;
    await wait(state.paused ? 5 : 1);
    polling = false;
    if (asleep || shown || resting) return;
    try {
      learn(await insist("api/next", { participant: token }));
    } catch {
      await start();
    }
    next();
  }

  function finish() {
    const { link, code } = state.completion, whole = state.step === "finished";
    words("", whole ? `${texts.finished}\n\n${texts.debriefing}` : texts[state.step], "");
    if (code) {
      $("code").hidden = false;
      $("code").children[0].textContent = texts.finished_code;
      $("code").children[1].textContent = code;
    }
    if (link) {
      $("link").hidden = false;
      $("link").href = link;
      $("link").textContent = whole ? texts.finished_link : texts.leave;
    }
    say("");
    document.documentElement.dataset.finished = "yes";
    if (anonymous) {
      // The next person at this computer begins anew; this tab still shows the end.
      try {
        sessionStorage.setItem("nearer:anonymous", id);
        localStorage.removeItem(base + "anonymous");
      } catch { /* nothing was kept */ }
    }
  }

  // ---- keys ---------------------------------------------------------------------------------------------------------------
  document.addEventListener("keydown", (event) => {
    if (!shown || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.tagName === "AUDIO") return;
    const n = shown.question.options.length;
    const digit = "123456789".indexOf(event.key);
    let number = digit >= 0 && digit < n ? digit : -1;
    if (n === 2) number = { ArrowLeft: 0, ArrowRight: 1 }[event.key] ?? number;
    else if (n === 3) number = { ArrowLeft: 0, ArrowDown: 1, ArrowUp: 1, ArrowRight: 2 }[event.key] ?? number;
    else if (event.key.startsWith("Arrow")) {
      const buttons = [...$("options").querySelectorAll("button")];
      const columns = getComputedStyle($("options")).gridTemplateColumns.split(" ").length;
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
      const from = buttons.indexOf(document.activeElement);
      const to = from < 0 ? 0 : Math.max(0, Math.min(n - 1, from + step));
      buttons[to].focus();
      event.preventDefault();
      return;
    }
    if (n === 2 && event.key === "ArrowDown" && study.cannot_tell) {
      event.preventDefault();
      return cannot();
    }
    if (number >= 0) {
      event.preventDefault();
      choose(number, null);
    }
  });

  // ---- tabs, network, sleep ---------------------------------------------------------------------------------------------
  function claim() {
    asleep = false;
    keep("tab", tab);
  }

  window.addEventListener("storage", async (event) => {
    if (!place || event.key !== `${place}tab` || event.newValue === JSON.stringify(tab) || !event.newValue) return;
    asleep = true;
    shown = null;
    await words("", texts.other_tab, texts.this_tab);
    claim();
    queue = kept("queue") || [];
    resting = false;
    await start();
    next();
  });
  window.addEventListener("online", wake);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) wake(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  // ---- the way through ----------------------------------------------------------------------------------------------------
  const base = `nearer:${location.pathname}:`;
  let anonymous = false;

  function whoami() {
    const search = new URLSearchParams(location.search);
    parameters = Object.fromEntries(study.parameter_names.map((name) => [name, search.get(name) || ""]));
    const given = new Map([...search].map(([name, value]) => [name.toLowerCase(), value]));
    for (const name of study.id_names) {
      const value = (given.get(name.toLowerCase()) || "").trim();
      if (value) return value;
    }
    anonymous = true;
    try {
      return sessionStorage.getItem("nearer:anonymous") || localStorage.getItem(`${base}anonymous`);
    } catch {
      return null;
    }
  }

  async function main() {
    study = await insist("api/study");
    texts = study.texts;
    document.documentElement.lang = study.language;
    document.title = study.title;
    $("title").textContent = study.title;
    $("undo").onclick = () => { if (shown) { shown.chosen.pop(); mark(); } };
    $("cannot").onclick = cannot;
    id = whoami();
    if (id === null && !study.anonymous) return words("", texts.no_id, "");
    place = `${base}${id || "new"}:`;
    queue = (id !== null && kept("queue")) || [];
    if (queue.length) await flush(); // what the last visit could not send
    try {
      await start();
    } catch (error) {
      if (error.status !== 422) throw error;
      return words("", texts.no_id, ""); // not an id, as when a site did not fill it in
    }
    place = `${base}${id}:`;
    if (anonymous) {
      try { localStorage.setItem(`${base}anonymous`, id); } catch { /* a reload begins anew */ }
    }
    rested = state.answered - (study.break_every ? state.answered % study.break_every : 0);
    claim();
    begun = true;
    next();
  }

  main().catch((error) => {
    console.error(error);
    words("", (texts && texts.failed) || String(error.message), "");
  });
})();
