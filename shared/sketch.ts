/**
 * A histogram with logarithmic buckets after DDSketch (Masson, Rim, Lee: "DDSketch", VLDB 2019). Every quantile has a
 * relative error of at most {@link SKETCH_ERROR}, and two histograms merge into that of all their values. Bucket `i`
 * holds the values in `(g^(i-1), g^i]` with `g = (1 + error) / (1 - error)`. Values up to zero have a bucket of their
 * own. The SQL function `sketch_bucket` fills the same buckets.
 */
export type Sketch = ReadonlyMap<number, number>

/** The largest error of a quantile, as a share of the true value. */
export const SKETCH_ERROR = 0.01

const GROWTH = (1 + SKETCH_ERROR) / (1 - SKETCH_ERROR)
const LOG_GROWTH = Math.log(GROWTH)
/** The bucket of zero and negative values. */
const ZERO_BUCKET = -32_768
const MAX_BUCKET = 32_767
/** Bytes of one bucket as stored: its number as int2, its count as int4, big-endian, in rising order. */
const ENTRY_BYTES = 6
const MAX_COUNT = 2_147_483_647

/** The bucket that a value falls into. */
export function sketchBucket(value: number): number {
  if (!(value > 0)) return ZERO_BUCKET
  return Math.max(ZERO_BUCKET + 1, Math.min(MAX_BUCKET, Math.ceil(Math.log(value) / LOG_GROWTH)))
}

/** The number of values in a sketch. */
function sketchSize(sketch: Sketch): number {
  let size = 0
  for (const count of sketch.values()) size += count
  return size
}

/**
 * The value below which the share `q` (0 to 1) of the values lies, within {@link SKETCH_ERROR}. For one half it is the
 * lower median, like `percentile_disc(0.5)`. Undefined for an empty sketch.
 */
export function sketchQuantile(sketch: Sketch, q: number): number | undefined {
  const size = sketchSize(sketch)
  if (size === 0) return undefined
  let rest = Math.max(1, Math.ceil(size * q))
  let lastBucket: number | undefined
  for (const bucket of [...sketch.keys()].sort((left, right) => left - right)) {
    lastBucket = bucket
    rest -= sketch.get(bucket) ?? 0
    if (rest <= 0) break
  }
  return lastBucket === undefined ? undefined : bucketValue(lastBucket)
}

/** The value that represents a bucket. No value of the bucket is further from it than the error allows. */
function bucketValue(bucket: number): number {
  return bucket === ZERO_BUCKET ? 0 : (2 * GROWTH ** bucket) / (GROWTH + 1)
}

/** The stored form. Throws a RangeError for a count above 2,147,483,647. */
export function writeSketch(sketch: Sketch): Buffer {
  const bytes = Buffer.alloc(sketch.size * ENTRY_BYTES)
  let at = 0
  for (const [bucket, count] of [...sketch].sort(([left], [right]) => left - right)) {
    if (count > MAX_COUNT) throw new RangeError('a bucket holds too many values')
    bytes.writeInt16BE(bucket, at)
    bytes.writeInt32BE(count, at + 2)
    at += ENTRY_BYTES
  }
  return bytes
}

/** Reads the stored form. Throws a RangeError for other bytes. */
export function readSketch(bytes: Buffer): Sketch {
  const counts = new Map<number, number>()
  addStored(counts, bytes)
  return counts
}

/** Merges sketches in their stored form without a map for each of them. */
export function mergeStored(sketches: Iterable<Buffer>): Sketch {
  const counts = new Map<number, number>()
  for (const bytes of sketches) addStored(counts, bytes)
  return counts
}

function addStored(counts: Map<number, number>, bytes: Buffer): void {
  if (bytes.length % ENTRY_BYTES !== 0) throw new RangeError('not a sketch')
  for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
    const bucket = bytes.readInt16BE(at)
    counts.set(bucket, (counts.get(bucket) ?? 0) + bytes.readInt32BE(at + 2))
  }
}
