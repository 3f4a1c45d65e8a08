import { exponential, F32, largestOf, sumOf, VECTOR } from './lanes';

/** Keys are read eight at a time. */
const KEYS = 8;

/**
 * softmax(factor · queries · keysᵀ) · values of each head (Vaswani et al. 2017). Shapes: projections
 * [tokens, 3, heads, width], which are queries, keys and values; out [queries, heads, width]. `scratch` has room for
 * (width + 4) · (tokens + 8) floats. The width is a multiple of 4. Only the first `queries` tokens ask.
 */
export function attend(
  projections: usize,
  tokens: i32,
  queries: i32,
  heads: i32,
  width: i32,
  factor: f32,
  scratch: usize,
  out: usize,
): void {
  const hidden = heads * width;
  const hiddenBytes = <usize>hidden * F32;
  const rowBytes = 3 * hiddenBytes;
  const padded = (tokens + KEYS - 1) & ~(KEYS - 1);
  const scoreBytes = <usize>padded * F32;
  /** Keys of a head, transposed, [width, padded]; after them the scores of four queries, [4, padded]. */
  const scores = scratch + <usize>width * scoreBytes;
  for (let head = 0; head < heads; head++) {
    const query = projections + <usize>(head * width) * F32;
    const key = query + <usize>hidden * F32;
    const value = key + <usize>hidden * F32;
    transposeKeys(key, rowBytes, tokens, width, padded, scratch);
    for (let row = 0; row < queries; row += 4) {
      const rest = queries - row;
      const q0 = query + <usize>row * rowBytes;
      const q1 = q0 + (rest > 1 ? rowBytes : 0);
      const q2 = q1 + (rest > 2 ? rowBytes : 0);
      const q3 = q2 + (rest > 3 ? rowBytes : 0);
      scoreKeys(q0, q1, q2, q3, width, scratch, scoreBytes, scores);
      for (let each = 0; each < min(rest, 4); each++) {
        softmax(scores + <usize>each * scoreBytes, tokens, padded, factor);
      }
      const s1 = scores + scoreBytes;
      const s2 = s1 + scoreBytes;
      const s3 = s2 + scoreBytes;
      for (let column = 0; column < width; column += 8) {
        let a0 = f32x4.splat(0);
        let a1 = a0;
        let b0 = a0;
        let b1 = a0;
        let c0 = a0;
        let c1 = a0;
        let d0 = a0;
        let d1 = a0;
        let v = value + <usize>column * F32;
        const end = <usize>tokens * F32;
        for (let at: usize = 0; at < end; at += F32, v += rowBytes) {
          const v0 = v128.load(v);
          const v1 = v128.load(v, VECTOR);
          let s = v128.load32_splat(scores + at);
          a0 = f32x4.add(a0, f32x4.mul(s, v0));
          a1 = f32x4.add(a1, f32x4.mul(s, v1));
          s = v128.load32_splat(s1 + at);
          b0 = f32x4.add(b0, f32x4.mul(s, v0));
          b1 = f32x4.add(b1, f32x4.mul(s, v1));
          s = v128.load32_splat(s2 + at);
          c0 = f32x4.add(c0, f32x4.mul(s, v0));
          c1 = f32x4.add(c1, f32x4.mul(s, v1));
          s = v128.load32_splat(s3 + at);
          d0 = f32x4.add(d0, f32x4.mul(s, v0));
          d1 = f32x4.add(d1, f32x4.mul(s, v1));
        }
        const isWhole = column + 8 <= width;
        let at = out + <usize>(row * hidden + head * width + column) * F32;
        putPair(at, a0, a1, isWhole);
        at += hiddenBytes;
        if (rest > 1) putPair(at, b0, b1, isWhole);
        at += hiddenBytes;
        if (rest > 2) putPair(at, c0, c1, isWhole);
        at += hiddenBytes;
        if (rest > 3) putPair(at, d0, d1, isWhole);
      }
    }
  }
}

@inline
function putPair(out: usize, low: v128, high: v128, both: bool): void {
  v128.store(out, low);
  if (both) v128.store(out, high, VECTOR);
}

