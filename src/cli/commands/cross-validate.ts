import { writeFile } from 'node:fs/promises';
import type { CrossValidation, DoubtfulRow } from '../../api/index.js';
import { orThrow } from '../../contract/index.js';
import { counted } from '../../datasets/index.js';
import type { TrainingEvent } from '../../jobs/index.js';
import { command } from '../command.js';
import { alignedLines, evaluationLines, shownTexts } from '../format.js';
import { requireNotRead } from '../overwriting.js';
import { argument, integer, option, showTraining, trainingOptions, trainingParameters } from '../parameters.js';
import { interruptible, Progress } from '../terminal.js';

export const crossValidateCommand = command({
  name: 'cross-validate',
  summary: 'evaluate on all rows, each with a model that was not trained on it; list rows with doubtful labels',
  details: `Divides the rows into folds with equal shares of every label. For each fold, trains a model on the other folds. Prints the
metrics over all rows, their mean and standard deviation over the folds, and the rows whose labels are probably wrong.

  orchard cross-validate reviews.csv --folds 5 --answers out-of-fold.jsonl`,
  parameters: {
    folds: option('-k, --folds <number>', 'number of folds (default: 5)', integer(2)),
    repeats: option('--repeats <number>', 'number of repeats, each with different folds (default: 1)', integer(1)),
    groupColumn: option(
      '--group-column <name>',
      'column with the group of each row; rows of the same group stay in one fold',
    ),
    answers: option('--answers <file>', 'JSON Lines file to write, with the answer to each row'),
    doubtful: option('--doubtful <number>', 'number of rows with doubtful labels to print (default: 10)', integer(0)),
    ...trainingParameters,
    data: argument('<data>', 'file of rows'),
  },
  async run({ settings, terminal, output }) {
    const { crossValidate } = await import('../../api/index.js');
    const { folds, repeats, groupColumn, answers: answersFile, doubtful = 10, ...training } = settings;
    await requireNotRead({ path: answersFile, flag: '--answers', inputs: [training.data, training.base] });
    const progress = new Progress(terminal);
    let fold = 1;
    const options = {
      ...trainingOptions(training),
      ...{ path: training.data, folds, repeats, groupColumn },
      onFold: () => {
        fold += 1;
      },
      onProgress: (event: TrainingEvent) => showTraining(progress, event, `fold ${fold}, `),
    };
    const validation = interruptible((signal) => orThrow(crossValidate({ ...options, signal })));
    const { answers, ...result } = await validation.finally(() => progress.clear());
    if (!output.isJson) output.warnings(result.warnings);
    // First, so that a file that can't be written costs no figures.
    await output.result(result, await linesOf(result, doubtful));
    if (answersFile !== undefined) {
      await writeFile(answersFile, answers.map((each) => `${JSON.stringify(each)}\n`).join(''));
      output.note(`answers written to ${answersFile}`);
    }
  },
});

async function linesOf(
  { type, reason, evaluations, figures, folds, doubtful, seconds }: Omit<CrossValidation, 'answers'>,
  most: number,
): Promise<readonly string[]> {
  const lines = [`${type} (${reason}); ${folds.length} training runs in ${seconds.toFixed(0)} s`];
  for (const [repeat, evaluation] of evaluations.entries()) {
    if (evaluations.length > 1) lines.push(`\nrepeat ${repeat + 1} of ${evaluations.length}`);
    lines.push(...(await evaluationLines(evaluation)));
  }
  const rows = figures.map(({ name, mean, deviation, lowest, highest }) => [
    name,
    `${mean.toFixed(4)} ± ${deviation.toFixed(4)}`,
    `${lowest.toFixed(4)} to ${highest.toFixed(4)}`,
  ]);
  lines.push('\nover the folds:', ...alignedLines([['', 'mean ± deviation', 'range'], ...rows]));
  if (doubtful.length === 0 || most === 0) return lines;
  lines.push(`\n${counted(doubtful.length, 'row')} with doubtful labels, most doubtful first:`);
  return [...lines, ...alignedLines(doubtful.slice(0, most).map(cellsOf))];
}

function cellsOf({ row, given, suggested, probability, ...texts }: DoubtfulRow): readonly string[] {
  const [labels, others] = [given, suggested].map((each) => each.join(', ') || '-');
  return [`row ${row + 1}`, probability.toFixed(2), `${labels} → ${others}`, shownTexts(texts)];
}
