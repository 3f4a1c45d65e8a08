import { expect, expectTypeOf, it } from 'vitest';
import {
  type Answer,
  type EntityAnswer,
  type EntityEvaluation,
  errAsync,
  type LabelAnswer,
  type LabelEvaluation,
  loadModel,
  type Model,
  type OrchardError,
  okAsync,
  orThrow,
  type PassageAnswer,
  type TrainedModel,
  train,
  ValidationError,
} from '../../src/index.js';

/** What the compiler knows without running anything; `npm run check` compiles this file. */

async function named() {
  return orThrow(loadModel('named-entity-recognition'));
}
async function unknown(folder: string) {
  return orThrow(loadModel(folder));
}
async function ofRows() {
  return orThrow(train({ rows: [{ text: 'a', label: 'x' }] }));
}
async function ofType() {
  return orThrow(train({ path: 'rows.csv', type: 'named-entity-recognition' }));
}
async function ofPath() {
  return orThrow(train({ path: 'rows.csv' }));
}

it('knows the kind of answers by the model, the rows or the type', () => {
  expectTypeOf(named).returns.resolves.toEqualTypeOf<Model<EntityAnswer>>();
  expectTypeOf(unknown).returns.resolves.toEqualTypeOf<Model<Answer>>();
  expectTypeOf(ofRows).returns.resolves.toEqualTypeOf<TrainedModel<LabelAnswer>>();
  expectTypeOf(ofType).returns.resolves.toEqualTypeOf<TrainedModel<EntityAnswer>>();
  expectTypeOf(ofPath).returns.resolves.toEqualTypeOf<TrainedModel<LabelAnswer | EntityAnswer | PassageAnswer>>();
});

async function ofConstantRows() {
  const rows = [
    { text: 'a', label: 'x' },
    { text: 'b', labels: ['y', 'z'] },
  ] as const;
  return orThrow(train({ rows }));
}
async function ofFurtherLabels() {
  const rows = [{ text: 'a', label: 'x' }] as const;
  return orThrow(train({ rows, labels: ['x', 'y'] }));
}

it('knows the labels of constant rows, unless others may be added', () => {
  expectTypeOf(ofConstantRows).returns.resolves.toEqualTypeOf<TrainedModel<LabelAnswer<'x' | 'y' | 'z'>>>();
  expectTypeOf(ofFurtherLabels).returns.resolves.toEqualTypeOf<TrainedModel<LabelAnswer>>();
});

it('knows the kind of an evaluation by that of the answers', () => {
  const labels = async (model: Model<LabelAnswer>) => orThrow(model.evaluate('rows.csv'));
  const entities = async (model: Model<EntityAnswer>) => orThrow(model.evaluate('rows.csv'));
  expectTypeOf(labels).returns.resolves.toEqualTypeOf<LabelEvaluation>();
  expectTypeOf(entities).returns.resolves.toEqualTypeOf<EntityEvaluation>();
});

it('orThrow gives the value of a call, or throws its error', async () => {
  expect(await orThrow(okAsync<number, OrchardError>(5))).toBe(5);
  const error = new ValidationError([{ loc: ['rows'], msg: 'give some', type: 'missing' }]);
  await expect(orThrow(errAsync(error))).rejects.toBe(error);
});
