import { existsSync, readFileSync } from 'node:fs';
import type { Encoder } from '../../../src/encoder/index.js';
import { escapeMarkdown, markdownTable, whole } from '../../../src/report/index.js';
import type { CorpusRecord, SourceRecord } from './corpus/corpus-record.js';
import { licences, requireLicence } from './corpus/licences.js';
import type { TeacherRecord } from './distillation/target-folder.js';
import { mannersOf } from './distillation/teachers.js';
import type { LeftOut, SheetWords } from './recipe.js';
import type { StudentState } from './student/student-checkpoint.js';

/** The data sheet of a backbone: what it has read and from whom it learned, from the files of its making. */

export interface DataSheetFacts {
  /** Of the backbone: `english-mini`. */
  readonly name: string;
  readonly encoder: Encoder;
  readonly state: StudentState;
  readonly corpus: CorpusRecord;
  readonly leftOut: readonly LeftOut[];
  readonly words: SheetWords;
  /** Empty if it had none. */
  readonly teachers: readonly TeacherRecord[];
  /** Name of the backbone that it grew from, if it did. */
  readonly grownFrom: string | undefined;
  /** Content of probes.csv, if there is one. */
  readonly probes: string | undefined;
}

export function dataSheet(facts: DataSheetFacts): string {
  const sections = [
    `# Data sheet of orchard-${facts.name}`,
    composition(facts),
    whatIsLeftOut(facts.leftOut),
    teaching(facts),
    licencesNamed(facts.corpus),
    caution(facts.words),
    schooling(facts),
  ];
  return `${sections.filter((each) => each !== '').join('\n\n')}\n`;
}

/** Content of a file of probes. */
export const probesIn = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined;

const million = (count: number): string => (count / 1e6).toFixed(1);

function composition({ corpus: { sources, examples }, words }: DataSheetFacts): string {
  const characters = sources.reduce((sum, source) => sum + source.characters, 0);
  const row = (source: SourceRecord) => [
    escapeMarkdown(source.credit),
    source.licence,
    whole(source.documents),
    whole(source.examples),
    million(source.characters),
  ];
  return [
    '## What its corpus is made of',
    `${whole(examples)} passages with ${million(characters)} million characters, in random order. The last section says how much of them it read.`,
    markdownTable(['texts', 'licence', 'documents', 'passages', 'million characters'], sources.map(row)),
    `Passages are whole sentences of one document. Of passages that differ only in case, spacing and punctuation, one is kept. From labelled datasets, the texts of training splits were read, but never a label. Texts, and sentences of ${words.tellingSentence} or more, were left out if they are in a dev or test set that Orchard reports on.`,
  ].join('\n\n');
}

function whatIsLeftOut(leftOut: readonly LeftOut[]): string {
  if (leftOut.length === 0) return '';
  const rows = leftOut.map(({ name, reason }) => `- ${name}: ${reason}.`);
  return ['## What it has not read', rows.join('\n')].join('\n\n');
}

function teaching({ teachers }: DataSheetFacts): string {
  if (teachers.length === 0) return '';
  const rows = teachers.map(({ name, licence }) => [`[${name}](${mannersOf(name).home})`, licence]);
  return [
    '## Whose vectors it learned from',
    markdownTable(['teacher', 'licence of its weights'], rows),
    'It contains none of their weights. What the teachers have read is on their own pages; the list above does not include these texts.',
  ].join('\n\n');
}

function licencesNamed({ sources }: CorpusRecord): string {
  const names = [...new Set(sources.map(requireLicence))].sort();
  const rows = names.map((name) => [`[${name}](${licences[name].url})`, licences[name].asks]);
  return [
    '## Terms of the texts',
    markdownTable(['licence', 'asks for'], rows),
    'All of these licences allow anyone to use the texts, also commercially. The weights are under Apache-2.0; this list gives the credit that the texts ask for. Whether share-alike reaches weights that were trained on a text is not settled.',
  ].join('\n\n');
}

const caution = ({ caution }: SheetWords): string =>
  ['## What to know about the texts', `Beyond the licences, nobody was asked for permission. ${caution}`].join('\n\n');

function schooling({ encoder, state, grownFrom, probes }: DataSheetFacts): string {
  const { tokens, seconds, steps } = state;
  const read = `It read ${million(tokens)} million tokens (repeated passages count each time) in ${whole(steps)} steps and ${(seconds / 3600).toFixed(1)} hours${grownFrom === undefined ? '' : `, beyond what orchard-${grownFrom} had read, which it grew from`}.`;
  const shape = `The encoder has ${encoder.layers} layers of width ${encoder.width}, and a vocabulary of ${whole(encoder.vocabularySize)} pieces.`;
  if (probes === undefined) return ['## Its training', shape, read].join('\n\n');
  return ['## Its training', shape, read, probeTable(probes)].join('\n\n');
}

/** Dev figures of linear classifiers on frozen states, by the hours of training. */
function probeTable(csv: string): string {
  const rows = csv
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','))
    .map(([start = '', seconds, tokens, task = '', dev]) => [
      start,
      (Number(seconds) / 3600).toFixed(2),
      million(Number(tokens)),
      escapeMarkdown(task),
      (100 * Number(dev)).toFixed(1),
    ]);
  return [
    'Figures on dev of a logistic regression on its frozen states, in % (accuracy for labels, F1 for entities):',
    markdownTable(['weights', 'hours', 'million tokens', 'task', 'figure'], rows),
  ].join('\n\n');
}
