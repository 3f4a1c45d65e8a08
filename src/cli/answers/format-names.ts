/** How answers are written. */
export const answerFormats = ['text', 'jsonl', 'csv'] as const;
export type AnswerFormat = (typeof answerFormats)[number];
