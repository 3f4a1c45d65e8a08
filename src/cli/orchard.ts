import { version } from '../versions.js';
import { definitions } from './definitions.js';
import { tellFailure } from './failure.js';
import { Output } from './output.js';
import { type Call, programOf } from './program.js';
import { processTerminal, type Terminal } from './terminal.js';

/** The command `orchard`. @returns its exit code: 0 done, 1 failed, 2 called in a way it can't be, 130 interrupted */
export async function orchard(
  args: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number> {
  const output = new Output(terminal);
  let call: Call | undefined;
  try {
    const program = programOf(definitions, version, terminal, (made) => {
      call = made;
    });
    program.parse(args, { from: 'user' });
  } catch (thrown) {
    return tellFailure(thrown, { doing: 'orchard', optionNames: [], output, isJson: isJsonWanted(args) });
  }
  return call === undefined ? 0 : runCall(call, terminal, output);
}

async function runCall(
  { definition, path, optionNames, given }: Call,
  terminal: Terminal,
  output: Output,
): Promise<number> {
  const { json: isJson, ...rest } = given;
  const run = { given: rest, terminal, output, isJson: isJson === true };
  try {
    return (await definition.run?.(run)) ?? 0;
  } catch (thrown) {
    if (output.closed.aborted) return 0; // nobody reads the results: that is no failure
    return tellFailure(thrown, { doing: path, optionNames, output, isJson: run.isJson });
  }
}

/** Of a command line that can't be parsed. What stands after `--` is no option. */
function isJsonWanted(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).includes('--json');
}
