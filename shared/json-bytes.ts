/**
 * The bytes of JSON's structural characters, and of the two that begin escapes (RFC 8259, section 2). They are their
 * UTF-16 code units, too.
 */
export const QUOTE = 34
export const COMMA = 44
export const SLASH = 47
export const COLON = 58
export const OPEN_LIST = 91
export const BACKSLASH = 92
export const CLOSE_LIST = 93
export const OPEN_OBJECT = 123
export const CLOSE_OBJECT = 125

/** Marks each structural character that has a meaning outside texts with 1, and other bytes with 0. */
export const isStructure = Uint8Array.from({ length: 256 }, (_, byte) =>
  [QUOTE, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT].includes(byte) ? 1 : 0,
)
