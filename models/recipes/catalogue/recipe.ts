import type { QuestionPair, TestQuestion } from '../../../bench/datasets/questions.js';
import type { TaggedSentence } from '../../../bench/datasets/tagged-sentences.js';
import type { ClassificationType, PretrainedModelName, TrainingConfig, Tuning } from '../../../src/index.js';

/** What is known about a catalogue model before it is trained: its data, labels, settings and limits. */

export interface Split<Row> {
  readonly train: readonly Row[];
  /** Absent if the publisher has set none aside. */
  readonly dev?: readonly Row[];
}

/** Why texts may not be used for money, or not surely. */
export type Restriction = 'given for non-commercial use' | 'no licence is stated where it was found';

/** Rows of one origin to train on. */
export interface Source<Row> {
  /** Name and citation. */
  readonly title: string;
  readonly licence: string;
  /** Why a model that learned from it can't be used for money without asking. Absent: its licence lets anybody. */
  readonly restricted?: Restriction;
  /** What was done to the rows, apart from reading them. */
  readonly remark?: string;
  /** Written to make up for what other rows lack: no model can be made of them alone. */
  readonly supplement?: true;
  /** @param datasets the folder that holds every dataset. */
  read(datasets: string): Split<Row> | Promise<Split<Row>>;
}

/** Texts without labels. */
export interface UnlabelledSource extends Omit<Source<unknown>, 'read' | 'supplement'> {
  /** Most texts of it that are used, drawn at random. */
  readonly most: number;
  /** @param datasets the folder that holds every dataset. */
  read(datasets: string): readonly string[] | Promise<readonly string[]>;
}

/** A figure that others published for the same test. */
export interface Reference {
  readonly figure: string;
  readonly from: string;
}

/** Rows that a model is measured on, and never trained on. */
export interface TestSet<Test> {
  readonly title: string;
  readonly references?: readonly Reference[];
  /** @param datasets the folder that holds every dataset. */
  read(datasets: string): Test | Promise<Test>;
}

/** A text with its labels: exactly one, unless the model is a multilabel one. */
export interface LabelledText {
  readonly text: string;
  readonly labels: readonly string[];
  /** How much it counts in training. Default: 1. */
  readonly weight?: number;
}

/** Texts that are alike in what makes them hard, and have one right label. */
export interface Kind {
  readonly title: string;
  readonly label: string;
  readonly texts: readonly string[];
}

/** Questions over passages of their own. */
export interface SearchTest {
  readonly passages: readonly string[];
  readonly questions: readonly TestQuestion[];
}

interface CommonRecipe {
  readonly name: PretrainedModelName;
  /** The training job's name, 24 characters at most. */
  readonly job: string;
  readonly language: 'english' | 'japanese';
  /** What it does, as a sentence. */
  readonly does: string;
  /** A query for the card and for the tests. */
  readonly example: string;
  /** What users have to know about the data: definitions, terms, decisions. */
  readonly notes?: readonly string[];
  /** What it is bad at. */
  readonly weaknesses: readonly string[];
  /** If some of its data are restricted: what to use for money instead, as a sentence. */
  readonly alternative?: string;
  /** Settings other than the library's defaults. */
  readonly training?: TrainingConfig;
  readonly tuning?: Tuning;
  /** Texts, or for search questions, that a teacher answers (teach.ts). */
  readonly unlabelled?: readonly UnlabelledSource[] | undefined;
  /** Settings of the teacher that differ from `training`. */
  readonly teacherTraining?: TrainingConfig;
  /** Settings of the model that differ from `training` if it learns from the teacher, too. */
  readonly taughtTraining?: Pick<TrainingConfig, 'num_epochs' | 'data_augmentation'>;
}

export interface ClassifierRecipe extends CommonRecipe {
  readonly family: 'Papaya';
  readonly type: ClassificationType;
  /** In the order of their ids. Default: all labels that occur, sorted. */
  readonly labels?: readonly string[];
  readonly sources: readonly Source<LabelledText>[];
  readonly tests: readonly TestSet<readonly LabelledText[]>[];
  /** Rows of another domain than those above, with labels of this model: is it still as sure as it is right? */
  readonly elsewhere?: readonly TestSet<readonly LabelledText[]>[];
  /** Whether rows with a recorded answer are learned with the mean of label and answer. Default: with their label. */
  readonly mixesLabels?: boolean;
  /** What such models are known to get wrong. */
  readonly kinds?: readonly Kind[];
}

export interface TaggerRecipe extends CommonRecipe {
  readonly family: 'Grapefruit';
  readonly sources: readonly Source<TaggedSentence>[];
  readonly tests: readonly TestSet<readonly TaggedSentence[]>[];
}

export interface SearchRecipe extends CommonRecipe {
  readonly family: 'Dragonfruit';
  readonly sources: readonly Source<QuestionPair>[];
  readonly tests: readonly TestSet<SearchTest>[];
  /** What the shipped model searches, with the credit that its licence asks for. */
  readonly passages: {
    readonly title: string;
    readonly licence: string;
    /** Content of the NOTICE file beside them. */
    readonly notice: string;
    read(datasets: string): readonly string[] | Promise<readonly string[]>;
  };
}

export type Recipe = ClassifierRecipe | TaggerRecipe | SearchRecipe;
