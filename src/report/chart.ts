import { type Html, html } from './html.js';

/** A drawing on a page, with what is said about it. */
export interface Chart {
  /** In the drawing's units; a narrow page scales it down. */
  readonly width: number;
  readonly height: number;
  /** Elements of SVG. */
  readonly drawing: readonly Html[];
  /** What it shows, for readers who can't see it. */
  readonly alternative: string;
  readonly caption: string;
}

/** Colours of the page's stylesheet, so that a drawing follows its light or dark mode. */
export const colours = {
  ink: 'var(--ink)',
  muted: 'var(--muted)',
  line: 'var(--line)',
  accent: 'var(--accent)',
  second: 'var(--second)',
} as const;

/** The chart as a figure. */
export function figure({ width, height, drawing, alternative, caption }: Chart): Html {
  return html`<figure style="max-width: ${width}px">
<div role="img" aria-label="${alternative}"><svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
${drawing}
</svg></div>
<figcaption>${caption}</figcaption>
</figure>`;
}
