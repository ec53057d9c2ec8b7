import { AppError } from '#shared/errors.ts'

/** The parts of a request in the messages protocol in which its providers differ. */
export type MessagesForm = {
  path(providerModel: string, isStreamed: boolean): string
  /** The first member of the body, as JSON text. */
  opening(providerModel: string): string
  /** True where images and documents may be given by URL. */
  readonly takesUrls: boolean
  /** True where a request may name its region. Elsewhere the host decides the region. */
  readonly takesRegion: boolean
}

/** The form of the protocol's maker. */
export const MESSAGES_FORM: MessagesForm = {
  path: () => '/messages',
  opening: (providerModel) => `"model":${JSON.stringify(providerModel)}`,
  takesUrls: true,
  takesRegion: true,
}

/** The refusal of an image or a document that is given by URL. */
export function noAddress(): AppError {
  const message = 'The provider does not accept an image or a document by URL. Send its bytes as base64.'
  return new AppError('invalid_request', { message, param: 'messages' })
}
