import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { orThrow } from '../../contract/index.js';
import { command } from '../command.js';
import { evaluationLines } from '../format.js';
import { requireNotRead } from '../overwriting.js';
import {
  argument,
  checkpointOptions,
  flag,
  integer,
  modelParameters,
  openModel,
  option,
  readingOf,
  readingOptions,
  rulesOption,
  seedOption,
} from '../parameters.js';
import { interruptible } from '../terminal.js';

export const evaluateCommand = command({
  name: 'evaluate',
  summary: 'evaluate a model on labelled rows: metrics per class, confusions, confidence intervals',
  details: `The rows have the same formats as for training.
The intervals are 95 % bootstrap intervals, or Wilson intervals where all or no rows are right.

  orchard evaluate ./reviews-model test.csv --report report.html`,
  parameters: {
    model: modelParameters.model,
    rows: argument('<rows>', 'file of labelled rows'),
    positive: option('--positive <label>', 'classifiers with two labels: the label whose F1 is also printed'),
    report: option('--report <file>', 'HTML report to write'),
    ...readingOptions,
    withoutRules: flag('--without-rules', 'evaluate the model without its rules'),
    resamples: option(
      '--resamples <number>',
      'number of bootstrap samples (100 to 100000; default: 1000)',
      integer(100, 100_000),
    ),
    seed: seedOption,
    ...checkpointOptions,
    rules: rulesOption,
    device: modelParameters.device,
    runtime: modelParameters.runtime,
    threads: modelParameters.threads,
  },
  async run({ settings, output }) {
    const { model: name, rows, positive, report, withoutRules, resamples, seed } = settings;
    await requireNotRead({ path: report, flag: '--report', inputs: [rows, settings.rules, name] });
    const evaluation = await interruptible(async (signal) => {
      await using model = await openModel(settings, signal);
      return await orThrow(
        model.evaluate(rows, { ...readingOf(settings), signal, positive, rules: !withoutRules, resamples, seed }),
      );
    });
    // First, so that a report that can't be written costs no figures.
    await output.result(evaluation, await evaluationLines(evaluation));
    output.warnings(evaluation.warnings ?? []);
    if (report !== undefined) {
      const { evaluationReport } = await import('../../api/index.js');
      const title = `${name} on ${basename(rows)}`;
      await writeFile(report, await orThrow(evaluationReport(evaluation, { title })));
      output.note(`report written to ${report}`);
    }
  },
});
