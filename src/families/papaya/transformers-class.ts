/**
 * What makes Python's transformers load a classifier with mean pooling as what it is, or refuse it. transformers has no class
 * for it: its own ones read the first token's state, by a layer that the folder doesn't have and that would be random.
 */
import type { Encoder } from '../../encoder/index.js';
import type { ModelFolderConfig } from '../../model-folder/index.js';
import type { NamedTensor } from '../../safetensors/index.js';
import type { TransformersClass } from '../family.js';

const CLASS = 'MeanPoolingClassifier';
const MODULE = 'modeling_orchard';
const FILE = `${MODULE}.py`;

const usesClass = ({ orchard }: ModelFolderConfig): boolean => orchard.pooling === 'mean';

/** The class, and the file of the folder that transformers finds it in. */
export function transformersClass(config: ModelFolderConfig): TransformersClass | undefined {
  if (!usesClass(config)) return undefined;
  return {
    architectures: [CLASS],
    auto_map: { AutoModelForSequenceClassification: `${MODULE}.${CLASS}` },
  };
}

/** The Python file with the class. */
export function transformersFiles(
  encoder: Encoder,
  config: ModelFolderConfig,
): ReadonlyMap<string, Uint8Array> {
  return new Map(usesClass(config) ? [[FILE, Buffer.from(pythonClass(encoder))]] : []);
}

/**
 * A tensor of one number under the name of the layer that transformers' own class would make up. It doesn't fit, so that class
 * stops with an error that names it, where it would otherwise warn and answer at random.
 */
export function transformersGuards(
  { textHead }: Encoder,
  config: ModelFolderConfig,
): ReadonlyMap<string, NamedTensor> {
  const [inner] = textHead.inner;
  const guard = { shape: [1], values: new Float32Array(1) };
  return new Map(usesClass(config) && inner !== undefined ? [[inner.name, guard]] : []);
}

function pythonClass({ prefix, modelType }: Encoder): string {
  const base = prefix.replace(/\.$/u, '');
  return `"""A text classifier that Orchard trained, for transformers: the mean of the encoder's token states, then one linear layer.

    from transformers import pipeline
    classify = pipeline("text-classification", FOLDER, trust_remote_code=True)

trust_remote_code lets transformers run this file, so read it first. The logits are those of the model's encoder; Orchard's
own answers also count its lexical expert (config.json: orchard.blend).
"""

from torch import nn
from transformers import CONFIG_MAPPING, AutoModel, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class ${CLASS}(PreTrainedModel):
    config_class = CONFIG_MAPPING["${modelType}"]
    base_model_prefix = "${base}"

    def __init__(self, config):
        super().__init__(config)
        encoder = AutoModel.from_config(config)
        if hasattr(encoder, "pooler"):
            encoder.pooler = None
        self.${base} = encoder
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, labels=None, **inputs):
        states = self.${base}(input_ids, attention_mask=attention_mask, **inputs).last_hidden_state
        mask = states.new_ones(states.shape[:2]) if attention_mask is None else attention_mask.to(states.dtype)
        means = (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        logits = self.classifier(means)
        return SequenceClassifierOutput(loss=self._loss(logits, labels), logits=logits)

    def _loss(self, logits, labels):
        if labels is None:
            return None
        if self.config.problem_type == "multi_label_classification":
            targets = labels.to(logits.dtype).reshape(logits.shape)
            return nn.functional.binary_cross_entropy_with_logits(logits, targets)
        return nn.functional.cross_entropy(logits, labels.reshape(-1))
`;
}
