// Dark or light: the system's choice until the reader makes one, which is kept.

const KEY = "lbolt-theme";
const SYSTEM = matchMedia("(prefers-color-scheme: dark)");
const NEXT = { auto: "dark", dark: "light", light: "auto" } as const;
type Theme = keyof typeof NEXT;

function chosen(): Theme {
  const theme = document.documentElement.dataset.theme;
  return theme === "dark" || theme === "light" ? theme : "auto";
}

export function isDark(): boolean {
  const theme = chosen();
  return theme === "dark" || (theme === "auto" && SYSTEM.matches);
}

function choose(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Without storage the choice holds as long as the page is open.
  }
}

/** The switch; `changed` is called when other colours hold. */
export function themeSwitch(changed: () => void): void {
  const button = document.querySelector<HTMLButtonElement>("#theme");
  const name = () => {
    if (button !== null) button.textContent = `Theme: ${chosen()}`;
  };
  name();
  button?.addEventListener("click", () => {
    choose(NEXT[chosen()]);
    name();
    changed();
  });
  SYSTEM.addEventListener("change", changed);
}
