/** Pieces as one. A single piece is not copied, and most bodies arrive as one. */
export function joinedBytes(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces
  return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces)
}
