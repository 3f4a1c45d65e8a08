import { describe, expect, it } from 'vitest';
import { trainingRequestSchema, validate } from '../../src/contract/index.js';
import {
  familyNamed,
  familyOfType,
  modelKind,
  modelTypes,
  registerFamily,
  taskOf,
  typeNamed,
} from '../../src/families/index.js';
import { aReport } from '../report/a-report.js';
import { failureOf } from '../support/outcomes.js';
import { aRequest } from '../trainer/request.js';
import { quince } from './toy/quince.js';

const { config } = aReport();

/** A model folder's config.json. */
const configOf = (family: string, type: string) => ({ orchard: { ...config.orchard, family, type } });

describe('the registry', () => {
  it('knows which family trains which type', () => {
    expect(modelTypes()).toEqual([
      { type: 'binary-text-classification', family: 'Papaya' },
      { type: 'multiclass-text-classification', family: 'Papaya' },
      { type: 'multilabel-text-classification', family: 'Papaya' },
      { type: 'named-entity-recognition', family: 'Grapefruit' },
      { type: 'sequence-labeling', family: 'Grapefruit' },
      { type: 'question-answering', family: 'Dragonfruit' },
    ]);
    for (const { type, family } of modelTypes()) expect(familyOfType(type)).toBe(familyNamed(family));
  });

  it('knows which types name one task', () => {
    expect(taskOf('sequence-labeling')).toBe('named-entity-recognition');
    for (const type of ['named-entity-recognition', 'question-answering', 'ripeness']) {
      expect(taskOf(type)).toBe(type);
    }
  });

  it('refuses a family whose name is taken', async () => {
    const { message } = await failureOf('validation', () => registerFamily({ ...quince, name: 'Papaya' }));
    expect(message).toBe('family.name: a family named Papaya is registered already');
    expect(familyNamed('Papaya')?.types).not.toBe(quince.types);
  });

  it('refuses a family with a type that is taken', async () => {
    const types = quince.types.map((type) => ({ ...type, name: 'question-answering' }));
    const { message } = await failureOf('validation', () => registerFamily({ ...quince, types }));
    expect(message).toBe('family.types: question-answering is already a type of the family Dragonfruit');
    expect(familyNamed('Quince')).toBeUndefined();
  });
});

describe('a model folder', () => {
  it('is of a registered family and type', () => {
    const kind = modelKind(configOf('Grapefruit', 'sequence-labeling'), 'config.json');
    expect(kind).toEqual({ family: familyNamed('Grapefruit'), type: typeNamed('sequence-labeling') });
  });

  it.each([
    ['Pear', 'ripeness', 'its family Pear is not known here, only Papaya, Grapefruit, Dragonfruit'],
    ['Dragonfruit', 'ripeness', 'its type ripeness is not known here, only question-answering'],
  ])('of the family %s and type %s is refused, naming those that are known', async (family, type, reason) => {
    const error = await failureOf('model_folder', () => modelKind(configOf(family, type), 'x/config.json'));
    expect(error).toMatchObject({ file: 'x/config.json', reason });
  });
});

describe('a training request', () => {
  const problemsOf = async (model: object) => {
    const request = { ...aRequest, model_config: { ...aRequest.model_config, ...model } };
    const { problems } = await failureOf('validation', () =>
      validate(trainingRequestSchema(modelTypes()), request),
    );
    return problems.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
  };

  it('of a type that nobody trains is refused, naming those that can be trained', async () => {
    const [problem] = await problemsOf({ type: 'ripeness' });
    expect(problem).toContain('model_config.type');
    for (const { type } of modelTypes()) expect(problem).toContain(`"${type}"`);
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
