/**
 * Data that the server writes into the document of the home screen, so that its first call is drawn without a request.
 */
export type HomeHead = { readonly apiBaseUrl: string }

/** The key of the head in the page's cache. */
export const HOME_HEAD_KEY: readonly string[] = ['HomeHead']
