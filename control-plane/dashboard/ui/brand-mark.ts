/** The name of the market, as readers see it. */
export const BRAND_NAME = 'Surplus'

/**
 * The strokes of the mark in a square of 32: two shelves of an order book, which make an S. The second is the accent.
 */
export const MARK_STROKES = ['M24 8.5H12.5a4 4 0 0 0 0 8H16', 'M8 23.5h11.5a4 4 0 0 0 0-8H16'] as const
