/** What the server writes into the document of the home screen, so that its first call is drawn without an answer. */
export type HomeHead = { readonly apiBaseUrl: string }

/** Its key in the page's cache. */
export const HOME_HEAD_KEY: readonly string[] = ['HomeHead']
