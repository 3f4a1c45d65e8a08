/** The type of model whose texts have any number of labels. */
export const MULTILABEL = 'multilabel-text-classification';
