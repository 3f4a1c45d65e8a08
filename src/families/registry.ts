import type { FamilyName, ModelType, TrainableType } from '../contract/index.js';
import { ModelFolderError, ValidationError } from '../errors.js';
import type { ModelFolderConfig } from '../model-folder/index.js';
import { dragonfruit } from './dragonfruit/index.js';
import type { Family, FamilyType } from './family.js';
import { grapefruit } from './grapefruit/index.js';
import { papaya } from './papaya/index.js';

/** Every family there is. */
const families: Family[] = [papaya, grapefruit, dragonfruit];

/**
 * Adds a family, for training and answering in this thread: others have registries of their own.
 * @throws ValidationError where its name, or one of its types, is another family's.
 */
export function registerFamily(family: Family): void {
  if (families.includes(family)) return;
  if (familyNamed(family.name)) throw taken('name', `the family ${family.name} is there already`);
  for (const { name } of family.types) {
    const owner = familyOfType(name)?.name;
    if (owner !== undefined) throw taken('types', `${name} is a type of the family ${owner} already`);
  }
  families.push(family);
}

function taken(field: string, msg: string): ValidationError {
  return new ValidationError([{ loc: ['family', field], msg, type: 'taken' }]);
}

export function familyNamed(name: FamilyName): Family | undefined {
  return families.find((family) => family.name === name);
}

/** The family that trains models of a type. */
export function familyOfType(type: ModelType): Family | undefined {
  return families.find(({ types }) => types.some(({ name }) => name === type));
}

export function typeNamed(type: ModelType): FamilyType | undefined {
  return families.flatMap(({ types }) => types).find(({ name }) => name === type);
}

/** Every type that can be trained, with its family. */
export function modelTypes(): readonly TrainableType[] {
  return families.flatMap(({ name: family, types }) => types.map(({ name: type }) => ({ type, family })));
}

/** The type that stands for the task of a type: itself, unless it is another name for an earlier one. */
export function taskOf(type: ModelType): ModelType {
  return typeNamed(type)?.sameTaskAs ?? type;
}

/** What is known of a model by its config.json. */
export interface ModelKind {
  readonly family: Family;
  readonly type: FamilyType;
}

/** @param file named in errors. @throws ModelFolderError where family or type are not known in this thread. */
export function modelKind({ orchard }: Pick<ModelFolderConfig, 'orchard'>, file: string): ModelKind {
  const family = familyNamed(orchard.family);
  if (family === undefined) throw unknown(file, 'family', orchard.family, families);
  const type = family.types.find(({ name }) => name === orchard.type);
  if (type === undefined) throw unknown(file, 'type', orchard.type, family.types);
  return { family, type };
}

function unknown(
  file: string,
  what: string,
  name: string,
  known: readonly { readonly name: string }[],
): ModelFolderError {
  const names = known.map((each) => each.name).join(', ');
  return new ModelFolderError(file, `its ${what} ${name} is not known here, only ${names}`);
}
