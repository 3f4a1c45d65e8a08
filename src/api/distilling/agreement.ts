import { probableLabels } from '../../datasets/index.js';
import { accuracyInterval } from '../../families/index.js';
import type { Answer } from '../answers.js';
import type { Difference, DistillationSummary, MeasuredShare } from '../distill.js';
import type { TaughtText } from './ask-teacher.js';

/** How often student and teacher say the same. */

const MOST_DIFFERENCES = 20;
export const MOST_CHARACTERS = 300;

export function measuredShare(part: number, of: number): MeasuredShare {
  const share = of === 0 ? 0 : part / of;
  return { share, interval: accuracyInterval(share, of), of };
}

/** @param answers of the student, in the order of the texts */
export function agreementOf(
  texts: readonly TaughtText[],
  answers: readonly Answer[],
  isMultilabel: boolean,
): Required<Pick<DistillationSummary, 'agreement' | 'differences'>> {
  const labels = new Map<string, { same: number; of: number }>();
  const differences: Difference[] = [];
  let same = 0;
  for (const [at, text] of texts.entries()) {
    const answer = answers[at];
    if (answer === undefined) continue;
    const { isSame, byLabel, ...difference } = compared(text, answer, isMultilabel);
    if (isSame) same += 1;
    else differences.push({ text: text.text.slice(0, MOST_CHARACTERS), ...difference });
    for (const [label, isFound] of byLabel) {
      const { same: before, of } = labels.get(label) ?? { same: 0, of: 0 };
      labels.set(label, { same: before + (isFound ? 1 : 0), of: of + 1 });
    }
  }
  const names = [...labels.keys()].sort();
  return {
    agreement: {
      ...measuredShare(same, texts.length),
      labels: names.map((label) => {
        const { same: found, of } = labels.get(label) ?? { same: 0, of: 0 };
        return { label, ...measuredShare(found, of) };
      }),
    },
    differences: differences.sort((a, b) => b.difference - a.difference).slice(0, MOST_DIFFERENCES),
  };
}

interface Compared extends Omit<Difference, 'text'> {
  readonly isSame: boolean;
  /** For each label of the teacher's answer, or entity, whether the student has it. */
  readonly byLabel: readonly (readonly [label: string, isFound: boolean])[];
}

function compared({ text, taught, candidates = [] }: TaughtText, answer: Answer, isMultilabel: boolean): Compared {
  if (taught.kind === 'labels' && answer.kind === 'labels') {
    const teacher = probableLabels({ labels: taught.shares }, isMultilabel);
    const student = answer.labels;
    const scoreOf = (label: string) => answer.scores.find((each) => each.label === label)?.score ?? 0;
    const doubts = [
      ...teacher.map((label) => 1 - scoreOf(label)),
      ...student.flatMap((label) => (teacher.includes(label) || !isMultilabel ? [] : [scoreOf(label)])),
    ];
    return {
      isSame: teacher.length === student.length && teacher.every((label) => student.includes(label)),
      byLabel: teacher.map((label) => [label, student.includes(label)]),
      ...{ teacher, student, difference: Math.max(0, ...doubts) },
    };
  }
  if (taught.kind === 'entities' && answer.kind === 'entities') {
    const nameOf = ({ type, start, end }: { type: string; start: number; end: number }) =>
      `${type}: ${text.slice(start, end)}`;
    const keyOf = ({ type, start, end }: { type: string; start: number; end: number }) => `${start} ${end} ${type}`;
    const found = new Set(answer.entities.map(keyOf));
    const common = taught.entities.filter((entity) => found.has(keyOf(entity))).length;
    const all = taught.entities.length + answer.entities.length - common;
    return {
      isSame: common === all,
      byLabel: taught.entities.map((entity) => [entity.type, found.has(keyOf(entity))]),
      teacher: taught.entities.map(nameOf),
      student: answer.entities.map(nameOf),
      difference: all === 0 ? 0 : 1 - common / all,
    };
  }
  if (taught.kind === 'passages' && answer.kind === 'passages') {
    const best = bestPassage(taught.scores, candidates);
    const place = answer.passages.findIndex((passage) => passage.text === best);
    return {
      isSame: place === 0,
      byLabel: [],
      teacher: [best.slice(0, MOST_CHARACTERS)],
      student: answer.passages.slice(0, 1).map((passage) => passage.text.slice(0, MOST_CHARACTERS)),
      difference: place < 0 ? 1 : 1 - 1 / (place + 1),
    };
  }
  throw new TypeError(`a teacher of ${taught.kind} has a student of ${answer.kind}`);
}

export function bestPassage(scores: readonly number[], candidates: readonly string[]): string {
  return candidates[scores.indexOf(Math.max(...scores))] ?? '';
}

/** The teacher's answer as a model would give it. */
export function asAnswer({ text, taught, candidates = [] }: TaughtText, isMultilabel: boolean): Answer {
  if (taught.kind === 'entities') {
    const entities = taught.entities.map((each) => ({ ...each, text: text.slice(each.start, each.end), score: 1 }));
    return { kind: 'entities', entities };
  }
  if (taught.kind === 'passages') {
    const passages = candidates.map((passage, at) => ({ text: passage, score: taught.scores[at] ?? 0 }));
    return { kind: 'passages', passages: passages.sort((a, b) => b.score - a.score).slice(0, 10) };
  }
  const scores = Object.entries(taught.shares)
    .map(([label, score]) => ({ label, score }))
    .sort((a, b) => b.score - a.score);
  const [first = { label: '', score: 0 }] = scores;
  return { kind: 'labels', ...first, labels: probableLabels({ labels: taught.shares }, isMultilabel), scores };
}
