/**
 * Data that the server writes into the document of the home screen, so that its first call is drawn without a request.
 */
export type HomeHead = { readonly apiBaseUrl: string }

/** The introduction of the home screen, in the words of the document and of the script. */
export const HERO = {
  title: 'The same models, at the best price on sale.',
  about:
    'Sellers list spare capacity below the list price. You call one API, and each call goes to the cheapest healthy seller.',
  actions: [
    { path: '/start', label: 'Get an API key' },
    { path: '/seller/start', label: 'Sell capacity' },
  ],
} as const

/** The key of the head in the page's cache. */
export const HOME_HEAD_KEY: readonly string[] = ['HomeHead']
