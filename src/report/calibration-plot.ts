import { scaleLinear } from 'd3-scale';
import type { Calibration, ModelEvaluation } from '../model-folder/index.js';
import {
  type Area,
  bottomAxis,
  type Chart,
  colours,
  curve,
  dot,
  drawnLine,
  figure,
  leftAxis,
  type Point,
} from './chart.js';
import { decimal, percent, whole } from './figures.js';
import { type Html, html, table } from './html.js';

/** A reliability diagram (Guo et al. 2017): how often the model is right, by its confidence. */
export function calibrationPlot({ calibration }: ModelEvaluation): Html | undefined {
  if (calibration === undefined) return undefined;
  const rows = calibration.bins.map((bin) => [
    percent(bin.confidence),
    percent(bin.accuracy),
    whole(bin.rows),
  ]);
  const columns = ['How sure', 'How often right', 'Decisions'];
  return html`<section>
<h2>Calibration</h2>
<p>Expected calibration error ${decimal(calibration.error)}; ${decimal(calibration.error_before)} before the scores were calibrated.</p>
${figure(reliabilityDiagram(calibration))}
<details><summary>As a table</summary>${table(columns, rows, { hasRowHeadings: false })}</details>
</section>`;
}

const WIDTH = 440;
const HEIGHT = 340;
const AREA: Area = { left: 60, right: WIDTH - 24, top: 16, bottom: HEIGHT - 48 };

function reliabilityDiagram({ bins, error }: Calibration): Chart {
  const most = Math.max(1, ...bins.map(({ rows }) => rows));
  const x = scaleLinear([0, 1], [AREA.left, AREA.right]);
  const y = scaleLinear([0, 1], [AREA.bottom, AREA.top]);
  const ticks = (scale: typeof x) =>
    scale.ticks(5).map((value) => ({ at: scale(value), text: String(value) }));
  const points = bins.map(({ confidence, accuracy }): Point => [x(confidence), y(accuracy)]);
  return {
    width: WIDTH,
    height: HEIGHT,
    caption:
      'On the dashed line, confidence equals accuracy. Below it the model is overconfident, above it underconfident. Large dots are many decisions.',
    alternative: `Reliability diagram with an expected calibration error of ${decimal(error)}.`,
    drawing: [
      ...leftAxis(AREA, ticks(y), 'how often right'),
      ...bottomAxis(AREA, ticks(x), 'how sure'),
      drawnLine([x(0), y(0)], [x(1), y(1)], { colour: colours.muted, isDashed: true }),
      curve(points, colours.accent),
      ...bins.map(({ rows }, at) => dot(points[at] ?? [0, 0], radiusOf(rows / most), colours.accent)),
    ],
  };
}

/** Beyond the smallest dot, the area is roughly in proportion to the share. */
const radiusOf = (share: number): number => 2.5 + 6.5 * Math.sqrt(share);
