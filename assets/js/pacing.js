// Drawing must not slow the engine, which may share this machine's processors. A pacer draws on
// animation frames only, never more often than `hz`, and rests after each drawing so long that
// drawing takes at most the `duty` share of the time. Both come from the server.
const Pacing = (() => {
  function create(draw) {
    let cost = 0, ended = 0, timer = null, asked = false;
    const channel = new MessageChannel();
    let began = 0;
    // The message is handled after the frame was laid out and painted, so that counts too.
    channel.port1.onmessage = () => {
      ended = performance.now();
      cost = Math.max(ended - began, cost * 0.8);
    };

    function run() {
      timer = null;
      asked = false;
      began = performance.now();
      draw();
      channel.port2.postMessage(0);
    }

    // Draw now (as soon as there is a frame), or no sooner than the pace allows.
    return function request(pace) {
      if (asked && pace) return;
      asked = true;
      clearTimeout(timer);
      const rest = pace ? Math.max(1000 / pace.hz, cost / pace.duty) : 0;
      const wait = pace ? ended + rest - performance.now() : 0;
      if (wait <= 0) requestAnimationFrame(() => asked && run());
      else timer = setTimeout(() => requestAnimationFrame(() => asked && run()), wait);
    };
  }
  return { create };
})();
