/** Absolute path of the folder with the pretrained models: one sub-folder each, by the model's name. */
export declare const catalogueDirectory: string;

/** Absolute path of the folder with the encoders that training can start from: one sub-folder each. */
export declare const backbonesDirectory: string;
