// plotly.js comes from the Python package, through the page's own server: no other host is asked.
const PlotlySource = (() => {
  // Gradio's own rule for where its files are: the configured root, on the origin one came by.
  function url(file) {
    const root = new URL((window.gradio_config && window.gradio_config.root) || "/", window.location.href);
    const origin = root.hostname === window.location.hostname ? window.location.origin : root.origin;
    return `${origin}${root.pathname.replace(/\/$/, "")}/gradio_api/file=${encodeURI(file)}`;
  }

  function load(file) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = url(file);
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error("plotly.js did not load"));
      document.head.append(script);
    });
  }
  return { load };
})();
