import { writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type AnswerView, ModelFolderError, ValidationError } from '../contract/index.js';
import { fields, flag, listOf, requireShape, text } from '../system/index.js';
import { CONFIG_FILE, MAX_CONFIG_BYTES, readJsonText } from './folder-files.js';
import { type ModelFolderConfig, readConfig } from './model-config.js';

/** Rules of a model's folder. */
export const RULES_FILE = 'rules.json';

/** What a rule looks for: the matches of a pattern, or any of some terms. */
export type RuleCondition = PatternCondition | TermsCondition;

interface PatternCondition {
  /** The source of a JavaScript regular expression, which gets the flag `u`, such as `'A-\\d{5}'`. */
  readonly pattern: string;
  readonly terms?: undefined;
  /** Whether case makes no difference. Default false. */
  readonly ignoreCase?: boolean | undefined;
}

interface TermsCondition {
  /** Words or phrases. They match in any Unicode form, and any white space matches any other. */
  readonly terms: readonly string[];
  readonly pattern?: undefined;
  /** Whether case makes no difference. Default false. */
  readonly ignoreCase?: boolean | undefined;
  /** Whether a term has to begin and end where words do. Default true. */
  readonly wholeWords?: boolean | undefined;
}

interface NamedRule {
  /** What answers call the rule. Default: its position in the list, from 0. */
  readonly name?: string | undefined;
}

/** Entity models: what matches is an entity of this type. The model itself need not know the type. */
export type EntityRule = NamedRule & RuleCondition & { readonly type: string };
/** Classifiers: a text with a match has this label. */
export type LabelRule = NamedRule & RuleCondition & { readonly label: string };
/** Classifiers: a text with a match does not have this label. */
export type VetoRule = NamedRule & RuleCondition & { readonly not: string };

/** Answers wherever a pattern or a term matches, regardless of what the model has learned (docs/rules.md). */
export type Rule = EntityRule | LabelRule | VetoRule;

const MAX_RULES = 1000;
/** Of all rules together. */
const MAX_TERMS = 200_000;
/** Of a term, and of names, types and labels. */
const MAX_NAME_LENGTH = 500;
const MAX_PATTERN_LENGTH = 5000;

/** The fields of a rule; which of them go together is checked by {@link ruleOf}. */
interface RuleFields {
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  readonly label?: string | undefined;
  readonly not?: string | undefined;
  readonly pattern?: string | undefined;
  readonly terms?: readonly string[] | undefined;
  readonly ignoreCase?: boolean | undefined;
  readonly wholeWords?: boolean | undefined;
}

/** What is wrong with a rule. @property path within the rule; empty for the rule as a whole */
export interface RuleProblem {
  readonly message: string;
  readonly path: (string | number)[];
}

/** The rule with these fields, or what is wrong with them. */
export function ruleOf(fields: RuleFields): Rule | RuleProblem {
  const { name, type, label, not, pattern, terms, ignoreCase, wholeWords } = fields;
  const refuse = (message: string, ...path: (string | number)[]): RuleProblem => ({ message, path });
  for (const field of ['name', 'type', 'label', 'not'] as const) {
    const given = fields[field];
    if (given === undefined || (given.trim() !== '' && given.length <= MAX_NAME_LENGTH)) continue;
    return refuse(`give 1 to ${MAX_NAME_LENGTH} characters that are not all blank`, field);
  }
  const answers = [type, label, not].filter((each) => each !== undefined);
  if (answers.length !== 1) return refuse('give exactly one of type (for entities), label and not (for classifiers)');
  if (type !== undefined && /\s/u.test(type)) return refuse('an entity type may not contain white space', 'type');
  const named = { ...(name !== undefined && { name }), ...(ignoreCase !== undefined && { ignoreCase }) };
  const of = (condition: RuleCondition): Rule => {
    if (type !== undefined) return { type, ...named, ...condition };
    return label === undefined ? { not: not ?? '', ...named, ...condition } : { label, ...named, ...condition };
  };
  if (pattern !== undefined && terms === undefined) {
    if (wholeWords !== undefined)
      return refuse('applies only to terms; put word boundaries into the pattern', 'wholeWords');
    const problem = problemOf(pattern, ignoreCase);
    return problem === undefined ? of({ pattern }) : refuse(problem, 'pattern');
  }
  if (pattern !== undefined || terms === undefined) return refuse('give either pattern or terms');
  if (terms.length === 0) return refuse('give at least one term', 'terms');
  const wrong = terms.findIndex((term) => term.trim() === '' || term.length > MAX_NAME_LENGTH);
  if (wrong === -1) return of({ terms, ...(wholeWords !== undefined && { wholeWords }) });
  return refuse(`give 1 to ${MAX_NAME_LENGTH} characters that are not all blank`, 'terms', wrong);
}

/** What is wrong with rules together, if anything. */
export function problemOfAll(rules: readonly Rule[]): string | undefined {
  const terms = rules.reduce((sum, rule) => sum + (rule.terms?.length ?? 0), 0);
  if (rules.length <= MAX_RULES && terms <= MAX_TERMS) return undefined;
  const figure = (value: number) => value.toLocaleString('en-US');
  const found = `${figure(rules.length)} ${rules.length === 1 ? 'rule' : 'rules'} with ${figure(terms)} terms in all`;
  return `found ${found}; give at most ${figure(MAX_RULES)} rules and ${figure(MAX_TERMS)} terms`;
}

