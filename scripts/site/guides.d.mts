/** Every guide by its file's name, below the headings of the site's menu, in their order. */
export const GUIDES: Readonly<Record<string, readonly string[]>>;
