/** The element of this id. @throws where the page has none of that kind: a mistake in index.html */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`index.html has no ${kind.name} with the id ${id}`);
}

/** A new element. Texts among the children stay texts, whatever is in them. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

/** Tells screen readers something that the page shows elsewhere. */
export function announce(message: string): void {
  byId('announcements', HTMLElement).textContent = message;
}

/** A time of the service, as the reader writes times. */
export function shownTime(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}

/** Runs what a button or form starts, which meanwhile can't be started again. */
export async function whileBusy(button: HTMLButtonElement, work: () => Promise<void>): Promise<void> {
  if (button.ariaDisabled === 'true') return;
  button.ariaDisabled = 'true'; // `disabled` would take the keyboard's focus away
  try {
    await work();
  } finally {
    button.ariaDisabled = null;
  }
}
