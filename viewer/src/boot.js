(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const kept = localStorage.getItem("lbolt-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    // A page from a file may have no storage: the system's choice holds.
  }
})();
