// Elements with texts. All text goes in as text: names are others'.

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  values: Partial<Record<string, string>> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A name whose direction is its own. */
export function named(text: string): HTMLElement {
  const most = 120;
  return element("bdi", { title: text }, text.length > most ? `${text.slice(0, most)}…` : text);
}

/** A button that does something. */
export function button(text: string | Node, act: () => void, label?: string): HTMLButtonElement {
  const made = element("button", { type: "button", "aria-label": label }, text);
  made.addEventListener("click", act);
  return made;
}

/** The element of a name, which the page has. */
export function own<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found as T;
}
