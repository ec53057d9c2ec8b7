/** Headers that keep a foreign body from acting in our origin's name, whatever its media type. */
export const INERT_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
}
