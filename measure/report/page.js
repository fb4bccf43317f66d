(function () {
  "use strict";
  var tip = document.getElementById("tip"), button = document.getElementById("theme"), root = document.documentElement;
  function at(x, y) {
    var b = tip.getBoundingClientRect(), pad = 8;
    tip.style.left = Math.max(pad, Math.min(x + 14, innerWidth - b.width - pad)) + "px";
    tip.style.top = (y - b.height - 12 < pad ? y + 18 : y - b.height - 12) + "px";
  }
  function value(e) { return e.target.closest ? e.target.closest(".v") : null; }
  function show(v, x, y) {
    tip.textContent = v.getAttribute("aria-label");
    tip.hidden = false;
    at(x, y);
  }
  function hide() { tip.hidden = true; }
  document.addEventListener("pointermove", function (e) {
    var v = value(e);
    if (v) { show(v, e.clientX, e.clientY); } else { hide(); }
  });
  document.addEventListener("focusin", function (e) {
    var v = value(e), b;
    if (!v) { hide(); return; }
    b = v.getBoundingClientRect();
    show(v, b.left + b.width / 2, b.top);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", function (e) { if (e.key === "Escape") { hide(); } });
  function stored(v) {
    try {
      if (v !== undefined) { localStorage.setItem("hemera-theme", v); }
      return localStorage.getItem("hemera-theme");
    } catch (e) { return null; }
  }
  function set(theme) {
    if (theme === "light" || theme === "dark") { root.dataset.theme = theme; } else { delete root.dataset.theme; theme = "system"; }
    button.textContent = "theme: " + theme;
    return theme;
  }
  var next = { system: "dark", dark: "light", light: "system" }, now = set(stored());
  button.hidden = false;
  button.addEventListener("click", function () { now = set(next[now]); stored(now); });
}());
