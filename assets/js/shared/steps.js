// A round's decisions by rising tau, as spork/what_if.py gives them: the one that holds at `tau`.
const Steps = { at: (steps, tau) => steps.find((step) => tau <= step.upto) || steps[steps.length - 1] };
