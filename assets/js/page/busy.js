// One job at a time from a tab: which it is, how to start and to stop it. The body's class
// `spork-busy` drives the buttons; views hear `spork:pending`, `stopping`, `ended` and `failed`
// with the job's mode.
const Busy = (() => {
  const STARTERS = { live: "spork-generate", race: "spork-race", tune: "spork-sweep" };
  let mode = null;
  const busy = (is) => document.body.classList.toggle("spork-busy", is);
  const tell = (what) => window.dispatchEvent(new CustomEvent(`spork:${what}`, { detail: { mode } }));

  window.addEventListener("spork:pending", (event) => { mode = event.detail.mode; window.sporkRun = ""; busy(true); });
  for (const what of ["ended", "failed"]) window.addEventListener(`spork:${what}`, () => busy(false));

  // Views set `window.sporkRun` when the first frame of a job comes; Stop names it to the server.
  window.sporkStop = () => { tell("stopping"); return window.sporkRun || ""; };
  window.sporkStopped = () => tell("ended");
  window.sporkStart = () => {
    const button = document.getElementById(STARTERS[document.body.dataset.tab || "live"]);
    if (button && !document.body.classList.contains("spork-busy")) button.click();
  };
  return {};
})();