/** Writes keys [tokens, width], whose rows are `rowBytes` apart, as [width, padded], with zeros after the tokens. */
function transposeKeys(keys: usize, rowBytes: usize, tokens: i32, width: i32, padded: i32, out: usize): void {
  const outBytes = <usize>padded * F32;
  for (let token = 0; token < padded; token += 4) {
    const first = keys + <usize>token * rowBytes;
    for (let column = 0; column < width; column += 4) {
      const from = first + <usize>column * F32;
      const a = token < tokens ? v128.load(from) : f32x4.splat(0);
      const b = token + 1 < tokens ? v128.load(from + rowBytes) : f32x4.splat(0);
      const c = token + 2 < tokens ? v128.load(from + 2 * rowBytes) : f32x4.splat(0);
      const d = token + 3 < tokens ? v128.load(from + 3 * rowBytes) : f32x4.splat(0);
      const abLow = v128.shuffle<f32>(a, b, 0, 4, 1, 5);
      const abHigh = v128.shuffle<f32>(a, b, 2, 6, 3, 7);
      const cdLow = v128.shuffle<f32>(c, d, 0, 4, 1, 5);
      const cdHigh = v128.shuffle<f32>(c, d, 2, 6, 3, 7);
      let to = out + <usize>column * outBytes + <usize>token * F32;
      v128.store(to, v128.shuffle<i64>(abLow, cdLow, 0, 2));
      to += outBytes;
      v128.store(to, v128.shuffle<i64>(abLow, cdLow, 1, 3));
      to += outBytes;
      v128.store(to, v128.shuffle<i64>(abHigh, cdHigh, 0, 2));
      to += outBytes;
      v128.store(to, v128.shuffle<i64>(abHigh, cdHigh, 1, 3));
    }
  }
}

/** Products of four queries with all keys: [4, padded]. */
function scoreKeys(
  q0: usize,
  q1: usize,
  q2: usize,
  q3: usize,
  width: i32,
  keys: usize,
  scoreBytes: usize,
  scores: usize,
): void {
  const end = <usize>width * F32;
  for (let at: usize = 0; at < scoreBytes; at += KEYS * F32) {
    let a0 = f32x4.splat(0);
    let a1 = a0;
    let b0 = a0;
    let b1 = a0;
    let c0 = a0;
    let c1 = a0;
    let d0 = a0;
    let d1 = a0;
    let key = keys + at;
    for (let column: usize = 0; column < end; column += F32, key += scoreBytes) {
      const k0 = v128.load(key);
      const k1 = v128.load(key, VECTOR);
      let q = v128.load32_splat(q0 + column);
      a0 = f32x4.add(a0, f32x4.mul(q, k0));
      a1 = f32x4.add(a1, f32x4.mul(q, k1));
      q = v128.load32_splat(q1 + column);
      b0 = f32x4.add(b0, f32x4.mul(q, k0));
      b1 = f32x4.add(b1, f32x4.mul(q, k1));
      q = v128.load32_splat(q2 + column);
      c0 = f32x4.add(c0, f32x4.mul(q, k0));
      c1 = f32x4.add(c1, f32x4.mul(q, k1));
      q = v128.load32_splat(q3 + column);
      d0 = f32x4.add(d0, f32x4.mul(q, k0));
      d1 = f32x4.add(d1, f32x4.mul(q, k1));
    }
    let to = scores + at;
    v128.store(to, a0);
    v128.store(to, a1, VECTOR);
    to += scoreBytes;
    v128.store(to, b0);
    v128.store(to, b1, VECTOR);
    to += scoreBytes;
    v128.store(to, c0);
    v128.store(to, c1, VECTOR);
    to += scoreBytes;
    v128.store(to, d0);
    v128.store(to, d1, VECTOR);
  }
}

/** Scores become weights that add up to 1; those of the padding become 0. */
function softmax(scores: usize, tokens: i32, padded: i32, factor: f32): void {
  const end = scores + <usize>padded * F32;
  for (let at = scores + <usize>tokens * F32; at < end; at += F32) store<f32>(at, -1e30);
  const factors = f32x4.splat(factor);
  let most = f32x4.splat(-1e30);
  for (let at = scores; at < end; at += VECTOR) most = f32x4.pmax(most, v128.load(at));
  const largest = f32x4.splat(largestOf(most));
  let sums = f32x4.splat(0);
  for (let at = scores; at < end; at += VECTOR) {
    const weights = exponential(f32x4.mul(f32x4.sub(v128.load(at), largest), factors));
    v128.store(at, weights);
    sums = f32x4.add(sums, weights);
  }
  const share = f32x4.splat(1 / sumOf(sums));
  for (let at = scores; at < end; at += VECTOR) v128.store(at, f32x4.mul(v128.load(at), share));
}
