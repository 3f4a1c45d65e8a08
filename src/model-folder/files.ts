/** The files of a model folder, by Hugging Face's names. */
export const CONFIG_FILE = 'config.json';
export const WEIGHTS_FILE = 'model.safetensors';
export const TOKENIZER_FILE = 'tokenizer.json';
export const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json';
/** The inference graph, where transformers.js and Optimum look for it. */
export const ONNX_FILE = 'onnx/model.onnx';
/** The same with 8-bit weights. */
export const QUANTIZED_ONNX_FILE = 'onnx/model_quantized.onnx';
/** The lexical expert that is blended with the encoder. */
export const EXPERT_FILE = 'lexical.safetensors';
/** How the model came to be: configuration, statistics, warnings. */
export const TRAINING_FILE = 'training.json';
/** How the finished model does on its dev rows. */
export const EVALUATION_FILE = 'evaluation.json';
/** The model card, as the Hugging Face Hub shows it. */
export const CARD_FILE = 'README.md';
