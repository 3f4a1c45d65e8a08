import type { InferenceResult } from 'orchard-nlp';
import type { Robustness } from '../../models/recipes/catalogue/model-facts.js';
import type { ClassifierRecipe, Recipe } from '../../models/recipes/catalogue/recipe.js';
import { editsOf, sampled, withEditedTests } from '../../models/recipes/catalogue/robustness/edited-recipe.js';
import { type Decision, expectedCalibrationError } from '../../src/families/index.js';
import { type Ask, asking } from './ask.js';
import { mean, share } from './intervals.js';
import { measure, type Subject } from './measure.js';

const AS_PUBLISHED = 'as published';

/** A model on edited tests, on kinds of texts that are known to be hard, and on texts of another domain. */
export async function measureRobustness(recipe: Recipe, subject: Subject): Promise<Robustness> {
  const edited = await measureEdited(recipe, subject);
  if (recipe.family !== 'Papaya') return { edited, kinds: [], calibration: [] };
  const ask = asking(subject.predictor, recipe.name);
  return {
    edited,
    kinds: await measureKinds(recipe, ask),
    calibration: await measureCalibration(recipe, ask, subject.datasets),
  };
}

async function measureEdited(recipe: Recipe, subject: Subject): Promise<Robustness['edited']> {
  const edited = new Map<string, Robustness['edited'][number]>();
  for (const edit of [undefined, ...editsOf(recipe)]) {
    const { tests } = await measure(withEditedTests(recipe, edit), subject);
    for (const { test, metric, rows, value, low, high } of tests) {
      const earlier = edited.get(test)?.figures ?? [];
      edited.set(test, {
        test,
        metric,
        rows,
        figures: [...earlier, { edit: edit ?? AS_PUBLISHED, value, low, high }],
      });
    }
  }
  return [...edited.values()];
}

async function measureKinds({ kinds = [] }: ClassifierRecipe, ask: Ask): Promise<Robustness['kinds']> {
  const measured: Robustness['kinds'] = [];
  for (const { title, label, texts } of kinds) {
    const right = (await ask(texts)).filter(({ labels }) => labels[0] === label).length;
    measured.push({ kind: title, label, rows: texts.length, ...share(right, texts.length) });
  }
  return measured;
}

/** Of models with one label a text: how sure of several labels a model is, its own evaluation tells. */
async function measureCalibration(
  { type, tests, elsewhere = [] }: ClassifierRecipe,
  ask: Ask,
  datasets: string,
): Promise<Robustness['calibration']> {
  if (type === 'multilabel-text-classification') return [];
  const measured: Robustness['calibration'] = [];
  for (const { title, read } of [...tests, ...elsewhere]) {
    const rows = sampled(await read(datasets));
    const results = await ask(rows.map(({ text }) => text));
    const decisions = rows.map(({ labels }, at) => decisionOf(results[at], labels[0]));
    measured.push({
      test: title,
      rows: rows.length,
      accuracy: mean(decisions.map(({ right }) => Number(right))),
      confidence: mean(decisions.map(({ confidence }) => confidence)),
      error: expectedCalibrationError(decisions),
    });
  }
  return measured;
}

function decisionOf(result: InferenceResult | undefined, label: string | undefined): Decision {
  return { confidence: result?.scores[0] ?? 0, right: label !== undefined && result?.labels[0] === label };
}