/** What is wrong with a pattern, if anything. */
function problemOf(pattern: string, ignoreCase: boolean | undefined): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return `give at most ${MAX_PATTERN_LENGTH} characters`;
  try {
    if (!patternOf({ pattern, ignoreCase }).test('')) return undefined;
    return EMPTY_MATCH;
  } catch (thrown) {
    return thrown instanceof SyntaxError ? thrown.message : String(thrown);
  }
}

export const EMPTY_MATCH = 'the pattern matches the empty text, so it would match everywhere; require a character';

export function patternOf({ pattern, ignoreCase = false }: Pick<PatternCondition, 'pattern' | 'ignoreCase'>): RegExp {
  return new RegExp(pattern, ignoreCase ? 'giu' : 'gu');
}

const rulesShape = listOf(
  fields(
    {},
    {
      ...{ name: text, type: text, label: text, not: text, pattern: text, terms: listOf(text) },
      ...{ ignoreCase: flag, wholeWords: flag },
    },
    'refused',
  ),
);

/** What a rule is called in answers. */
export const ruleName = ({ name }: Rule, position: number): RuleName => name ?? position;
/** The name of a rule or, if it has none, its index in the array of rules. */
export type RuleName = string | number;

/** What a rule is called in messages: `rule 2 (ORDER)`. */
export function ruleTitle(rule: Rule, position: number): string {
  return `rule ${JSON.stringify(ruleName(rule, position))} (${answerOf(rule)})`;
}

function answerOf(rule: Rule): string {
  if ('type' in rule) return rule.type;
  return 'label' in rule ? rule.label : `not ${rule.not}`;
}

/**
 * @param model with the labels of a classifier.
 * @throws ValidationError for rules of a model that reads pairs, a rule that is of another kind of model, or one with a label
 *   that the model doesn't have.
 */
export function requireFittingRules(
  rules: readonly Rule[],
  view: AnswerView,
  { labels, parts }: Pick<ModelFolderConfig['orchard'], 'labels' | 'parts'>,
): void {
  if (parts === 'pair') {
    const msg = 'rules work only on single texts, but this model reads pairs of texts; leave `rules` out';
    throw new ValidationError([{ loc: ['rules'], msg, type: 'unfitting_rule' }]);
  }
  const problems = rules.flatMap((rule, position) => {
    const problem = (field: string, msg: string) => [
      { loc: ['rules', position, field], msg: `${ruleTitle(rule, position)}: ${msg}`, type: 'unfitting_rule' },
    ];
    if ('type' in rule) {
      return view === 'entities' ? [] : problem('type', `rules with a type apply only to models that find entities`);
    }
    const [field, label] = 'label' in rule ? ['label', rule.label] : ['not', rule.not];
    if (view !== 'labels') return problem(field, `rules with ${field} apply only to classifiers`);
    if (labels.includes(label)) return [];
    const some = labels.slice(0, MOST_LISTED).join(', ') + (labels.length > MOST_LISTED ? ', …' : '');
    return problem(field, `the model has no label ${JSON.stringify(label)}; it has ${some}`);
  });
  if (problems.length > 0) throw new ValidationError(problems);
}
const MOST_LISTED = 20;

/** The types that rules have, each once. */
export function typesOfRules(rules: readonly Rule[]): readonly string[] {
  return [...new Set(rules.flatMap((rule) => ('type' in rule ? [rule.type] : [])))];
}

/** Rules that the library wrote to a file. @throws ModelFolderError */
export async function readRulesFile(file: string): Promise<readonly Rule[]> {
  return checkedRules((await readJsonText(dirname(file), basename(file), MAX_CONFIG_BYTES)).json, file);
}

/** The rules of a folder that has some. @throws ModelFolderError */
export async function readRules(directory: string): Promise<readonly Rule[]> {
  const { json } = await readJsonText(directory, RULES_FILE, MAX_CONFIG_BYTES);
  return checkedRules(json, join(directory, RULES_FILE));
}

/** What {@link RULES_FILE} holds. */
export function rulesContent(rules: readonly Rule[]): Uint8Array {
  return Buffer.from(`${JSON.stringify(rules, undefined, 2)}\n`);
}

/** Gives the model in a folder these rules, in place of its own. @throws ModelFolderError */
export async function addRules(directory: string, rules: readonly Rule[]): Promise<void> {
  const config = await readConfig(directory);
  const { files } = config.orchard;
  const listed = files.includes(RULES_FILE) ? files : [...files, RULES_FILE];
  const orchard = { ...config.orchard, files: listed, rules: rules.length };
  await writeFile(join(directory, RULES_FILE), rulesContent(rules));
  await writeFile(join(directory, CONFIG_FILE), `${JSON.stringify({ ...config, orchard }, undefined, 2)}\n`);
}

/** @throws ModelFolderError */
export function checkedRules(json: unknown, file: string): readonly Rule[] {
  const rules = requireShape(rulesShape, json, file).map((given, position) => {
    const rule = ruleOf(given);
    if (!('message' in rule)) return rule;
    throw new ModelFolderError(file, `${[position, ...rule.path].join('.')}: ${rule.message}`);
  });
  const problem = problemOfAll(rules);
  if (problem !== undefined) throw new ModelFolderError(file, problem);
  return rules;
}
