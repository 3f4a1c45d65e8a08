import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { inMessage } from '../../src/contract/index.js';

describe('a message, for a caller with other names for options', () => {
  const names = (name: string, value?: string) =>
    name === 'size' ? `the size${value === undefined ? '' : ` ${value}`}` : undefined;

  it.each([
    ['use a smaller `size`', 'use a smaller the size'],
    ["with `size: 'mini'`, or without", "with the size 'mini', or without"],
    // Without a name, an option stays as it is; in parentheses, the advice is left out.
    ['leave `device` out', 'leave `device` out'],
    ['the limit is 2 GiB (`memoryLimit`); use less', 'the limit is 2 GiB; use less'],
    ['choose one (`size` or `other: f({ x })`), and go on', 'choose one, and go on'],
    ['choose one (`size`), and go on', 'choose one (the size), and go on'],
    // Other code and other parentheses stay.
    ['run `npm install x` (in `./y`) (again)', 'run `npm install x` (in `./y`) (again)'],
    // What is quoted is the user's own.
    [
      'the label "`size`" (of "a (`other`) \\" `size`") and `size`',
      'the label "`size`" (of "a (`other`) \\" `size`") and the size',
    ],
  ])('%s', (message, shown) => {
    expect(inMessage(message, names)).toBe(shown);
  });
});

describe('the messages in the sources', () => {
  const options = publicOptions();
  const found = messages();

  it('name options in backticks', () => {
    expect(options).toContain('maxTexts');
    expect(found.length).toBeGreaterThan(500);
    expect(found.filter(({ text }) => namesBare(text, options))).toEqual([]);
  });

  it.each(['give maxTexts too', 'leave base out', 'the option base', "give encoding: 'a'", 'leave ⟨name⟩ out'])(
    'would be found with: %s',
    (text) => {
      expect(namesBare(text, options)).toBe(true);
      expect(namesBare(text.replace(/\S*(?:maxTexts|base|name⟩|encoding: 'a')/, '`$&`'), options)).toBe(false);
    },
  );
});

/** The fields of all interfaces and types of options in the reports of the public API. */
function publicOptions(): ReadonlySet<string> {
  const names = new Set<string>();
  for (const file of readdirSync('api')) {
    const code = readFileSync(join('api', file), 'utf8').replaceAll('```ts', '').replaceAll('```', '');
    visit(ts.createSourceFile(`${file}.ts`, code, ts.ScriptTarget.Latest), (node) => {
      if (!ts.isInterfaceDeclaration(node) || !/(?:Options|Limits)$/.test(node.name.text)) return;
      for (const { name } of node.members) if (name && ts.isIdentifier(name)) names.add(name.text);
    });
  }
  return names;
}

interface Message {
  readonly file: string;
  readonly text: string;
}

/** Every text of more than one word in the code; of the command line, the page and reports are not. */
function messages(): readonly Message[] {
  const found: Message[] = [];
  for (const file of readdirSync('src', { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || /^(?:cli|report|http[/\\]page)[/\\]/.test(file)) continue;
    const source = ts.createSourceFile(file, readFileSync(join('src', file), 'utf8'), ts.ScriptTarget.Latest);
    visit(source, (node) => {
      if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return;
      const text = ts.isTemplateExpression(node) ? templateText(node, source) : node.text;
      if (text.includes(' ')) found.push({ file, text });
    });
  }
  return found;
}

function templateText({ head, templateSpans }: ts.TemplateExpression, source: ts.SourceFile): string {
  return (
    head.text +
    templateSpans.map(({ expression, literal }) => `⟨${expression.getText(source)}⟩${literal.text}`).join('')
  );
}

function visit(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  ts.forEachChild(node, (child) => visit(child, look));
}

/** Whether a message has an option outside backticks: camel case, or a word where an option would be. */
function namesBare(text: string, options: ReadonlySet<string>): boolean {
  const rest = text.replaceAll(/`[^`]*`/g, '');
  const prose = rest.replaceAll(/⟨[^⟩]*⟩/g, '');
  const camelCase = prose.match(/(?<![\w.$])[a-z]+[A-Z]\w*\b(?!\()/g) ?? [];
  const places = prose.matchAll(/\bleave (\w+)(?= out\b)|(?<!\{ |, )\b(\w+): (?=['[])/g);
  return (
    /\bthe option \w|\bleave ⟨[a-z]\w*⟩ out/.test(rest) ||
    [...camelCase, ...[...places].map(([, left, given]) => left ?? given ?? '')].some((word) => options.has(word))
  );
}
