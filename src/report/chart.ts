import type { EChartsOption } from 'echarts';
import { Html, html } from './html.js';

export interface Chart {
  /** In the drawing's units; a narrow page scales it down. */
  readonly width: number;
  readonly height: number;
  readonly option: EChartsOption;
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

/** Axis settings in the page's colours. */
export const axisStyle = {
  axisLabel: { color: colours.muted },
  axisLine: { lineStyle: { color: colours.line } },
  axisTick: { lineStyle: { color: colours.line } },
  splitLine: { lineStyle: { color: colours.line } },
  nameTextStyle: { color: colours.muted },
} as const;

export type DrawChart = (chart: Chart) => Html;

/**
 * Loads the drawing library, which takes a third of a second; only those who ask for a report should wait for
 * it.
 */
export async function chartDrawer(): Promise<DrawChart> {
  const { init } = await import('echarts');
  return ({ width, height, option, alternative, caption }) => {
    const canvas = init(null, null, { renderer: 'svg', ssr: true, width, height });
    try {
      canvas.setOption({ animation: false, ...option });
      const svg = new Html(canvas.renderToSVGString());
      return html`<figure style="max-width: ${width}px">
<div role="img" aria-label="${alternative}">${svg}</div>
<figcaption>${caption}</figcaption>
</figure>`;
    } finally {
      canvas.dispose(); // otherwise its timer keeps the process alive
    }
  };
}
