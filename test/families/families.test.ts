import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  type FamilyName,
  familyNames,
  type ModelType,
  modelTypes,
  trainingRequestSchema,
  validate,
} from '../../src/contract/index.js';
import { families, familyOfModel, familyOfType, taskOf } from '../../src/families/index.js';
import { aRequest } from '../jobs/request.js';
import { aReport } from '../report/a-report.js';
import { failureOf } from '../support/outcomes.js';

const { config } = aReport();

/** A model folder's config.json. */
const configOf = (family: FamilyName, type: ModelType) => ({ orchard: { ...config.orchard, family, type } });

describe('the types of models and their families', () => {
  it('are closed, so that a slip of the pen does not compile', () => {
    expectTypeOf<'binary-text-clasification'>().not.toExtend<ModelType>();
    expectTypeOf<string>().not.toExtend<ModelType>();
    expectTypeOf<'papaya'>().not.toExtend<FamilyName>();
    expectTypeOf<string>().not.toExtend<FamilyName>();
  });

  it('are six types in three families', () => {
    expect(modelTypes.map((type) => [type, familyOfType(type).name])).toEqual([
      ['binary-text-classification', 'Papaya'],
      ['multiclass-text-classification', 'Papaya'],
      ['multilabel-text-classification', 'Papaya'],
      ['named-entity-recognition', 'Grapefruit'],
      ['sequence-labeling', 'Grapefruit'],
      ['question-answering', 'Dragonfruit'],
    ]);
    expect(familyNames.map((name) => families[name].name)).toEqual(familyNames);
  });

  it('have two types that name one task', () => {
    const others = modelTypes.filter((type) => type !== 'sequence-labeling');
    expect(taskOf('sequence-labeling')).toBe('named-entity-recognition');
    expect(others.map(taskOf)).toEqual(others);
  });
});

describe('a model folder', () => {
  it('is of the family that its config.json names', () => {
    const family = familyOfModel(configOf('Grapefruit', 'sequence-labeling'), 'config.json');
    expect(family).toBe(families.Grapefruit);
  });

  it('with a type of another family is refused', async () => {
    const error = await failureOf('model_folder', () =>
      familyOfModel(configOf('Dragonfruit', 'sequence-labeling'), 'x/config.json'),
    );
    expect(error).toMatchObject({
      file: 'x/config.json',
      reason: 'its type sequence-labeling is of the family Grapefruit, not Dragonfruit',
    });
  });
});

describe('a training request', () => {
  const problemsOf = async (model: object) => {
    const request = { ...aRequest, model_config: { ...aRequest.model_config, ...model } };
    const { problems } = await failureOf('validation', () => validate(trainingRequestSchema, request));
    return problems.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
  };

  it('of an unknown type is refused, naming those that can be trained', async () => {
    const [problem] = await problemsOf({ type: 'ripeness' });
    expect(problem).toContain('model_config.type');
    for (const type of modelTypes) expect(problem).toContain(`"${type}"`);
  });

  it('of an unknown family is refused, naming those that exist', async () => {
    const [problem] = await problemsOf({ family: 'Pear' });
    expect(problem).toMatch(/model_config\.family.*"Papaya".*"Grapefruit".*"Dragonfruit"/);
  });

  it('needs the family of its type', async () => {
    expect(await problemsOf({ type: 'question-answering', family: 'Papaya' })).toEqual([
      'model_config.family: a question-answering model is of family Dragonfruit, not Papaya',
    ]);
  });
});
