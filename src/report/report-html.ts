import { html } from './html.js';
import { htmlPage } from './html-page.js';
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

/** One self-contained HTML page about a model. Sections whose figures the folder lacks are left out. */
export async function reportHtml(report: ReportInput): Promise<string> {
  const { training, evaluation } = report;
  return htmlPage(
    `${training.model_config.name}: report of a model`,
    html`${overview(report)}
<main>
${parts(training)}
${learningCurves(training.training_stats)}
${evaluation && classTable(evaluation)}
${evaluation && confusionMatrix(evaluation)}
${evaluation && calibrationPlot(evaluation)}
${evaluation && mistakes(evaluation)}
${warnings(training)}
${configuration(training)}
</main>`,
  );
}
