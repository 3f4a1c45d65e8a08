import type { ModelSize } from '../../../src/contract/index.js';
import type { Encoder } from '../../../src/encoder/index.js';
import type { BertTokenizerJson, Tokenizer } from '../../../src/text/index.js';
import type { Objective } from './student/objective.js';
import type { WorkFolder } from './work-folder.js';

/** A dataset at hand that is not read. */
export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

/** What a data sheet says of a language's texts. */
export interface SheetWords {
  /** How long a sentence is that proves a copy. */
  readonly tellingSentence: string;
  /** Sentences on whom the texts name, where most are from, and what may offend in them. */
  readonly caution: string;
}

/** What a backbone's recipe has to know of its language. */
export interface Recipe {
  readonly language: 'english' | 'japanese';
  /** Name of the exported folder: `english-mini`. */
  name(size: ModelSize): string;
  /** The tokenizer.json of its students. */
  tokenizer(work: WorkFolder): BertTokenizerJson;
  /** The training objective, from what lies in the work folder. @param batchSize texts of a batch. */
  objective(work: WorkFolder, encoder: Encoder, tokenizer: Tokenizer, batchSize: number): Objective;
  readonly leftOut: readonly LeftOut[];
  readonly sheet: SheetWords;
  /** Names of those that its students learn from. */
  readonly teachers: readonly string[];
  /** What its command is given besides a size, to mean this recipe. */
  readonly options: readonly string[];
  /** Whether its students see capitals. Those of a size's own name don't. */
  readonly cased: boolean;
  /** Whether token types showed them capitals while they learned. */
  readonly capitalsShown: boolean;
}
