import type { EChartsOption } from 'echarts';
import { Html, html } from './html.js';

export interface Chart {
  /** In the drawing's units; a narrow page scales it down. */
  readonly width: number;
  readonly height: number;
  /**
   * Of numbers and of our own words alone: ECharts keeps the texts that it draws as properties of plain objects. Words of
   * a dataset are `words`.
   */
  readonly option: EChartsOption;
  /** A dataset's own words, drawn over the plot without the library. */
  readonly words?: readonly DrawnWord[];
  /** What it shows, for readers who can't see it. */
  readonly alternative: string;
  readonly caption: string;
}

/** One line of text. */
export interface DrawnWord {
  readonly text: string;
  /** Where it ends, from the top left of the drawing and in its units. */
  readonly x: number;
  readonly y: number;
  readonly fontSize: number;
  /** Whether it runs upwards. */
  readonly upwards: boolean;
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
  return ({ width, height, option, words = [], alternative, caption }) => {
    const canvas = init(null, null, { renderer: 'svg', ssr: true, width, height });
    try {
      canvas.setOption({ animation: false, ...option });
      const svg = withWords(canvas.renderToSVGString(), words);
      return html`<figure style="max-width: ${width}px">
<div role="img" aria-label="${alternative}">${svg}</div>
<figcaption>${caption}</figcaption>
</figure>`;
    } finally {
      canvas.dispose(); // otherwise its timer keeps the process alive
    }
  };
}

/** The drawing with these words on top. */
function withWords(svg: string, words: readonly DrawnWord[]): Html {
  const end = svg.lastIndexOf('</svg>');
  const { text } = html`${words.map(drawnWord)}`;
  return new Html(`${svg.slice(0, end)}${text}${svg.slice(end)}`);
}

function drawnWord({ text, x, y, fontSize, upwards }: DrawnWord): Html {
  return html`<text x="${x}" y="${y}" transform="rotate(${upwards ? -90 : 0} ${x} ${y})" text-anchor="end"
dominant-baseline="central" fill="${colours.muted}" font-family="sans-serif" font-size="${fontSize}">${text}</text>`;
}
