import { html } from './html.js';
import type { ReportInput } from './report-input.js';
import { calibrationPlot } from './sections/calibration-plot.js';
import { classTable } from './sections/class-table.js';
import { configuration } from './sections/configuration.js';
import { confusionMatrix } from './sections/confusion-matrix.js';
import { learningCurves } from './sections/learning-curves.js';
import { mistakes } from './sections/mistakes.js';
import { overview } from './sections/overview.js';
import { parts } from './sections/parts.js';
import { warnings } from './sections/warnings.js';
import { style } from './style.js';

/** Allows the page its own style and nothing else: no scripts and no requests. */
export const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** One self-contained HTML page about a model. Sections whose figures the folder lacks are left out. */
export async function reportHtml(report: ReportInput): Promise<string> {
  const { training, evaluation } = report;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${CONTENT_POLICY}">
<title>${training.model_config.name}: report of a model</title>
<style>${style}</style>
</head>
<body>
${overview(report)}
<main>
${parts(training)}
${learningCurves(training.training_stats)}
${evaluation && classTable(evaluation)}
${evaluation && confusionMatrix(evaluation)}
${evaluation && calibrationPlot(evaluation)}
${evaluation && mistakes(evaluation)}
${warnings(training)}
${configuration(training)}
</main>
</body>
</html>
`;
  return page.text;
}
