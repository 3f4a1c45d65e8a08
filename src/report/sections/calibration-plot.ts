import type { Calibration, ModelEvaluation } from '../../model-folder/index.js';
import { axisStyle, type Chart, colours, type DrawChart } from '../chart.js';
import { decimal, percent, whole } from '../figures.js';
import { type Html, html } from '../html.js';

/** A reliability diagram (Guo et al. 2017): how often the model is right, by how sure it is. */
export function calibrationPlot({ calibration }: ModelEvaluation, draw: DrawChart): Html | undefined {
  if (calibration === undefined) return undefined;
  const rows = calibration.bins.map(
    (bin) =>
      html`<tr><td>${percent(bin.confidence)}</td><td>${percent(bin.accuracy)}</td><td>${whole(bin.rows)}</td></tr>`,
  );
  return html`<section>
<h2>Calibration</h2>
<p>Expected calibration error ${decimal(calibration.error)}; ${decimal(calibration.error_before)} before the scores were calibrated.</p>
${draw(reliabilityDiagram(calibration))}
<details><summary>As a table</summary><table><thead><tr><th scope="col">How sure</th><th scope="col">How often right</th>
<th scope="col">Decisions</th></tr></thead><tbody>${rows}</tbody></table></details>
</section>`;
}

function reliabilityDiagram({ bins, error }: Calibration): Chart {
  const most = Math.max(1, ...bins.map(({ rows }) => rows));
  return {
    width: 440,
    height: 340,
    caption:
      'On the dashed line, scores are what they claim. Below it the model is too sure of itself, above it not sure enough. Large dots stand for many decisions.',
    alternative: `Reliability diagram with an expected calibration error of ${decimal(error)}.`,
    option: {
      grid: { left: 60, right: 24, top: 16, bottom: 48 },
      xAxis: {
        type: 'value',
        min: 0,
        max: 1,
        name: 'how sure',
        nameLocation: 'middle',
        nameGap: 28,
        ...axisStyle,
      },
      yAxis: {
        type: 'value',
        min: 0,
        max: 1,
        name: 'how often right',
        nameLocation: 'middle',
        nameGap: 36,
        ...axisStyle,
      },
      series: [
        {
          type: 'line',
          data: [
            [0, 0],
            [1, 1],
          ],
          symbol: 'none',
          silent: true,
          color: colours.muted,
          lineStyle: { type: 'dashed', width: 1 },
        },
        {
          type: 'line',
          data: bins.map(({ confidence, accuracy, rows }) => ({
            value: [confidence, accuracy],
            symbolSize: 5 + 13 * Math.sqrt(rows / most),
          })),
          symbol: 'circle',
          silent: true,
          color: colours.accent,
        },
      ],
    },
  };
}
