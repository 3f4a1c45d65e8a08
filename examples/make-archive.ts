/**
 * Makes a dataset archive for text classification out of a CSV, TSV or JSON Lines file:
 * `npx tsx examples/make-archive.ts --input reviews.csv --type binary-text-classification --output reviews.zip`
 */
import { basename, extname } from 'node:path';
import { parseArgs } from 'node:util';
import { classificationTypes, createClassificationArchive, describeDatasetProblem } from 'orchard-nlp';

const USAGE = `Options:
  --input FILE         CSV, TSV or JSON Lines (by the ending), UTF-8
  --output FILE.zip    where the archive goes
  --type TYPE          ${classificationTypes.join(', ')}
  --text-column NAME   default: text
  --label-column NAME  default: label; several labels of a row are separated by commas
  --dev FILE           rows to evaluate on, in the same columns; default: a tenth of --input is set aside
  --dev-fraction X     another share to set aside
  --seed N             decides which rows are set aside; default: 0
  --name NAME          default: the name of --output
  --description TEXT   default: the name`;

const { values: given } = parseArgs({
  options: {
    input: { type: 'string' },
    output: { type: 'string' },
    type: { type: 'string' },
    'text-column': { type: 'string' },
    'label-column': { type: 'string' },
    dev: { type: 'string' },
    'dev-fraction': { type: 'string' },
    seed: { type: 'string' },
    name: { type: 'string' },
    description: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const type = classificationTypes.find((each) => each === given.type);
if (given.help) {
  console.log(USAGE);
  process.exit(0);
}
if (given.input === undefined || given.output === undefined || type === undefined) {
  console.error(USAGE);
  process.exit(2);
}

const columns = { textColumn: given['text-column'], labelColumn: given['label-column'] };
const made = await createClassificationArchive(
  {
    type,
    name: given.name ?? basename(given.output, extname(given.output)),
    description: given.description,
    rows: { path: given.input, ...columns },
    devRows: given.dev === undefined ? undefined : { path: given.dev, ...columns },
    devFraction: given['dev-fraction'] === undefined ? undefined : Number(given['dev-fraction']),
    seed: given.seed === undefined ? undefined : Number(given.seed),
  },
  given.output,
);

made.match(
  ({ path, train, dev, labels, removedDuplicates, respacedTexts, warnings }) => {
    console.log(`${path}: ${train} rows to train on, ${dev} to evaluate on, ${labels.length} labels`);
    if (removedDuplicates > 0) console.log(`${removedDuplicates} repeated rows were left out`);
    if (respacedTexts > 0) console.log(`tabs and line breaks became spaces in ${respacedTexts} texts`);
    for (const { message } of warnings) console.log(`warning: ${message}`);
  },
  (error) => {
    const problems = error.code === 'dataset' ? error.problems.map(describeDatasetProblem) : [error.message];
    for (const problem of problems) console.error(problem);
    if (error.code === 'dataset' && error.total > problems.length)
      console.error(`${error.total} problems in all`);
    process.exitCode = 1;
  },
);
