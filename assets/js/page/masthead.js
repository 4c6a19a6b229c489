// The top: name, tabs, which model on what, whether what one sees is live; share, language, theme.
const Masthead = (() => {
  const { el } = Format;
  const root = element.querySelector(".spork-masthead");
  const dot = el("i", { "aria-hidden": "true" }), word = el("span");
  const badge = el("span", { class: "sp-badge" }, dot, word);
  const model = el("span", { class: "sp-model" });
  const trouble = el("p", { class: "sp-trouble", role: "alert", hidden: true });
  const shareWord = el("span", { "aria-live": "polite" }, TEXT.share);
  const share = el("button", { type: "button", class: "sp-button" }, shareWord);
  const language = el("button", { type: "button", class: "sp-button", lang: TEXT.other_language_code, "aria-label": TEXT.other_language_label }, TEXT.other_language);
  const theme = el("button", { type: "button", class: "sp-button", "aria-label": TEXT.theme_label });
  const tabs = el("nav", { class: "sp-nav", "aria-label": TEXT.tabs_label });
  root.append(
    el("header", { class: "sp-masthead" },
      el("div", { class: "sp-brand" }, mark(), el("h1", {}, TEXT.name), el("span", { class: "sp-tagline" }, TEXT.tagline)),
      el("div", { class: "sp-facts" }, model, badge, el("div", { class: "sp-buttons" }, share, language, theme))),
    trouble, tabs);
  Tabs.mount(tabs);

  // A fork with one tine chosen: the page's sign.
  function mark() {
    const svg = Format.svg("svg", { viewBox: "0 0 32 32", "aria-hidden": "true", class: "sp-mark" });
    for (const [d, kind] of [["M4 16h6c6 0 4-10 10-10h4", "off"], ["M4 16h6c6 0 4 10 10 10h4", "off"], ["M4 16h22", "on"]]) {
      svg.append(Format.svg("path", { d, class: `is-${kind}` }));
    }
    svg.append(Format.svg("circle", { cx: 27, cy: 16, r: 4 }));
    return svg;
  }

  function show(status) {
    const percent = Format.exists(status.fraction) ? ` ${Math.round(status.fraction * 100)} %` : "";
    const words = {
      ready: [status.name, status.device, status.dtype].filter(Boolean).join(" · "),
      loading: `${Format.fill(TEXT.model_loading, { model: status.name })} · ${status.message}${percent}`,
      waiting: status.name, failed: status.name,
    };
    Format.write(model, words[status.state]);
    model.className = `sp-model is-${status.state}`;
    trouble.hidden = status.state !== "failed";
    if (status.state === "failed") trouble.replaceChildren(el("b", {}, TEXT.model_failed), ` ${status.message}`, el("br"), TEXT.model_failed_hint);
  }

  function source(name) {
    Format.write(dot, name === "live" ? "●" : "○");
    Format.write(word, TEXT[`badge_${name}`] || "");
    badge.className = `sp-badge is-${name}`;
    badge.hidden = !TEXT[`badge_${name}`];
  }

  const label = () => Format.write(theme, Format.isDark() ? `☀ ${TEXT.light}` : `☾ ${TEXT.dark}`);
  theme.addEventListener("click", () => document.body.classList.toggle("dark"));
  Format.onTheme(label);

  // Gradio reads the language once, so the page is opened anew, with its settings in the link.
  let after = null;
  language.addEventListener("click", () => {
    try { localStorage.setItem("spork-language", TEXT.other_language_code); } catch (error) { /* the link says it too */ }
    after = (link) => {
      const url = new URL(link);
      url.searchParams.set("lang", TEXT.other_language_code);
      history.replaceState(null, "", url);
      window.dispatchEvent(new CustomEvent("spork:leaving"));
      location.reload();
    };
    trigger("link");
  });
  share.addEventListener("click", () => { after = copy; trigger("link"); });
  window.sporkShare = (values) => after && after(Links.to(values));

  async function copy(link) {
    history.replaceState(null, "", link);
    let copied = true;
    try { await navigator.clipboard.writeText(link); } catch (error) { copied = false; }
    Format.write(shareWord, copied ? TEXT.share_copied : TEXT.share_address);
    setTimeout(() => Format.write(shareWord, TEXT.share), 3000);
  }

  label();
  // The view may have said so before this part was there.
  source(window.sporkSource);
  window.addEventListener("spork:source", () => source(window.sporkSource));
  watch("value", () => props.value && show(JSON.parse(props.value)));
  if (props.value) show(JSON.parse(props.value));
  return { show };
})();
