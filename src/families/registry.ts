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
 * Adds a family for training and inference in this thread; each thread has a registry of its own.
 * @throws ValidationError if its name or one of its types belongs to another family.
 */
export function registerFamily(family: Family): void {
  if (families.includes(family)) return;
  if (familyNamed(family.name)) throw taken('name', `a family named ${family.name} is registered already`);
  for (const { name } of family.types) {
    const owner = familyOfType(name)?.name;
    if (owner !== undefined) throw taken('types', `${name} is already a type of the family ${owner}`);
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

/** The type that names a type's task: the type itself, or the earlier one that it is another name for. */
export function taskOf(type: ModelType): ModelType {
  return typeNamed(type)?.sameTaskAs ?? type;
}

/** A model's family and type, as its config.json names them. */
export interface ModelKind {
  readonly family: Family;
  readonly type: FamilyType;
}

/**
 * @param file named in errors.
 * @throws ModelFolderError if the family or type isn't registered in this thread.
 */
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
