/**
 * What is known of text-embeddings-inference, which the bench does not run. Its own README shows its figures as pictures
 * only, of an A10 GPU; those in words are by the authors of Infinity, a competitor.
 */
export const textEmbeddingsInference =
  'text-embeddings-inference is not run here; its README (huggingface/text-embeddings-inference) has only pictures of ' +
  'a GPU. Infinity (michaelfeil/infinity, docs/docs/benchmarking.md) measured its CPU image 0.6 on 16 virtual cores: ' +
  'bge-small (12×384), 1,150,000 tokens in 1,104 s, 1,041 tokens/s';
