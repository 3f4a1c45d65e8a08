import type { Replacements } from '../../api/index.js';
import { command } from '../command.js';
import { onOneLine } from '../format.js';
import {
  checkpointOptions,
  choice,
  lineFormat,
  list,
  modelParameters,
  openModel,
  openTexts,
  option,
  rulesOption,
  textOptions,
} from '../parameters.js';
import { Progress } from '../terminal.js';

export const redactCommand = command({
  name: 'redact',
  summary: 'replace entities in texts, such as names',
  details: `Reads texts from the command line, from --input, or from standard input, and prints each with its entities replaced. A
text that can't be read or answered is reported with its line number and left out, or is an empty line in the format text; the
exit code is then 1.

  orchard redact named-entity-recognition 'Ada Lovelace lived in London.' --types PER
  orchard redact named-entity-recognition --input letters.txt --replacement '***' > redacted.txt`,
  parameters: {
    model: modelParameters.model,
    texts: list('[texts...]', 'texts to redact'),
    ...textOptions,
    types: option('--types <types>', 'types of entities to replace, separated by commas (default: all)'),
    replacement: option('--replacement <text>', 'replacement of each entity (default: its type in brackets)'),
    format: choice(
      '-f, --format <format>',
      'output format: text, or jsonl with what was replaced (default: text, or jsonl with --json)',
      ['text', 'jsonl'],
    ),
    rules: rulesOption,
    ...checkpointOptions,
    device: modelParameters.device,
    runtime: modelParameters.runtime,
    threads: modelParameters.threads,
  },
  async run({ settings, terminal, output }) {
    const { types, replacement } = settings;
    const isJson = lineFormat(settings.format, output) === 'jsonl';
    const progress = new Progress(terminal, !output.isTerminal);
    using input = await openTexts(settings, { terminal, output, progress, isJson, keepsLines: !isJson });
    await using model = await openModel(settings);
    const replaced = types?.split(',').map((type) => type.trim()) ?? model.labels;
    const replacements: Replacements = Object.fromEntries(replaced.map((type) => [type, replacement ?? true]));
    for await (const redacted of model.redact(input.read(), replacements)) {
      const { line } = await input.take();
      if (redacted.isErr()) await input.problem(line, output.messageOf(redacted.error));
      else if (isJson) await output.line(JSON.stringify({ line, ...redacted.value }));
      else await output.line(onOneLine(redacted.value.text));
      if (output.closed.aborted) break;
    }
    await input.reportProblems();
  },
});
