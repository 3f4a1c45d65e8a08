import { type AnswerView, type FamilyName, familyNameOf, ModelFolderError } from '../contract/index.js';
import type { ModelFolderConfig } from '../models/index.js';
import type { Tokenizer } from '../text/index.js';
import { entityTypes } from './entities/bio-tags.js';
import { typesOfTokens } from './entities/token-decoding.js';
import type { ClassNames, Decoder, ModelFiles } from './family.js';

/** What a program needs of a family that only answers with trained models. */
export interface AnsweringFamily {
  readonly name: FamilyName;
  readonly answerView: AnswerView;
  classNames(config: ModelFolderConfig): ClassNames;
  /**
   * @param tokenizer of the folder, which only models that label tokens need.
   * @throws ModelFolderError for a file that is missing or doesn't fit
   */
  decoder(config: ModelFolderConfig, files: ModelFiles, tokenizer?: Tokenizer): Promise<Decoder>;
}

export const answering = {
  Papaya: {
    name: 'Papaya',
    answerView: 'labels',
    classNames: ({ orchard }) => ({ noun: 'label', names: orchard.labels }),
    decoder: async (config, files) => (await import('./classification/decoder.js')).papayaDecoder(config, files),
  },
  Grapefruit: {
    name: 'Grapefruit',
    answerView: 'entities',
    classNames: ({ orchard: { labels, aggregation } }) => ({
      noun: 'entity type',
      names: aggregation === undefined ? entityTypes(labels) : typesOfTokens(labels),
    }),
    decoder: async (config, files, tokenizer) =>
      (await import('./entities/decoder.js')).grapefruitDecoder(config, files, tokenizer),
  },
  Dragonfruit: {
    name: 'Dragonfruit',
    answerView: 'passages',
    classNames: () => ({ noun: 'label', names: [] }),
    decoder: async (config, files) => (await import('./retrieval/decoder.js')).dragonfruitDecoder(config, files),
  },
} as const satisfies Readonly<Record<FamilyName, AnsweringFamily>>;

/** @param file its config.json, named in errors. @throws ModelFolderError if its type belongs to another family */
export function familyNameOfModel({ orchard }: Pick<ModelFolderConfig, 'orchard'>, file: string): FamilyName {
  const { family, type } = orchard;
  const right = familyNameOf[type];
  if (right === family) return family;
  throw new ModelFolderError(file, `its type ${type} is of the family ${right}, not ${family}`);
}

/** What applies rules, which few models have. */
export const ruling = () => import('./rules.js');
