"use strict";
// jsPsych asks and times; nearer chooses the questions and keeps the answers.
const jsPsych = initJsPsych();

// Sent again until it is acknowledged: an answer counts once, whatever is resent.
async function post(path, body) {
  const headers = { "content-type": "application/json" };
  for (;;) {
    try {
      const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
      if (response.ok) return response.json();
      if (response.status < 500 && response.status !== 429) throw new Error((await response.json()).error);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // a TypeError of fetch is a lost connection
    }
    await new Promise((done) => setTimeout(done, 1000));
  }
}

const text = (words) => {
  const span = document.createElement("span");
  span.textContent = words;
  return span.innerHTML;
};
const shown = (item) => (item.form === "image" ? `<img src="${item.url}" alt="${text(item.alt)}" height="160">` : text(item.text));

async function run() {
  const id = new URLSearchParams(location.search).get("PROLIFIC_PID") || jsPsych.randomization.randomID(12);
  let state = await post("api/start", { participant: id });
  const token = state.participant;

  const question = {
    type: jsPsychHtmlButtonResponse,
    stimulus: () => `<p>Which of these two is more like this one?</p><p><b>${shown(state.questions[0].head)}</b></p>`,
    choices: () => state.questions[0].options.map(shown),
    data: () => ({ question: state.questions[0].id }),
  };
  const saving = {
    // The next question is there when the answer is on the server's disk.
    type: jsPsychHtmlButtonResponse,
    stimulus: "",
    choices: [],
    on_load: async () => {
      const { response, rt, question: asked } = jsPsych.data.get().last(1).values()[0];
      state = await post("api/answer", { participant: token, question: asked, choice: [response], seconds: rt / 1000 });
      jsPsych.finishTrial();
    },
  };
  await jsPsych.run([{ timeline: [question, saving], loop_function: () => !state.finished }]);
  document.body.textContent = "Thank you!";
  if (state.completion.link) location.href = state.completion.link;
}
run();
