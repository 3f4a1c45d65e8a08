/** The type of models whose texts have any number of labels. */
export const MULTILABEL = 'multilabel-text-classification';
