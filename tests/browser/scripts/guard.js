// Notes down whatever a hostile text would do.
window.runs = [];
window.pwned = (...args) => { window.runs.push(["pwned", ...args.map(String)]); };
for (const name of ["alert", "confirm", "prompt", "open"]) window[name] = (...args) => { window.runs.push([name, ...args.map(String)]); };
document.addEventListener("securitypolicyviolation", (event) => {
  window.runs.push(["policy", event.effectiveDirective, event.blockedURI, event.sample]);
});
