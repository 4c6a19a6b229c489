// Drawing must not slow the engine, which may share this machine's processors. A pacer draws on
// animation frames only, and so far apart that drawing takes about the `duty` share of the time. How
// often there is something to draw is the server's to decide: it tells, at its own pace.
const Pacing = (() => {
  // What the eye would call a standstill; no pace may ask for a longer rest.
  const LONGEST_REST_MS = 2000;
  const REMEMBERED = 4;

  function create(draw) {
    let costs = [], began = 0, timer = null, frame = null;
    const channel = new MessageChannel();
    // The message is handled after the frame was laid out and painted, so that counts too.
    channel.port1.onmessage = () => {
      costs = [...costs, performance.now() - began].slice(-REMEMBERED);
    };

    function run() {
      timer = frame = null;
      began = performance.now();
      if (draw()) channel.port2.postMessage(0);
    }

    // On a busy machine a drawing is often interrupted; the shortest of the last few tells its cost.
    function period(duty) {
      const cost = costs.length ? Math.min(...costs) : 0;
      return Math.min(LONGEST_REST_MS, cost / duty);
    }

    const soon = () => { frame = frame || requestAnimationFrame(run); };

    // Ask for a drawing: at the next frame, or no sooner than the pace allows.
    return function request(duty) {
      if (frame || (timer && duty)) return;
      clearTimeout(timer);
      timer = null;
      const wait = duty ? began + period(duty) - performance.now() : 0;
      if (wait <= 0) soon();
      else timer = setTimeout(soon, wait);
    };
  }
  return { create };
})();
