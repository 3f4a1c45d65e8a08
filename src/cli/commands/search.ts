import { stat } from 'node:fs/promises';
import { orThrow } from '../../contract/index.js';
import { counted, grouped } from '../../datasets/index.js';
import type { SearchIndex } from '../../search/index.js';
import { command, type Settings, UsageError } from '../command.js';
import { onOneLine } from '../format.js';
import { requireNotRead } from '../overwriting.js';
import {
  argument,
  choice,
  deviceOption,
  inputFormats,
  integer,
  list,
  openTexts,
  option,
  runtimeOption,
} from '../parameters.js';
import { interruptible, type Output, type Terminal } from '../terminal.js';

const parameters = {
  passages: argument('<passages>', 'file of passages, or folder of a saved index'),
  questions: list('[questions...]', 'questions to search for'),
  inputFormat: choice(
    '--input-format <format>',
    'format of the passages: one per line (text), or a field of each record (default: by the file extension)',
    inputFormats,
  ),
  textColumn: option('--text-column <name>', 'column or field with the passage (default: text)'),
  top: option('-k, --top <number>', 'number of passages to print per question (default: 3)', integer(1)),
  model: option(
    '-m, --model <model>',
    'folder or name of a model or backbone, or owner/name on the Hub (default: chosen by --language)',
  ),
  rerank: option('--rerank <model>', 'cross-encoder that reorders the best passages: a folder or owner/name'),
  rerankDepth: option(
    '--rerank-depth <number>',
    'number of passages per question that the cross-encoder reads (default: 30)',
    integer(1, 1000),
  ),
  language: option('--language <language>', 'language of the passages, such as en or ja (default: en)'),
  save: option('--save <folder>', 'folder to save the index to'),
  device: deviceOption,
  runtime: runtimeOption,
};

export const searchCommand = command({
  name: 'search',
  summary: 'find the passages that answer a question; needs no training',
  details: `Without questions on the command line, reads one question per line from standard input.

  orchard search passages.txt 'When does the library close?'
  orchard search passages.txt --save ./index
  orchard search ./index 'When does the library close?'`,
  parameters,
  async run({ settings, terminal, output }) {
    const { passages: path, questions, save, top = 3, rerankDepth } = settings;
    if (questions.length === 0 && save === undefined && path === '-')
      throw new UsageError('the passages come from standard input; give the questions as arguments');
    const unread = [settings.top !== undefined && '--top', rerankDepth !== undefined && '--rerank-depth'].find(Boolean);
    if (questions.length === 0 && save !== undefined && unread)
      throw new UsageError(
        `${unread}: with --save, only questions on the command line are answered; give one, or omit ${unread}`,
      );
    if (!(await isFolder(path))) await requireNotRead({ path: save, flag: '--save', inputs: [path] });
    await using index = await interruptible((signal) => indexOf(settings, { terminal, output, signal }));
    if (save !== undefined) {
      await orThrow(index.save(save));
      output.note(`${counted(index.size, 'passage')} saved to ${save}`);
      if (questions.length === 0) return;
    }
    using input = await openTexts({ texts: questions }, { terminal, output });
    for await (const { line, text: question } of input) {
      const passages = await orThrow(index.search(question, { k: top, rerank: rerankDepth }));
      const lines = passages.map(({ score, passage }) => `${score.toFixed(4)}\t${onOneLine(passage)}`);
      await output.result({ line, question, passages }, line > 1 ? ['', ...lines] : lines);
    }
  },
});

async function indexOf(
  settings: Settings<typeof parameters>,
  { terminal, output, signal }: { terminal: Terminal; output: Output; signal: AbortSignal },
): Promise<SearchIndex> {
  const { openSearch, search } = await import('../../search/index.js');
  const { passages: path, model, rerank, language, inputFormat, textColumn, device, runtime } = settings;
  if (await isFolder(path)) {
    const ofPassages = { model, rerank, language, 'input-format': inputFormat, 'text-column': textColumn };
    for (const [name, value] of Object.entries(ofPassages))
      if (value !== undefined)
        throw new UsageError(
          `--${name}: can't be changed for a saved index; omit it, or index the passages again with --${name}`,
        );
    return orThrow(openSearch(path, { device, runtime, signal }));
  }
  const { rerankDepth } = settings;
  if (rerankDepth !== undefined && rerank === undefined)
    throw new UsageError('--rerank-depth: no cross-encoder is given; add --rerank');
  const { openTextSource } = await import('../text-input.js');
  const { entries, name } = await openTextSource({ input: path, inputFormat, textColumn }, terminal, signal);
  const passages: string[] = [];
  for await (const each of entries) {
    if ('text' in each) passages.push(each.text);
    else if ('problem' in each) {
      output.fail();
      output.warn(`${name} ${grouped(each.line)}: ${each.problem}`);
    }
  }
  return orThrow(search(passages, { model, rerank, device, runtime, language, signal }));
}

async function isFolder(path: string): Promise<boolean> {
  const entry = await stat(path).catch(() => undefined);
  return entry?.isDirectory() === true;
}
