import { DatasetError, isOrchardError, ValidationError } from '../contract/index.js';
import { type Command, isOption, nameOf } from './command.js';

/** Messages name options as the library spells them; on the command line, they are flags. */

/** The flags of a command by the library's names of its options: `maxTexts` → `--max-texts`. */
export type Flags = ReadonlyMap<string, string>;

/** @param typed the values on the command line: `columns` is the flag of the last column that was given */
export function flagsOf({ parameters }: Command, typed: Readonly<Record<string, unknown>>): Flags {
  const flags = new Map(
    Object.entries(parameters).flatMap(([key, parameter]) => (isOption(parameter) ? [[key, nameOf(parameter)]] : [])),
  );
  for (const column of COLUMNS) {
    const flag = flags.get(`${column}Column`);
    if (flag === undefined) continue;
    flags.set(`columns.${column}`, flag);
    if (typed[`${column}Column`] !== undefined) flags.set('columns', flag);
  }
  for (const [name, key] of Object.entries(REQUEST_FIELDS)) {
    const flag = flags.get(key);
    if (flag !== undefined) flags.set(name, flag);
  }
  return flags;
}

const COLUMNS = ['text', 'label', 'question', 'passage'];

/** Fields of a training request, by which messages of a training name hyperparameters. */
const REQUEST_FIELDS = { learning_rate: 'learningRate', batch_size: 'batchSize' };

/** What only the library can set, and how the same is done or said on the command line. */
const withoutFlag: readonly (readonly [RegExp, string])[] = [
  [/but (?:the trainer's )?memoryLimit is /g, 'but this process may use only '],
  [/raise the limit or use a smaller model/g, 'use a smaller model, or a machine with more memory'],
  [/, or raise the limit/g, ', or use a machine with more memory'],
  [/\b(answers of|teacher that is) a function\b/g, '$1 a program'],
  [/`offline: (true|false)`/g, 'HF_HUB_OFFLINE=$1'],
  [/HF_TOKEN,? or `hubModels\(\{ token \}\)`/g, 'HF_TOKEN'],
  [/; give \{ text: .* \} for a prompt of your own/g, ''],
  [/ \(in a Trainer, backbone\)/g, ''],
  [/; to (?:start from|compare with) random weights.*$/g, ''],
  [/make one from usual texts with model\.baseline\(\{ texts \}\)/g, 'give a file of usual texts with --usual'],
];

/** The message with the flags of a command in place of the library's options. */
export function inFlags(message: string, flags: Flags): string {
  const flagOr = (same: string, name: string) => flags.get(name) ?? same;
  const words = withoutFlag.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), message);
  return words
    .replace(/budgetSeconds: (\d+(?:\.\d+)?)/g, (_, seconds: string) => `--minutes ${Number(seconds) / 60}`)
    .replace(/the option columns, such as \{ (.*?) \}/g, (all, pairs: string) => {
      const given = pairs.replace(/(\w+): /g, (same, name: string) => `${flags.get(`columns.${name}`) ?? same} `);
      return given.includes('--') ? given.replaceAll(/, (?=--)/g, ' ') : all;
    })
    .replace(/\b(\w+): (?='|\[')/g, (same, name: string) => (flags.has(name) ? `${flags.get(name)} ` : same))
    .replace(/--tag-names \[(.*?)\]/g, (_, names: string) => `--tag-names ${names.replaceAll(/[' ]/g, '')}`)
    .replace(
      /\b(leave|give) (\w+(?:, \w+)*(?: (?:or|and) \w+)?)(?= out\b| so that\b|$)/g,
      (same, verb, list: string) => {
        const named = list.replace(/\w+/g, (word) =>
          word === 'or' || word === 'and' ? word : (flags.get(word) ?? '?'),
        );
        return named.includes('?') ? same : `${verb} ${named}`;
      },
    )
    .replace(/\bthe option (\w+)/g, (same, name: string) => flagOr(same, name))
    .replace(/(?<![\w./"'-])([a-z]\w*[A-Z_]\w*)(?!\w|["'/]|\.\w)/g, (same, name: string) => flagOr(same, name))
    .replace(/the option (?=--)/g, '');
}

/** The same error, with flags in its places and advice. */
export function withFlags(thrown: unknown, flags: Flags): unknown {
  if (!isOrchardError(thrown)) return thrown;
  if (thrown.code === 'validation') {
    return new ValidationError(
      thrown.problems.map(({ loc, msg, type }) => {
        const [first = '', second] = loc;
        const flag = flags.get(`${first}.${second}`);
        const named = flag === undefined ? [flags.get(`${first}`) ?? first, ...loc.slice(1)] : [flag, ...loc.slice(2)];
        return { loc: loc.length === 0 ? loc : named, msg: inFlags(msg, flags), type };
      }),
    );
  }
  if (thrown.code !== 'dataset') return thrown;
  const problems = thrown.problems.map((problem) => ({ ...problem, expected: inFlags(problem.expected, flags) }));
  return new DatasetError(problems, thrown.total);
}
