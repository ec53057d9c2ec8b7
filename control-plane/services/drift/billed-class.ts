/** Parts of a bill that are compared with the list. `all` is a whole day of a model, `other` the remainder. */
export const BILL_CLASSES = [
  'all',
  'input',
  'cache_read',
  'cache_write',
  'cache_write_long',
  'output',
  'searches',
  'other',
] as const
export type BillClass = (typeof BILL_CLASSES)[number]

/**
 * Patterns of providers' names for the parts of their bills; the first match counts. Examples: `cached input` of
 * OpenAI, `uncached_input_tokens` and `cache_creation.ephemeral_5m_input_tokens` of Anthropic, and the market's own
 * names.
 */
const WORDS: readonly (readonly [RegExp, BillClass])[] = [
  [/^$/, 'all'],
  [/search/i, 'searches'],
  [
    /cache[\s_-]?(?:creation|write).*(?:1h|12h|hour|long)|(?:1h|12h|hour|long).*cache[\s_-]?(?:creation|write)/i,
    'cache_write_long',
  ],
  [/cache[\s_-]?(?:creation|write)/i, 'cache_write'],
  [/(?:^|[^n])cached|cache[\s_-]?read/i, 'cache_read'],
  [/output|completion|reasoning/i, 'output'],
  [/input|prompt/i, 'input'],
]

/** The class of a line of a bill. */
export function classOfLine(line: string): BillClass {
  return WORDS.find(([words]) => words.test(line))?.[1] ?? 'other'
}
