/** The bytes of a video of this bench, and its length. */
export const FILM_BYTES = 200_000_000
const PIECE_BYTES = 262_144

/** A video in pieces. Only its beginning is valid. */
export function* filmPieces(): Generator<Buffer> {
  const piece = Buffer.alloc(PIECE_BYTES, 0xa5)
  const head = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypisom'), Buffer.alloc(12)])
  yield head
  for (let left = FILM_BYTES - head.length; left > 0; left -= PIECE_BYTES) yield piece.subarray(0, left)
}
