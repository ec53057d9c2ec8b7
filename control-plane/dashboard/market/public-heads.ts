/** The title of a screen and the sentence below it. */
export type ScreenHead = { readonly title: string; readonly about: string }

/** Heads of public screens by path. The document shows them before the script runs, and the script shows the same. */
export const PUBLIC_HEADS = {
  '/models': { title: 'Models', about: 'Models on sale, at the best price that a healthy seller asks now.' },
  '/feed': {
    title: 'Feed and rankings',
    about: 'Charged calls as they happen, without names, and the top models by spend.',
  },
  '/lent': {
    title: 'Lent accounts',
    about: 'Use a provider’s own API without an account there: sellers lend you theirs, below list price.',
  },
  '/fees': { title: 'Fees', about: 'Sellers pay a share of each sale. Buyers pay no fee.' },
  '/status': {
    title: 'Status',
    about: 'We measure the calls of buyers, not test calls. A share needs at least 5 calls.',
  },
} as const satisfies Readonly<Record<string, ScreenHead>>
