/** The files of a model folder, with the names that Hugging Face uses. */
export const CONFIG_FILE = 'config.json';
export const WEIGHTS_FILE = 'model.safetensors';
export const TOKENIZER_FILE = 'tokenizer.json';
export const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json';
/** The inference graph, in the place where transformers.js and Optimum look for it. */
export const ONNX_FILE = 'onnx/model.onnx';
/** The same with 8-bit weights. */
export const QUANTIZED_ONNX_FILE = 'onnx/model_quantized.onnx';
/** The lexical expert, whose outputs are blended with the encoder's. */
export const EXPERT_FILE = 'lexical.safetensors';
/** How the model was trained: configuration, statistics, warnings. */
export const TRAINING_FILE = 'training.json';
/** The figures of the finished model on its dev rows. */
export const EVALUATION_FILE = 'evaluation.json';
/** The model card for the Hugging Face Hub. */
export const CARD_FILE = 'README.md';
