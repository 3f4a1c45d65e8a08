import { CsvError, parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecordReader } from '../../src/datasets/csv.js';

/** The records of tables. The reference is csv-parse, another program with the rules of RFC 4180. */

const csv = { delimiter: ',', quote: '"' } as const;

function read(text: string, dialect: ConstructorParameters<typeof RecordReader>[0] = csv) {
  const reader = new RecordReader(dialect);
  const lines = text.split('\n').map((line, at) => ({ number: at + 1, text: line }));
  const found = [...reader.read(lines)];
  return reader.isOver ? found : [...found, ...reader.end()];
}

/** What csv-parse makes of a text: its records up to bad quoting, and whether there is any. */
function reference(text: string) {
  const records: string[][] = [];
  try {
    const options = { skip_empty_lines: true, relax_column_count: true, record_delimiter: '\n' };
    parse(text, { ...options, on_record: (record: string[]) => void records.push(record) });
    return { records, isBad: false };
  } catch (thrown) {
    if (!(thrown instanceof CsvError)) throw thrown;
    return { records, isBad: true };
  }
}

describe('the records of a table', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', ' ', 'é', '""', '\n"'), maxLength: 30 });

  it('are those that csv-parse finds, up to bad quoting', () => {
    fc.assert(
      fc.property(text, (text) => {
        const found = read(text);
        const { records, isBad } = reference(text);
        expect(found.flatMap((each) => ('cells' in each ? [each.cells] : []))).toEqual(records);
        expect(found.some((each) => 'problem' in each)).toBe(isBad);
      }),
      { numRuns: 2000 },
    );
  });

  it('are told with the lines on which they begin', () => {
    const found = read('a,b\n\n"one\n\ntwo",2\n3,4');
    expect(found).toEqual([
      { line: 1, cells: ['a', 'b'] },
      { line: 3, cells: ['one\n\ntwo', '2'] },
      { line: 6, cells: ['3', '4'] },
    ]);
  });

  it('end with the first record that is quoted badly', () => {
    const problem = (text: string) => read(text).flatMap((each) => ('problem' in each ? [each.problem.found] : []));
    const rest = '; the rest of the file was not read';
    expect(problem('a"b"\nc')).toEqual([`found a quote inside an unquoted cell${rest}`]);
    expect(problem('"a"b\nc')).toEqual([`found text after the closing quote of a cell${rest}`]);
    expect(problem('a\n"b\nc')).toEqual([`found a quoted cell without a closing quote${rest}`]);
  });

  it('have quotes as characters where a dialect has no quoting', () => {
    expect(read('a"b\t"c"', { delimiter: '\t', quote: false })).toEqual([{ line: 1, cells: ['a"b', '"c"'] }]);
  });
});
